#include "dsf/run/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/run/checkpoint_state.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr dim_t kVocab = 11;
const RunIdentity kIdentity = {0x1234, 0xFFFFFFFFFFFFFFFFU};

LanguageModel make_model(std::uint64_t seed, dim_t hidden = 5) {
  ModelConfig config;
  config.hidden = hidden;
  config.layers = 2;
  return {config, FeedbackConfig{}, kVocab, seed};
}

TrainingState make_state(const LanguageModel& model, dim_t step) {
  Rng rng(99);
  TrainingState state;
  state.step = step;
  state.tokens = 12345;
  state.position = {3, 17};
  state.since_log = {1.0 / 3.0, 10, 4};
  state.since_eval = {2.0 / 3.0, 20, 8};
  state.best_loss = 5.0000000000000001e-300;
  state.best_step = 7;
  state.trend = {1.0 / 7.0, 1.0 / 9.0, 33};
  state.adam.updates = step;
  state.adam.m.resize(model.table().flat_size());
  state.adam.v.resize(model.table().flat_size());
  for (const ParameterInfo& parameter : model.table().entries()) {
    for (dim_t i = 0; i < parameter.id.size(); ++i) {
      state.adam.m[parameter.id.offset + i] = static_cast<float>(rng.normal());
      state.adam.v[parameter.id.offset + i] = static_cast<float>(rng.uniform());
    }
  }
  state.carried = model.zero_state(3);
  for (Matrix& matrix : state.carried) {
    for (dim_t i = 0; i < matrix.rows(); ++i) {
      for (dim_t j = 0; j < matrix.cols(); ++j) {
        matrix.view()(i, j) = static_cast<float>(rng.normal());
      }
    }
  }
  return state;
}

bool same(const LossSum& a, const LossSum& b) {
  return a.loss == b.loss && a.tokens == b.tokens && a.correct == b.correct;
}

TEST(Checkpoint, RoundTripRestoresEveryBit) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  const TrainingState state = make_state(model, 1234);
  save_checkpoint(directory.path(), kIdentity, state, model, {"last", "best"});
  EXPECT_EQ(fs::read_symlink(directory / "last"), "step-00001234");
  EXPECT_EQ(fs::read_symlink(directory / "best"), "step-00001234");

  LanguageModel other = make_model(2);
  TrainingState loaded;
  const RunIdentity identity = load_checkpoint(directory / "last", loaded, other);
  EXPECT_EQ(identity.config_hash, kIdentity.config_hash);
  EXPECT_EQ(identity.data_hash, kIdentity.data_hash);
  EXPECT_TRUE(std::ranges::equal(other.weights(), model.weights()));
  const std::vector<NamedBuffer> buffers = model.buffers();
  ASSERT_FALSE(buffers.empty());  // the diagonals of DSF, which the two seeds draw differently
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(std::ranges::equal(other.buffers()[i].values, buffers[i].values));
  }
  EXPECT_TRUE(std::ranges::equal(loaded.adam.m.span(), state.adam.m.span()));
  EXPECT_TRUE(std::ranges::equal(loaded.adam.v.span(), state.adam.v.span()));
  EXPECT_EQ(loaded.adam.updates, 1234);
  EXPECT_EQ(loaded.step, state.step);
  EXPECT_EQ(loaded.tokens, state.tokens);
  EXPECT_EQ(loaded.position, state.position);
  EXPECT_TRUE(same(loaded.since_log, state.since_log));
  EXPECT_TRUE(same(loaded.since_eval, state.since_eval));
  EXPECT_EQ(loaded.best_loss, state.best_loss);
  EXPECT_EQ(loaded.best_step, state.best_step);
  EXPECT_EQ(loaded.trend.mean, state.trend.mean);
  EXPECT_EQ(loaded.trend.variance, state.trend.variance);
  EXPECT_EQ(loaded.trend.steps, state.trend.steps);
  ASSERT_EQ(loaded.carried.size(), state.carried.size());
  for (std::size_t i = 0; i < state.carried.size(); ++i) {
    const ConstMatrixF a = loaded.carried[i].view();
    const ConstMatrixF b = state.carried[i].view();
    ASSERT_EQ(a.rows * a.cols, b.rows * b.cols);
    EXPECT_TRUE(std::equal(a.data, a.data + a.rows * a.cols, b.data));
  }
}

TEST(Checkpoint, SameStateGivesTheSameBytes) {
  const TempDirectory a;
  const TempDirectory b;
  LanguageModel model = make_model(1);
  save_checkpoint(a.path(), kIdentity, make_state(model, 5), model, {"last"});
  save_checkpoint(b.path(), kIdentity, make_state(model, 5), model, {"last"});
  EXPECT_EQ(snapshot(a.path()), snapshot(b.path()));
}

class DamagedCheckpoint : public ::testing::TestWithParam<const char*> {};

TEST_P(DamagedCheckpoint, IsRefusedNamingTheFileAndLeavesTheModelAlone) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 5), model, {"last"});
  const fs::path file = directory / "last" / GetParam();
  const std::string good = slurp(file);
  ASSERT_FALSE(good.empty());

  LanguageModel other = make_model(2);
  const std::vector<float> before(other.weights().begin(), other.weights().end());
  TrainingState state;
  const auto expect_refused = [&](const std::string& contents) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << contents;
    try {
      load_checkpoint(directory / "last", state, other);
      ADD_FAILURE() << "damage was not noticed";
    } catch (const CheckpointError& error) {
      EXPECT_THAT(error.what(), HasSubstr(GetParam()));
    }
  };
  // 41 places spread over the file, its first and last byte among them.
  for (std::size_t i = 0; i <= 40; ++i) {
    const std::size_t at = i * (good.size() - 1) / 40;
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    SCOPED_TRACE(at);
    expect_refused(damaged);
  }
  expect_refused("");
  expect_refused(good.substr(0, good.size() / 2));
  expect_refused(good + " ");
  fs::remove(file);
  EXPECT_THROW(load_checkpoint(directory / "last", state, other), CheckpointError);
  EXPECT_TRUE(std::ranges::equal(other.weights(), before));
  EXPECT_EQ(state.step, 0);
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, DamagedCheckpoint,
                         ::testing::Values("weights.safetensors", "optimizer.safetensors",
                                           "states.safetensors", "state.json"));

// One bit of the file's first tensor, in the order they lie in it, and one of its header.
class DamagedPart : public ::testing::TestWithParam<const char*> {
 protected:
  DamagedPart() : model_(make_model(1)) {
    save_checkpoint(directory_.path(), kIdentity, make_state(model_, 5), model_, {"last"});
    good_ = slurp(file_);
    const SafetensorsFile tensors(good_, "good");
    for (const auto& [name, tensor] : tensors.tensors()) {
      if (tensor.begin == 0) first_ = name;
    }
    std::uint64_t header = 0;
    std::memcpy(&header, good_.data(), sizeof header);
    data_ = sizeof header + header;
  }

  std::string message_with_flip_at(std::size_t at) {
    std::string damaged = good_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << damaged;
    TrainingState state;
    return message_of<CheckpointError>([&] { load_checkpoint(last_, state, model_); });
  }

  const TempDirectory directory_;
  LanguageModel model_;
  const fs::path last_ = directory_ / "last";
  const fs::path file_ = last_ / GetParam();
  std::string good_;
  std::string first_;     // tensor of the file
  std::size_t data_ = 0;  // where its bytes begin
};

TEST_P(DamagedPart, IsNamed) {
  EXPECT_THAT(message_with_flip_at(data_), HasSubstr("damaged in tensor \"" + first_ + "\""));
  EXPECT_THAT(message_with_flip_at(data_ - 1), HasSubstr("damaged in its header"));
  EXPECT_THAT(message_with_flip_at(0), HasSubstr("damaged in its header"));
}

// As version 0.1.0 wrote them: with a checksum of each file, and none of its parts.
TEST_P(DamagedPart, OfACheckpointWithoutChecksumsOfPartsIsAtLeastNoticed) {
  CheckpointState summary = parse_checkpoint_state(slurp(last_ / "state.json"), "state");
  for (auto& [name, seal] : summary.files) seal.parts = {};
  std::ofstream(last_ / "state.json", std::ios::binary | std::ios::trunc) << to_json(summary);
  TrainingState state;
  load_checkpoint(last_, state, model_);
  EXPECT_EQ(state.step, 5);
  EXPECT_THAT(message_with_flip_at(data_), HasSubstr("damaged: "));
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, DamagedPart,
                         ::testing::Values("weights.safetensors", "optimizer.safetensors",
                                           "states.safetensors"));

TEST(Checkpoint, OfAnotherModelIsRefused) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 5), model, {"last"});
  LanguageModel wider = make_model(1, 6);
  TrainingState state;
  EXPECT_THROW(load_checkpoint(directory / "last", state, wider), CheckpointError);
  EXPECT_THROW(load_weights(directory / "last", wider), CheckpointError);
}

TEST(Checkpoint, WeightsAloneCanBeLoaded) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 5), model, {"best"});
  LanguageModel other = make_model(2);
  EXPECT_EQ(load_weights(find_checkpoint(directory.path(), "best"), other).step, 5);
  EXPECT_TRUE(std::ranges::equal(other.weights(), model.weights()));
  EXPECT_THROW(find_checkpoint(directory.path(), "last"), CheckpointError);
}

TEST(Checkpoint, TheLastStandsInForTheBestBeforeTheFirstEvaluation) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  EXPECT_THROW(find_checkpoint(directory.path(), "best"), CheckpointError);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 5), model, {"last"});
  EXPECT_EQ(find_checkpoint(directory.path(), "best"), directory / "last");
  save_checkpoint(directory.path(), kIdentity, make_state(model, 6), model, {"best"});
  EXPECT_EQ(find_checkpoint(directory.path(), "best"), directory / "best");
}

TEST(Checkpoint, OlderOnesGoUnlessALinkNamesThem) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  const auto save = [&](dim_t step, const std::vector<std::string>& links) {
    save_checkpoint(directory.path(), kIdentity, make_state(model, step), model, links);
  };
  save(1, {"last"});
  save(2, {"last", "best"});
  save(3, {"last"});
  save(4, {"last"});
  EXPECT_EQ(fs::read_symlink(directory / "best"), "step-00000002");
  EXPECT_THAT(list_checkpoints(directory.path()),
              ElementsAre(directory / "step-00000004", directory / "step-00000002"));
}

TEST(Checkpoint, NewestOnesAreKeptAsManyAsAskedFor) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  for (const dim_t step : {1, 2, 3, 4}) {
    save_checkpoint(
        directory.path(), kIdentity, make_state(model, step), model,
        step == 1 ? std::vector<std::string>{"last", "best"} : std::vector<std::string>{"last"}, 2);
  }
  EXPECT_THAT(list_checkpoints(directory.path()),
              ElementsAre(directory / "step-00000004", directory / "step-00000003",
                          directory / "step-00000001"));
}

// Training may save and point `last` elsewhere between two files that somebody else reads.
TEST(Checkpoint, FilesBehindALinkAreAllOfOneCheckpoint) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  const auto save = [&](dim_t step) {
    save_checkpoint(directory.path(), kIdentity, make_state(model, step), model, {"last"}, 2);
  };
  save(1);
  const CheckpointFiles files = files_in(directory / "last");
  model.mutable_weights()[0] += 1.0F;
  save(2);
  ASSERT_EQ(fs::read_symlink(directory / "last"), "step-00000002");
  for (const char* name : {"weights.safetensors", "state.json"}) {
    const std::string first = slurp(directory / "step-00000001" / name);
    ASSERT_NE(slurp(directory / "last" / name), first) << name;
    EXPECT_EQ(files.read(name).value(), first) << name;
  }
}

TEST(Checkpoint, WhatIsNotFiniteIsNotSaved) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 1), model, {"last"});
  const auto before = snapshot(directory.path());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto expect_refused = [&](const TrainingState& state, const std::string& name) {
    try {
      save_checkpoint(directory.path(), kIdentity, state, model, {"last"});
      ADD_FAILURE() << name << " was saved";
    } catch (const DivergenceError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
    EXPECT_EQ(snapshot(directory.path()), before);
  };
  TrainingState state = make_state(model, 2);
  state.adam.v[0] = nan;
  expect_refused(state, "v." + model.table().entries().front().name);
  state = make_state(model, 2);
  state.carried[1].view()(0, 0) = -std::numeric_limits<float>::infinity();
  expect_refused(state, "the carried state of block 1");
  state = make_state(model, 2);
  state.best_loss = std::numeric_limits<double>::quiet_NaN();
  expect_refused(state, "the best loss");
  model.mutable_weights()[0] = nan;
  expect_refused(make_state(model, 2), model.table().entries().front().name);
}

TEST(Checkpoint, SizeIsKnownBefore) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  const TrainingState state = make_state(model, 5);
  save_checkpoint(directory.path(), kIdentity, state, model, {"last"});
  std::uint64_t written = 0;
  for (const auto& entry : fs::directory_iterator(directory / "last")) {
    written += entry.file_size();
  }
  const std::uint64_t estimate = checkpoint_bytes(model, state);
  EXPECT_LE(estimate, written);
  constexpr std::uint64_t kText = 16384;  // headers and state.json: some 100 bytes a tensor
  EXPECT_LE(written, estimate + kText);
}

TEST(Checkpoint, UnfinishedOnesAreNotListedAndRemovedByTheNextSave) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  save_checkpoint(directory.path(), kIdentity, make_state(model, 1), model, {"last"});
  directory.write("step-00000009.tmp/weights.safetensors", "half a fi");
  EXPECT_THAT(list_checkpoints(directory.path()), ElementsAre(directory / "step-00000001"));
  TrainingState state;
  EXPECT_NO_THROW(load_checkpoint(directory / "last", state, model));
  save_checkpoint(directory.path(), kIdentity, make_state(model, 2), model, {"last"});
  EXPECT_FALSE(fs::exists(directory / "step-00000009.tmp"));
}

TEST(Checkpoint, DamagedOneOfTheSameStepIsReplaced) {
  const TempDirectory directory;
  LanguageModel model = make_model(1);
  directory.write("step-00000003/state.json", "rubbish");
  save_checkpoint(directory.path(), kIdentity, make_state(model, 3), model, {"last"});
  TrainingState state;
  EXPECT_NO_THROW(load_checkpoint(directory / "last", state, model));
  EXPECT_EQ(state.step, 3);
}

}  // namespace
}  // namespace dsf
