#include "lab/bench/epoch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "dsf/base/error.h"

namespace dsf {
namespace {

using ::testing::ElementsAre;

TEST(RaggedBatch, HoldsEveryTokenOnceAndNoPadding) {
  const PackedLayout layout = layout_of({1, 4, 2});
  EXPECT_EQ(layout.total_rows(), 7);
  EXPECT_EQ(layout.steps(), 4);
  EXPECT_EQ(layout.rows_at(0), 3);
  EXPECT_EQ(layout.rows_at(1), 2);
  EXPECT_EQ(layout.rows_at(3), 1);
  EXPECT_EQ(random_batch(10, layout).inputs.size(), 7U);
}

// The Penn Treebank has 22.1 tokens a sentence, end mark included. 10,000 draws with a deviation of
// 11.5 leave their mean within 0.5 of the true one (more than four standard errors).
TEST(SentenceLengths, AreLikeThoseOfThePennTreebank) {
  const auto lengths = draw_sentence_lengths(10000);
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  EXPECT_NEAR(sum / 10000.0, 22.1, 0.5);
  EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 1);
  EXPECT_LE(*std::max_element(lengths.begin(), lengths.end()), 64);
}

class LengthsFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_ = std::filesystem::path(::testing::TempDir()) /
                                ("dsf_lengths_" + std::to_string(getpid()) + ".txt");
};

TEST_F(LengthsFile, IsOneNumberALine) {
  EXPECT_THAT(read_sentence_lengths(write("3\n17\n1\n")), ElementsAre(3, 17, 1));
}

TEST_F(LengthsFile, IsCutAtTheContextAsInTraining) {
  EXPECT_THAT(read_sentence_lengths(write("64\n65\n1000\n")), ElementsAre(64, 64, 64));
}

TEST_F(LengthsFile, RefusesWhatIsNoLength) {
  EXPECT_THROW(read_sentence_lengths(write("3\nmany\n")), DataError);
  EXPECT_THROW(read_sentence_lengths(write("3\n0\n")), DataError);
  EXPECT_THROW(read_sentence_lengths(write("")), DataError);
  EXPECT_THROW(read_sentence_lengths("/nowhere/lengths.txt"), DataError);
}

TEST(BenchEpoch, CountsRealTokensOnly) {
  BenchOptions options;
  options.methods = {"dsf"};
  options.precisions = {Precision::f32};
  options.batch = {2};
  options.seconds = 0.01;
  const auto result = bench_epoch({2, 1, 1}, options).results.at(0);
  EXPECT_EQ(result.at("tokens"), 4);
  EXPECT_EQ(result.at("sentences"), 3);
  EXPECT_GT(result.at("tokens_per_second").get<double>(), 0.0);
}

}  // namespace
}  // namespace dsf
