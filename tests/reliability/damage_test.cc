// Checkpoints with flipped bits, cut off, or with blocks of zeros in them: each is noticed, or
// makes no difference.

#include <gtest/gtest.h>

#include <cstring>

#include "dsf/base/error.h"
#include "tests/reliability/lives.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr dim_t kVocab = 11;

LanguageModel tiny_model(std::uint64_t seed) {
  ModelConfig config;
  config.hidden = 4;
  config.layers = 1;
  return {config, FeedbackConfig{}, kVocab, seed};
}

TrainingState tiny_state(const LanguageModel& model) {
  TrainingState state;
  state.step = 1234;
  state.tokens = 56789;
  state.position = {3, 17};
  state.best_loss = 1.25;
  state.best_step = 1200;
  state.adam.updates = 1234;
  state.adam.m.resize(model.table().flat_size());
  state.adam.v.resize(model.table().flat_size());
  state.carried = model.zero_state(2);
  return state;
}

// Changes at least one bit, or the length.
std::string damaged(const std::string& good, Rng& rng) {
  std::string bad = good;
  const auto size = static_cast<dim_t>(good.size());
  do {
    switch (rng.below(4)) {
      case 0:
      case 1: {
        for (dim_t flips = 1 + rng.below(3); flips > 0; --flips) {
          char& byte = bad[static_cast<std::size_t>(rng.below(size))];
          byte = static_cast<char>(byte ^ (1 << rng.below(8)));
        }
        break;
      }
      case 2:
        bad.resize(static_cast<std::size_t>(rng.below(size)));
        break;
      default: {  // a block that never arrived
        const auto begin = static_cast<std::size_t>(rng.below(size));
        const std::size_t length = std::min<std::size_t>(bad.size() - begin, 512);
        std::memset(bad.data() + begin, 0, length);
      }
    }
  } while (bad == good);
  return bad;
}

void damage(int times) {
  Rng rng(5, "damage");
  const char* parent = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  std::string name = std::string(parent) + "/dsf_damage_XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path directory = name;
  LanguageModel model = tiny_model(1);
  save_checkpoint(directory, {1, 2}, tiny_state(model), model, {"last"});
  const fs::path checkpoint = fs::canonical(directory / "last");
  std::vector<std::pair<fs::path, std::string>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint)) {
    files.emplace_back(entry.path(), slurp(entry.path()));
  }
  ASSERT_EQ(files.size(), 4U);

  LanguageModel other = tiny_model(2);
  const std::vector<float> before(other.weights().begin(), other.weights().end());
  int noticed = 0;
  for (int i = 0; i < times; ++i) {
    const auto& [path, good] = files[static_cast<std::size_t>(i) % files.size()];
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged(good, rng);
    TrainingState state;
    try {
      load_checkpoint(checkpoint, state, other);
      ADD_FAILURE() << "damage " << i << " in " << path << " was not noticed";
    } catch (const CheckpointError&) {
      ++noticed;
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << good;
  }
  EXPECT_TRUE(std::ranges::equal(other.weights(), before));
  TrainingState state;
  EXPECT_NO_THROW(load_checkpoint(checkpoint, state, other));  // with every file put back
  fs::remove_all(directory);
  report_figure("damaged checkpoints (bits flipped, cut off, zeroed)",
                fmt::format("{} of {} noticed", noticed, times));
}

TEST(Damage, EveryDamageIsNoticed) { damage(500); }
TEST(DamageLong, EveryDamageIsNoticed) { damage(100'000); }

}  // namespace
}  // namespace dsf
