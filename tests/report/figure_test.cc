#include "dsf/report/figure.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace dsf
