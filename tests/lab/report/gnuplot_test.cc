#include "lab/report/gnuplot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "lab/report/figure.h"
#include "lab/report/thinning.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNasty = "`touch ran` $(touch ran) \"; system 'touch ran' #\n!touch ran\n%s";

TEST(Gnuplot, RunsNothingThatStandsInANameOrATitle) {
  const TempDirectory directory;
  // gnuplot would also run what follows < or |.
  for (const std::string name : {"`touch ran`", "<touch ran", "|touch ran", "it's \"quoted\"",
                                 "two\nlines", "-persist", "caf\xC3\xA9", "\xFF"}) {
    const auto out = directory / name;
    std::filesystem::create_directories(out);
    Figure figure{.title = kNasty,
                  .x_label = kNasty,
                  .y_label = kNasty,
                  .curves = {{kNasty, "dsf", {1, 2, 3}, {9, 8, 7}}}};
    figure.x_names = {kNasty, "two", "three"};
    // Directories have any name; a figure's own name is printable.
    const std::string file = printable(name) == name ? name : "figure";
    if (!write_figure(figure, out / file)) GTEST_SKIP() << "gnuplot is not installed";
    EXPECT_TRUE(std::filesystem::exists(out / (file + ".svg"))) << name;
    EXPECT_TRUE(std::filesystem::exists(out / (file + ".png"))) << name;
  }
  for (const auto& [name, contents] : snapshot(directory.path())) {
    EXPECT_NE(std::filesystem::path(name).filename(), "ran") << "a name was run as a command";
  }
  EXPECT_FALSE(std::filesystem::exists("ran"));
}

TEST(Gnuplot, GetsStringsThatStandForThemselves) {
  EXPECT_EQ(gnuplot_string("a \"b\" `c` \\n"), "'a \"b\" `c` \\n'");
  EXPECT_EQ(gnuplot_string("it's"), "'it''s'");
  EXPECT_EQ(gnuplot_string("a\nb\x01"),
            "'a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD'");
  EXPECT_EQ(gnuplot_tic("5 %"), "'5 %%'");
  EXPECT_EQ(gnuplot_file("|rm"), "'./|rm'");
}

TEST(Thinning, KeepsPeaksAndEnds) {
  Curve curve{"long", "dsf", {}, {}};
  for (int i = 0; i < 300'000; ++i) {
    curve.x.push_back(i);
    curve.y.push_back(i % 7);
  }
  curve.y[123'456] = 1e6;
  curve.y[200'000] = -5.0;
  const Curve few = thinned(curve);
  EXPECT_LE(few.x.size(), kMostPointsDrawn);
  EXPECT_GE(few.x.size(), kMostPointsDrawn / 2);
  EXPECT_EQ(few.x.front(), 0.0);
  EXPECT_EQ(few.x.back(), 299'999.0);
  EXPECT_TRUE(std::is_sorted(few.x.begin(), few.x.end()));
  EXPECT_THAT(few.y, ::testing::Contains(1e6));
  EXPECT_THAT(few.y, ::testing::Contains(-5.0));
}

TEST(Figure, OfVeryManyPointsIsSmall) {
  const TempDirectory directory;
  Figure figure{.title = "long", .x_label = "x", .y_label = "y", .curves = {{"a", "", {}, {}}}};
  for (int i = 0; i < 300'000; ++i) {
    figure.curves[0].x.push_back(i);
    figure.curves[0].y.push_back(i % 1000);
  }
  if (!write_figure(figure, directory / "long")) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_LT(std::filesystem::file_size(directory / "long.svg"), 500'000U);
}

TEST(Figure, OfManyCurvesTellsThemApart) {
  Figure figure{.title = "many", .x_label = "x", .y_label = "y"};
  figure.curves.push_back({"named", "bptt", {1, 2}, {3, 4}});
  for (int i = 0; i < 40; ++i) {
    figure.curves.push_back({"run " + std::to_string(i), "", {1, 2}, {3, 4}});
  }
  const std::string script = figure_script(figure, "many");
  std::set<std::string> looks;
  std::size_t found = 0;
  for (std::size_t at = script.find(" with "); at < script.find("pngcairo");
       at = script.find(" with ", at + 1)) {
    looks.insert(script.substr(at, script.find(" title ", at) - at));
    ++found;
  }
  EXPECT_EQ(found, 41U);
  EXPECT_EQ(looks.size(), found);
}

TEST(Figure, OfEightRunsHasWholeLinesInEightColours) {
  Figure figure{.title = "eight", .x_label = "x", .y_label = "y"};
  for (int i = 0; i < 8; ++i) {
    figure.curves.push_back({"run " + std::to_string(i), "", {1, 2}, {3, 4}});
  }
  std::istringstream lines(figure_script(figure, "eight"));
  std::set<std::string> colours;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colour = line.find(" dt 1 lc rgb ");
    if (colour != std::string::npos) colours.insert(line.substr(colour, 22));
  }
  EXPECT_EQ(colours.size(), 8U);
}

TEST(Figure, OfAMethodAndARunLeavesTheMethodItsColour) {
  Figure figure{.title = "two", .x_label = "x", .y_label = "y"};
  for (int i = 0; i < 8; ++i) {
    figure.curves.push_back({"run " + std::to_string(i), "", {1, 2}, {3, 4}});
  }
  figure.curves.push_back({"DSF", "dsf", {1, 2}, {3, 4}});
  const std::string script = figure_script(figure, "two");
  const std::string line = "dt 1 lc rgb \"#0072B2\"";  // once per terminal
  const std::size_t first = script.find(line);
  const std::size_t second = script.find(line, first + 1);
  EXPECT_GT(second, script.find("pngcairo"));
  EXPECT_EQ(script.find(line, second + 1), std::string::npos);
}

}  // namespace
}  // namespace dsf
