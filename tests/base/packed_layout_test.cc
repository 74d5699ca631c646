#include "dsf/base/packed_layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "dsf/base/error.h"

namespace dsf {
namespace {

TEST(PackedLayout, StepsFollowEachOtherWithoutPadding) {
  const PackedLayout layout({4, 4, 2, 1});
  EXPECT_EQ(layout.steps(), 4);
  EXPECT_EQ(layout.batch(), 4);
  EXPECT_EQ(layout.total_rows(), 11);
  const std::vector<dim_t> offsets = {0, 4, 8, 10};
  for (dim_t t = 0; t < 4; ++t) {
    EXPECT_EQ(layout.offset(t), offsets[static_cast<std::size_t>(t)]) << "step " << t;
  }
  EXPECT_FALSE(layout.is_uniform());
}

TEST(PackedLayout, LengthsAreTheStepsASequenceIsAlive) {
  const PackedLayout layout({4, 4, 2, 1});
  EXPECT_EQ(layout.length(0), 4);
  EXPECT_EQ(layout.length(1), 3);
  EXPECT_EQ(layout.length(2), 2);
  EXPECT_EQ(layout.length(3), 2);
}

TEST(PackedLayout, LengthsAddUpToTheRows) {
  const PackedLayout layout({7, 5, 5, 3, 1, 1});
  dim_t sum = 0;
  for (dim_t b = 0; b < layout.batch(); ++b) sum += layout.length(b);
  EXPECT_EQ(sum, layout.total_rows());
}

TEST(PackedLayout, UniformIsTheSameAtEveryStep) {
  const PackedLayout layout = PackedLayout::uniform(3, 5);
  EXPECT_TRUE(layout.is_uniform());
  EXPECT_EQ(layout.total_rows(), 15);
  for (dim_t t = 0; t < 3; ++t) {
    EXPECT_EQ(layout.rows_at(t), 5);
    EXPECT_EQ(layout.offset(t), 5 * t);
  }
  for (dim_t b = 0; b < 5; ++b) EXPECT_EQ(layout.length(b), 3);
}

TEST(PackedLayout, DefaultIsEmpty) {
  const PackedLayout layout;
  EXPECT_EQ(layout.steps(), 0);
  EXPECT_EQ(layout.batch(), 0);
  EXPECT_EQ(layout.total_rows(), 0);
  EXPECT_TRUE(layout.is_uniform());
}

TEST(PackedLayout, RowsThatGrowAreRefused) { EXPECT_THROW(PackedLayout({2, 3}), DataError); }

TEST(PackedLayout, StepsWithoutRowsAreRefused) {
  EXPECT_THROW(PackedLayout({2, 0}), DataError);
  EXPECT_THROW(PackedLayout(std::vector<dim_t>{0}), DataError);
  EXPECT_THROW(PackedLayout({2, -1}), DataError);
}

TEST(PackedLayoutSlice, CountsTheSequencesOfTheSliceThatAreAlive) {
  const PackedLayout layout({5, 3, 1});
  EXPECT_EQ(slice_at(layout, 0, 2, 5).count, 3);
  EXPECT_EQ(slice_at(layout, 1, 2, 5).count, 1);
  EXPECT_EQ(slice_at(layout, 2, 2, 5).count, 0);
  EXPECT_EQ(slice_at(layout, 2, 0, 2).count, 1);
}

TEST(PackedLayoutSlice, SlicesThatCoverTheBatchCoverEveryRow) {
  const PackedLayout layout({7, 6, 6, 4, 2, 1});
  for (dim_t t = 0; t < layout.steps(); ++t) {
    dim_t covered = 0;
    for (dim_t begin = 0; begin < 7; begin += 3) {
      const StepRows rows = slice_at(layout, t, begin, std::min<dim_t>(begin + 3, 7));
      EXPECT_EQ(rows.t, t);
      EXPECT_EQ(rows.begin, begin);
      covered += rows.count;
    }
    EXPECT_EQ(covered, layout.rows_at(t)) << "step " << t;
  }
}

}  // namespace
}  // namespace dsf
