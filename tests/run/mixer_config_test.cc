#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "dsf/model/language_model.h"
#include "dsf/run/config_file.h"

namespace dsf {
namespace {

RunConfig with(const std::vector<std::string>& sets) {
  return with_assignments(RunConfig(), parse_assignments(sets));
}

TEST(MixerConfig, EveryMixerFitsEveryBlock) {
  for (const std::string& mixer : choice_names<MixerKind>()) {
    for (const char* block : {"plain", "transformer"}) {
      const RunConfig config = with({"model.mixer=" + mixer, std::string("model.block=") + block,
                                     "data.batching=blocks", "data.tokenizer=bpe"});
      EXPECT_GT(count_parameters(config.model, config.feedback, 300), 0) << mixer << block;
    }
  }
}

TEST(MixerConfig, PositionsOfTheModelFollowTheContextOfTheData) {
  EXPECT_EQ(with({"data.context=77"}).model.context, 77);
}

TEST(MixerConfig, AttentionCannotCarryAStateThroughAStream) {
  EXPECT_THROW(with({"model.mixer=attention", "data.batching=stream"}), ConfigError);
  EXPECT_NO_THROW(with({"model.mixer=ema", "data.batching=stream"}));
}

}  // namespace
}  // namespace dsf
