#include "dsf/data/synthetic_recall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::vector<std::string>> words_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    lines.emplace_back(std::istream_iterator<std::string>(words),
                       std::istream_iterator<std::string>());
  }
  return lines;
}

TEST(Recall, LineShowsAValueCountsDownAndAsksForIt) {
  RecallConfig config;
  config.gap = 9;
  config.min_gap = 3;
  std::set<std::size_t> counts;
  for (const auto& line : words_of(generate_recall(config, 1).train)) {
    const std::size_t count = line.size() - 3;
    counts.insert(count);
    EXPECT_EQ(line.front().front(), 'v');
    EXPECT_EQ(line.back(), line.front());
    EXPECT_EQ(line[line.size() - 2], "ask");
    for (std::size_t i = 1; i <= count; ++i) {
      EXPECT_EQ(line[i], "n" + std::to_string(count - i + 1));
    }
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{3, 4, 5, 6, 7, 8, 9}));
}

TEST(Recall, EveryWordButTheAnswerFollowsFromTheOneBeforeOrIsFree) {
  const RecallConfig config;
  std::map<std::string, std::set<std::string>> successors;
  for (const auto& line : words_of(generate_recall(config, 2).train)) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) successors[line[i]].insert(line[i + 1]);
  }
  for (const auto& [word, next] : successors) {
    if (word == "ask") {
      EXPECT_EQ(next.size(), static_cast<std::size_t>(config.values));
    } else if (word.front() == 'n') {
      EXPECT_EQ(next.size(), 1U) << word;
    }
  }
}

TEST(Recall, ValuesAreEquallyLikely) {
  RecallConfig config;
  config.lines = 8000;
  std::map<std::string, double> counts;
  for (const auto& line : words_of(generate_recall(config, 3).train)) counts[line.front()] += 1.0;
  ASSERT_EQ(counts.size(), 8U);
  // Binomial with p = 1/8: five standard deviations.
  for (const auto& [value, count] : counts) {
    EXPECT_NEAR(count, 1000.0, 5.0 * std::sqrt(8000.0 * 7.0 / 64.0)) << value;
  }
}

TEST(Recall, LengthOfTheCountSaysNothingAboutTheValue) {
  RecallConfig config;
  config.gap = 2;
  config.values = 2;
  config.lines = 12'000;
  std::map<std::pair<std::size_t, std::string>, double> joint;
  for (const auto& line : words_of(generate_recall(config, 4).train)) {
    joint[{line.size(), line.front()}] += 1.0;
  }
  // P(count) = 2/3 and 1/3, P(value) = 1/2: cells of 4000 and 2000, five standard deviations.
  for (const auto& [cell, count] : joint) {
    const double p = cell.first == 4 ? 1.0 / 3.0 : 1.0 / 6.0;
    EXPECT_NEAR(count, 12'000.0 * p, 5.0 * std::sqrt(12'000.0 * p * (1.0 - p)));
  }
}

TEST(Recall, SplitsAreIndependentAndFollowTheSeed) {
  RecallConfig config;
  config.lines = config.eval_lines = 100;
  const CorpusText text = generate_recall(config, 5);
  EXPECT_NE(text.train, text.valid);
  EXPECT_NE(text.valid, text.test);
  EXPECT_EQ(text.train, generate_recall(config, 5).train);
  EXPECT_NE(text.train, generate_recall(config, 6).train);
}

// The loss of the best model that sees one word: the entropy of each word given the one before.
TEST(Recall, BoundsAreTheEntropiesOfTheText) {
  RecallConfig config;
  config.gap = 5;
  config.lines = 40'000;
  std::map<std::string, std::map<std::string, double>> counts;
  double targets = 0.0;
  for (const auto& line : words_of(generate_recall(config, 7).train)) {
    std::string before = "<bos>";
    for (std::size_t i = 0; i < line.size(); ++i) {
      // A value at the end is followed by the end, and known to be there by the `ask` before it.
      const bool last = i + 1 == line.size();
      counts[before][line[i]] += 1.0;
      before = line[i];
      targets += last ? 2.0 : 1.0;
    }
  }
  double loss = 0.0;
  for (const auto& [before, next] : counts) {
    double total = 0.0;
    for (const auto& [word, count] : next) total += count;
    for (const auto& [word, count] : next) loss -= count * std::log(count / total);
  }
  const RecallBounds bounds = recall_bounds(config);
  // 40,000 lines: frequencies are good to about 1/sqrt(lines) = 0.5 %, entropies to better.
  EXPECT_NEAR(loss / targets, bounds.no_memory, 0.01 * bounds.no_memory);
  const double answer = 40'000.0 * std::log(8.0);
  EXPECT_NEAR((loss - answer) / targets, bounds.perfect_memory, 0.01 * bounds.perfect_memory);
}

TEST(RecallOptions, AreReadByName) {
  const RecallConfig config = parse_recall("gap=12,min_gap=4,values=5,lines=70,eval_lines=8");
  EXPECT_EQ(config.gap, 12);
  EXPECT_EQ(config.min_gap, 4);
  EXPECT_EQ(config.values, 5);
  EXPECT_EQ(config.lines, 70);
  EXPECT_EQ(config.eval_lines, 8);
}

TEST(RecallOptions, DefaultsStay) {
  EXPECT_EQ(parse_recall("").gap, RecallConfig().gap);
  EXPECT_EQ(parse_recall("values=3").gap, RecallConfig().gap);
}

TEST(RecallOptions, ShortestCountIsNeverAboveTheLongest) {
  EXPECT_EQ(parse_recall("gap=3,min_gap=7").min_gap, 3);
}

TEST(RecallOptions, UnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(message_of<ConfigError>([] { parse_recall("gab=3"); }),
              AllOf(HasSubstr("'gab'"), HasSubstr("gap, min_gap, values, lines, eval_lines")));
}

TEST(RecallOptions, ValuesOutOfRangeAreRefused) {
  for (const char* options : {"gap=0", "gap=-3", "gap=", "gap", "gap=3x", "gap=1e3", "values=1",
                              "lines=99999999999999999999", "gap=3,,values=4", "=", ","}) {
    EXPECT_THROW(parse_recall(options), ConfigError) << options;
  }
}

}  // namespace
}  // namespace dsf
