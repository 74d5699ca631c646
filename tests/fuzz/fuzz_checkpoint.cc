// A checkpoint one of whose files has any bytes; the input's first byte says which. Checksums are
// put right, so that what lies behind them is reached.

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/train/checkpoint_state.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kTensorFiles = {"weights.safetensors", "optimizer.safetensors",
                                                     "states.safetensors"};

void put(const fs::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

// A good checkpoint of a tiny model, made once.
class GoodCheckpoint {
 public:
  GoodCheckpoint() : model_(make_model()) {
    std::string name = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    name += "/dsf_fuzz_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    root_ = name;
    TrainingState state;
    state.step = 1;
    state.adam.updates = 1;
    state.adam.m.resize(model_.table().flat_size());
    state.adam.v.resize(model_.table().flat_size());
    state.carried = model_.zero_state(2);
    save_checkpoint(root_, {1, 2}, state, model_, {});
    path_ = root_ / checkpoint_name(1);
    state_text_ = read_file(path_ / "state.json");
    state_ = parse_checkpoint_state(state_text_, "state");
    for (std::size_t i = 0; i < kTensorFiles.size(); ++i) {
      tensors_[i] = read_file(path_ / kTensorFiles[i]);
    }
  }
  ~GoodCheckpoint() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  GoodCheckpoint(const GoodCheckpoint&) = delete;
  GoodCheckpoint& operator=(const GoodCheckpoint&) = delete;

  void load_with_tensors(std::size_t file, std::string_view contents) {
    CheckpointState state = state_;
    state.files[kTensorFiles[file]] = {contents.size(), hash_bytes(contents)};
    put(path_ / kTensorFiles[file], contents);
    put(path_ / "state.json", to_json(state));
    load();
    put(path_ / kTensorFiles[file], tensors_[file]);
  }

  void load_with_state(std::string_view contents) {
    put(path_ / "state.json", contents);
    load();
  }

 private:
  static LanguageModel make_model() {
    ModelConfig config;
    config.hidden = 2;
    config.layers = 1;
    constexpr dim_t kVocab = 4;
    return {config, FeedbackConfig{}, kVocab, 1};
  }

  void load() {
    TrainingState state;
    try {
      load_checkpoint(path_, state, model_);
    } catch (const CheckpointError&) {
      require(state.adam.m.empty(), "a refused checkpoint changes nothing");
    }
  }

  LanguageModel model_;
  fs::path root_;
  fs::path path_;
  std::string state_text_;
  CheckpointState state_;
  std::array<std::string, kTensorFiles.size()> tensors_;
};

// The text with its checksum put right: what stands before the last line, and the seal of that.
std::string sealed(std::string_view text) {
  constexpr std::string_view kSeal = ",\n  \"xxh3\": \"";
  const std::string_view body = text.substr(0, text.rfind(kSeal));
  return std::string(body) + std::string(kSeal) + to_hex(hash_bytes(body)) + "\"\n}\n";
}

}  // namespace
}  // namespace dsf

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  static GoodCheckpoint checkpoint;
  if (size == 0) return 0;
  const std::string_view contents = as_text(data + 1, size - 1);
  const std::size_t file = data[0] % (kTensorFiles.size() + 2);
  if (file < kTensorFiles.size()) {
    checkpoint.load_with_tensors(file, contents);
  } else if (file == kTensorFiles.size()) {
    checkpoint.load_with_state(sealed(contents));
  } else {
    checkpoint.load_with_state(contents);
  }
  return 0;
}
