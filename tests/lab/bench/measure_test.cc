#include "lab/bench/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dsf/base/error.h"

namespace dsf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(BenchMeasure, MedianIsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(median({5.0}), 5.0);
  EXPECT_EQ(median({9.0, 1.0, 5.0}), 5.0);
  EXPECT_EQ(median({4.0, 1.0, 2.0, 100.0}), 3.0);
}

TEST(BenchMeasure, TotalsAreTakenRunByRunNotPartByPart) {
  Samples samples;
  samples.add({1.0, 9.0});
  samples.add({9.0, 1.0});
  samples.add({2.0, 2.0});
  EXPECT_EQ(samples.median(0), 2.0);
  EXPECT_EQ(samples.minimum(1), 1.0);
  EXPECT_EQ(samples.median_total(), 10.0);  // the medians of the parts would add up to 4
  EXPECT_EQ(samples.minimum_total(), 4.0);
}

TEST(BenchMeasure, EveryContestantRunsOnceARoundAndEachRoundBeginsWithAnother) {
  std::string order;
  const auto contestant = [&order](char name) {
    return [&order, name] {
      order += name;
      return PartTimes{1.0};
    };
  };
  const std::vector<Contestant> contestants = {contestant('a'), contestant('b'), contestant('c')};
  const auto samples = measure_interleaved(contestants, {4, 1000.0});
  EXPECT_EQ(order, "abcbcacababc");
  for (const Samples& s : samples) EXPECT_EQ(s.rounds(), 4);
}

TEST(BenchMeasure, OneRoundIsRunEvenWithoutTime) {
  const std::vector<Contestant> contestants = {[] { return PartTimes{1.0}; }};
  EXPECT_EQ(measure_interleaved(contestants, {10, 0.0}).front().rounds(), 1);
}

TEST(BenchMeasure, ChoiceKeepsTheKnownOrderAndRefusesUnknownNames) {
  const std::vector<std::string> known = {"bptt", "ft", "dsf"};
  EXPECT_EQ(choose({}, known, "method"), known);
  EXPECT_THAT(choose({"dsf", "bptt"}, known, "method"), ElementsAre("bptt", "dsf"));
  EXPECT_THAT([&] { choose({"bbtt"}, known, "method"); },
              ThrowsMessage<UsageError>(HasSubstr("did you mean \"bptt\"")));
}

TEST(BenchMeasure, PeakMemorySeesWhatWasTouchedAndFreed) {
  constexpr dim_t kFloats = 16'000'000;
  const PeakMemory memory;
  {
    Buffer<float> buffer(kFloats);
    std::fill_n(buffer.data(), kFloats, 1.0F);
    EXPECT_EQ(buffer[kFloats / 2], 1.0F);
  }
  EXPECT_GE(memory.megabytes(), 60.0);
}

TEST(BenchMeasure, MachineSaysWhetherBf16IsNative) {
  const nlohmann::ordered_json machine = describe_machine();
  EXPECT_EQ(machine.at("bf16_native").get<bool>(), has_fast_bf16());
  EXPECT_EQ(machine.at("bf16").get<std::string>(), name_of(bf16_by()));
  EXPECT_EQ(machine.at("bf16") == "emulated", !has_fast_bf16());
  EXPECT_GE(machine.at("threads").get<int>(), 1);
  EXPECT_GT(machine.at("memory_mb").get<double>(), 0.0);
}

}  // namespace
}  // namespace dsf
