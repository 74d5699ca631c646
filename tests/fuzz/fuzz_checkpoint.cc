// A checkpoint one of whose files has any bytes; the input's first byte says which. Checksums are
// put right, so that what lies behind them is reached.

#include <array>
#include <map>
#include <optional>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/run/checkpoint_state.h"
#include "dsf/run/checkpoint_tensors.h"
#include "tests/fuzz/target.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

constexpr std::array<const char*, 3> kTensorFiles = {"weights.safetensors", "optimizer.safetensors",
                                                     "states.safetensors"};
constexpr const char* kState = "state.json";

// The text with its checksum put right: what stands before the last line, and the seal of that.
std::string sealed(std::string_view text) {
  constexpr std::string_view kSeal = ",\n  \"xxh3\": \"";
  const std::string_view body = text.substr(0, text.rfind(kSeal));
  return std::string(body) + std::string(kSeal) + to_hex(hash_bytes(body)) + "\"\n}\n";
}

// A good checkpoint of a tiny model, written once and from then on held in memory.
class GoodCheckpoint {
 public:
  GoodCheckpoint() : model_(make_model()) {
    const TempDirectory directory;
    TrainingState state;
    state.step = 1;
    state.adam.updates = 1;
    state.adam.m.resize(model_.table().flat_size());
    state.adam.v.resize(model_.table().flat_size());
    state.carried = model_.zero_state(2);
    save_checkpoint(directory.path(), {1, 2}, state, model_, {});
    const std::filesystem::path checkpoint = directory / checkpoint_name(1);
    for (const char* name : kTensorFiles) files_[name] = slurp(checkpoint / name);
    state_ = parse_checkpoint_state(slurp(checkpoint / kState), kState);
  }

  // The part of load_checkpoint that looks at this file.
  void read_tensors(std::size_t file, std::string_view contents) {
    try {
      const SafetensorsFile tensors(std::string(contents), "input");
      AdamState adam;
      if (file == 0) check_weights(tensors, "input", model_);
      if (file == 1) read_moments(tensors, model_.table(), adam);
      if (file == 2) read_carried(tensors);
    } catch (const CheckpointError&) {
      return;
    }
  }
  // All of it, with a state.json that agrees with the file.
  void load_with_tensors(std::size_t file, std::string_view contents) {
    CheckpointState state = state_;
    state.files[kTensorFiles[file]] = {contents.size(), hash_bytes(contents), {}};
    load(kTensorFiles[file], contents, to_json(state));
  }

  static void read_state(std::string_view text) {
    try {
      parse_checkpoint_state(std::string(text), "input");
    } catch (const CheckpointError&) {
      return;
    }
  }
  void load_with_state(std::string_view text) { load("", "", text); }

 private:
  static LanguageModel make_model() {
    ModelConfig config;
    config.hidden = 2;
    config.layers = 1;
    constexpr dim_t kVocab = 4;
    return {config, FeedbackConfig{}, kVocab, 1};
  }

  void load(std::string_view changed, std::string_view contents, std::string_view text) {
    const auto read = [&](std::string_view name) -> std::optional<std::string> {
      if (name == kState) return std::string(text);
      if (name == changed) return std::string(contents);
      return files_.at(std::string(name));
    };
    TrainingState state;
    try {
      load_checkpoint(CheckpointFiles{"checkpoint", read}, state, model_);
    } catch (const CheckpointError&) {
      require(state.adam.m.empty(), "a refused checkpoint changes nothing");
    }
  }

  LanguageModel model_;
  std::map<std::string, std::string> files_;
  CheckpointState state_;
};

GoodCheckpoint& good_checkpoint() {
  static GoodCheckpoint checkpoint;
  return checkpoint;
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  dsf::good_checkpoint();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  if (size == 0) return 0;
  GoodCheckpoint& checkpoint = good_checkpoint();
  const std::string_view contents = as_text(data + 1, size - 1);
  const std::size_t file = data[0] % (kTensorFiles.size() + 2);
  // A whole checkpoint takes ten times as long as the file that is not as it should be.
  constexpr std::uint64_t kOneIn = 64;
  const bool whole = hash_bytes(contents) % kOneIn == 0;
  if (file < kTensorFiles.size()) {
    whole ? checkpoint.load_with_tensors(file, contents) : checkpoint.read_tensors(file, contents);
  } else {
    const std::string state =
        file == kTensorFiles.size() ? sealed(contents) : std::string(contents);
    whole ? checkpoint.load_with_state(state) : GoodCheckpoint::read_state(state);
  }
  return 0;
}
