#include "lab/experiment/run_views.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/run_log.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

using RunViews = WrittenRuns;

TEST_F(RunViews, FiguresLeaveOutWhatIsMissing) {
  const RunRecord run = read_run_record(make_run("run", kRunLog));
  const std::vector<NamedFigure> alone = run_figures({run});
  ASSERT_EQ(alone.size(), 5U);
  EXPECT_EQ(alone[0].name, "loss");
  ASSERT_EQ(alone[0].figure.curves.size(), 2U);  // training and validation
  EXPECT_EQ(alone[0].figure.curves[0].y, std::vector<double>{3.0});
  EXPECT_EQ(alone[1].figure.curves[0].y, (std::vector<double>{7.5, 12.0}));
  EXPECT_TRUE(run_figures({read_run_record(make_run("empty", ""))}).empty());
}

TEST_F(RunViews, FiguresOfManyRunsHaveACurveForEach) {
  const RunRecord a = read_run_record(make_run("x/a", kRunLog, "bptt"));
  const RunRecord b = read_run_record(make_run("x/b", kRunLog, "ft"));
  const RunRecord c = read_run_record(make_run("y/b", kRunLog, "ft"));
  const Figure two = run_figures({a, b})[0].figure;
  EXPECT_EQ(two.curves[1].label, "b");
  EXPECT_EQ(two.curves[1].method, "ft");
  const Figure three = run_figures({a, b, c})[0].figure;
  EXPECT_EQ(three.curves[2].label, c.root.string());
  EXPECT_EQ(three.curves[2].method, "");  // two runs of one method must not look the same
}

TEST_F(RunViews, TableHasARowForEach) {
  const RunRecord run = read_run_record(make_run("run", kRunLog));
  const Table table = run_table({run, run});
  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[0][5], "4/9");
  EXPECT_EQ(table.rows()[0][6], "7.50");
}

}  // namespace
}  // namespace dsf
