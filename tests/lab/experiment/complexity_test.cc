#include "lab/experiment/complexity_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/temp_directory.h"
#include "tests/support/thread_guard.h"

namespace dsf {
namespace {

const ComplexitySweep kSweep = {2, 8, {4, 8, 16, 32}, 4, {8, 16, 24}};

// Made-up times: serial 1 a step; the FFT dips below it at 8, and again at the end.
std::vector<ComplexityPoint> made_up_points() {
  std::vector<ComplexityPoint> points;
  const std::vector<double> fft = {9.0, 7.0, 17.0, 30.0};
  for (std::size_t i = 0; i < fft.size(); ++i) {
    const dim_t steps = kSweep.lengths[i];
    points.push_back({"dsf:serial", 2, steps, 8, 1.0, static_cast<double>(steps)});
    points.push_back({"dsf:fft", 2, steps, 8, 1.0, fft[i]});
    points.push_back({"ft", 2, steps, 8, 1.0, std::nullopt});
  }
  return points;
}

TEST(Complexity, CrossoverIsWhereTheFftIsFasterAndStaysSo) {
  EXPECT_EQ(fft_crossover(made_up_points(), kSweep, "dsf:serial"), 32);
  std::vector<ComplexityPoint> slow = made_up_points();
  for (ComplexityPoint& point : slow) {
    if (point.method == "dsf:fft") point.path = 1e3;
  }
  EXPECT_FALSE(fft_crossover(slow, kSweep, "dsf:serial"));
  const Table table = crossover_table({kSweep}, slow);
  EXPECT_EQ(table.rows()[0],
            (std::vector<std::string>{"dsf:serial", "2", "8", "4 .. 32", "none of these"}));
  EXPECT_EQ(table.rows()[1][3], "none") << "nothing was measured of the blocked form";
}

TEST(Complexity, TableHasTheMeasuredExponentBesideThePapers) {
  const Table table = exponent_table({kSweep}, made_up_points());
  ASSERT_EQ(table.rows().size(), 5U);
  EXPECT_EQ(table.rows()[1][0], "DSF serial");
  EXPECT_EQ(table.rows()[1][2], "1.00 ± 0.00");
  EXPECT_EQ(table.rows()[1][3], "1");
  EXPECT_EQ(table.rows()[0][2], "-") << "nothing was measured";
}

// Noise is as often negative as positive; a fit to the positive half would be off.
TEST(Complexity, DifferencesWithinTheirSpreadAreKeptButNotFitted) {
  std::vector<ComplexityPoint> points;
  for (const dim_t steps : kSweep.lengths) {
    points.push_back({"bptt", 2, steps, 8, 1.0, static_cast<double>(steps), 0.5});
  }
  EXPECT_EQ(exponent_table({kSweep}, points).rows()[0][2], "1.00 ± 0.00");
  points[0].path = 40.0;
  points[0].path_spread = 50.0;
  EXPECT_EQ(exponent_table({kSweep}, points).rows()[0][2], "1.00 ± 0.00 (3 of 4)");
  points[0].path = -1.0;
  points[0].path_spread = 0.0;
  EXPECT_EQ(exponent_table({kSweep}, points).rows()[0][2], "1.00 ± 0.00 (3 of 4)");
  EXPECT_EQ(complexity_times(points).rows()[0][5], "-1000.000");
  EXPECT_EQ(complexity_figures({kSweep}, points)[0].figure.curves[0].x.size(), 3U)
      << "its axis is logarithmic";
}

TEST(Complexity, SweepsHaveLengthsAndWidthsEnoughForAnExponentAtBothBatchSizes) {
  const auto quick = complexity_sweeps(Scale::quick);
  const auto full = complexity_sweeps(Scale::full);
  for (const auto& sweeps : {quick, full}) {
    ASSERT_EQ(sweeps.size(), 2U);
    EXPECT_EQ(sweeps[0].batch, 1);
    EXPECT_EQ(sweeps[1].batch, 128);
    for (const ComplexitySweep& sweep : sweeps) {
      const std::set<dim_t> lengths(sweep.lengths.begin(), sweep.lengths.end());
      const std::set<dim_t> widths(sweep.widths.begin(), sweep.widths.end());
      EXPECT_GE(lengths.size(), 5U) << sweep.batch;
      EXPECT_GE(widths.size(), 5U) << sweep.batch;
    }
  }
  for (std::size_t i = 0; i < quick.size(); ++i) {
    EXPECT_EQ(full[i].lengths.back(), 2 * quick[i].lengths.back());
    EXPECT_EQ(full[i].widths.back(), 2 * quick[i].widths.back());
  }
}

TEST(Complexity, EveryShapeIsMeasuredOnceAndKept) {
  const TempDirectory directory;
  const ComplexitySweep sweep = {2, 8, {4, 8, 16}, 4, {8, 16, 24}};
  EXPECT_EQ(sweep.shapes().size(), 5U) << "T=4, D=8 is in both lists";
  int asked = 0;
  const auto go_on = [&asked] {
    ++asked;
    return false;
  };
  const auto points = measure_complexity({sweep}, directory / "times.json", 0.0, go_on);
  EXPECT_EQ(points.size(), 5U * 5U);
  EXPECT_EQ(asked, 5);
  for (const ComplexityPoint& point : points) {
    EXPECT_GT(point.backward, 0.0);
    if (point.method.starts_with("dsf")) {
      EXPECT_GT(point.path.value(), 0.0) << point.method;
    } else {
      EXPECT_EQ(point.path.has_value(), point.method == "bptt") << "whatever its sign";
    }
  }
  const auto again = measure_complexity({sweep}, directory / "times.json", 0.0, go_on);
  EXPECT_EQ(asked, 5) << "nothing was left to measure";
  EXPECT_EQ(complexity_json({sweep}, again), complexity_json({sweep}, points));
  EXPECT_FALSE(complexity_figures({sweep}, points).empty());
}

TEST(Complexity, TimesOfAnotherMachineAreMeasuredAgain) {
  const TempDirectory directory;
  const ComplexitySweep sweep = {2, 8, {4}, 4, {}};
  const auto file = directory / "times.json";
  int asked = 0;
  const auto go_on = [&asked] {
    ++asked;
    return false;
  };
  const auto measure = [&] { measure_complexity({sweep}, file, 0.0, go_on); };
  measure();
  EXPECT_EQ(asked, 1);
  {
    const testing::ThreadGuard more(thread_count() + 1);
    measure();
    EXPECT_EQ(asked, 2) << "other threads";
    measure();
    EXPECT_EQ(asked, 2);
  }
  measure();
  EXPECT_EQ(asked, 3) << "and back";
  nlohmann::json stored = nlohmann::json::parse(slurp(file));
  stored["machine"]["cpu"] = "another";
  directory.write("times.json", stored.dump());
  measure();
  EXPECT_EQ(asked, 4) << "another CPU";
  directory.write("times.json", "[]");
  measure();
  EXPECT_EQ(asked, 5) << "no machine";
}

}  // namespace
}  // namespace dsf
