#include "dsf/base/option_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dsf {
namespace {

using ::testing::ElementsAreArray;
using Words = std::vector<std::string>;

const CommandWords kBench{{"--only", "--batch"}, {"--seconds"}, 1, {"layer", "scan"}};
const CommandWords kGradient{{"--feedback"}, {"--out"}, 1, {}};

TEST(OptionLists, TakeWordsAndCommasAlike) {
  EXPECT_THAT(join_lists(Words{"layer", "--only", "gru", "lstm"}, kBench),
              ElementsAreArray({"layer", "--only", "gru,lstm"}));
  EXPECT_THAT(join_lists(Words{"--only", "gru,rnn", "lstm", "layer", "--batch=1", "2"}, kBench),
              ElementsAreArray({"--only", "gru,rnn,lstm", "layer", "--batch=1,2"}));
  EXPECT_THAT(join_lists(Words{"--batch", "1", "--seconds", "2", "scan"}, kBench),
              ElementsAreArray({"--batch", "1", "--seconds", "2", "scan"}));
}

TEST(OptionLists, LeaveTheCommandsOwnWord) {
  EXPECT_THAT(join_lists(Words{"--feedback", "dsf", "runs/a"}, kGradient),
              ElementsAreArray({"--feedback", "dsf", "runs/a"}));
  EXPECT_THAT(join_lists(Words{"runs/a", "--feedback", "dsf", "ft", "--out", "x"}, kGradient),
              ElementsAreArray({"runs/a", "--feedback", "dsf,ft", "--out", "x"}));
}

TEST(OptionLists, LeaveWhatTheyDoNotUnderstand) {
  for (const Words& words : {Words{}, Words{"--only"}, Words{"--only", "--seconds", "1"},
                             Words{"--", "--only", "a", "b"}, Words{"--seconds"}, Words{"-h"},
                             Words{"--only="}, Words{""}}) {
    EXPECT_EQ(join_lists(words, kBench), words);
  }
}

}  // namespace
}  // namespace dsf
