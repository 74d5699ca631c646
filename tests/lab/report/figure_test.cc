#include "lab/report/figure.h"

#include <gtest/gtest.h>

#include "dsf/feedback/feedback_method.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

Figure two_curves() {
  return {.title = "a \"quoted\" title",
          .x_label = "steps",
          .y_label = "perplexity",
          .curves = {{"BPTT", "bptt", {1, 2, 3}, {9, 8, 7}},
                     {"own", "own-method", {1, 2, 3}, {9, 7, 6}, /*faint=*/true}},
          .log_y = true};
}

TEST(Figure, IsDrawnAsSvgAndPngWithItsScript) {
  const TempDirectory directory;
  const auto stem = directory / "it's a figure";
  if (!write_figure(two_curves(), stem)) GTEST_SKIP() << "gnuplot is not installed";
  EXPECT_NE(slurp(stem.string() + ".svg").find("BPTT"), std::string::npos);
  EXPECT_EQ(slurp(stem.string() + ".png").substr(1, 3), "PNG");
  EXPECT_NE(slurp(stem.string() + ".gp").find("logscale y"), std::string::npos);
  EXPECT_NE(slurp(stem.string() + ".gp").find("set ytics (1, 1.5, 2, 3, 4, 5, 7)"),
            std::string::npos)
      << "values from 6 to 9";
  EXPECT_NE(slurp(stem.string() + ".gp").find("index 1 with lines lw 1.5"), std::string::npos);
  EXPECT_NE(slurp(stem.string() + ".dat").find("3 7\n"), std::string::npos);
}

TEST(Figure, DrawsEveryFeedbackInAStyleOfItsOwn) {
  for (const std::string& method : feedback_examples())
    EXPECT_TRUE(has_own_style(method)) << method;
}

TEST(Figure, OfASweepLabelsTheSizesOfTheSweep) {
  const TempDirectory directory;
  Figure sweep{
      .title = "sweep",
      .x_label = "T",
      .y_label = "ms",
      .curves = {{"BPTT", "bptt", {256, 16384}, {1, 2}}, {"DSF", "dsf", {256, 1024}, {1, 2}}},
      .log_x = true};
  write_figure(sweep, directory / "few");
  const std::string few = slurp(directory / "few.gp");
  EXPECT_NE(few.find("set xtics (256, 1024, 16384)"), std::string::npos) << few;

  for (int place = 1; place <= 20; ++place) {
    sweep.curves[0].x.push_back(place);
    sweep.curves[0].y.push_back(1.0);
  }
  write_figure(sweep, directory / "many");
  const std::string many = slurp(directory / "many.gp");
  EXPECT_NE(many.find("set logscale x"), std::string::npos) << many;
  EXPECT_EQ(many.find("set xtics"), std::string::npos) << "23 labels would stand on each other";
}

TEST(Figure, WithoutAPointIsNotDrawn) {
  const TempDirectory directory;
  Figure figure{.title = "none", .x_label = "x", .y_label = "y"};
  EXPECT_FALSE(write_figure(figure, directory / "no_curves"));
  figure.curves = {{"BPTT", "bptt", {}, {}}, {"DSF", "dsf", {}, {}}};
  EXPECT_FALSE(write_figure(figure, directory / "no_points"));
  EXPECT_TRUE(snapshot(directory.path()).empty());
}

TEST(Figure, LeavesOutCurvesWithoutAPoint) {
  const TempDirectory directory;
  write_figure({.title = "one",
                .x_label = "x",
                .y_label = "y",
                .curves = {{"BPTT", "bptt", {}, {}}, {"DSF", "dsf", {1, 2}, {3, 4}}}},
               directory / "one");
  EXPECT_EQ(slurp(directory / "one.dat"), "# DSF\n1 3\n2 4\n\n\n");
  const std::string script = slurp(directory / "one.gp");
  EXPECT_EQ(script.find("BPTT"), std::string::npos) << script;
  EXPECT_EQ(script.find("index 1"), std::string::npos) << script;
  EXPECT_NE(script.find("index 0"), std::string::npos) << script;
}

}  // namespace
}  // namespace dsf
