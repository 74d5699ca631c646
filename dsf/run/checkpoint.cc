#include "dsf/run/checkpoint.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/fault.h"
#include "dsf/base/file.h"
#include "dsf/run/checkpoint_state.h"
#include "dsf/run/checkpoint_tensors.h"
#include "dsf/run/finite.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kStates = "states.safetensors";
constexpr const char* kState = "state.json";

// --- writing ------------------------------------------------------------------------------------

FileSeal write_tensors(const fs::path& path, const std::vector<TensorToWrite>& tensors) {
  FileWriter writer(path);
  PartSeals parts = write_safetensors(tensors, {{"format", "dsf"}}, writer);
  writer.finish();
  return {writer.bytes(), writer.hash(), std::move(parts)};
}

// The last door: whatever went wrong before, a file that was saved can be trained on.
void require_finite(const TrainingState& state, LanguageModel& model) {
  const std::string name = first_not_finite(model, state);
  if (name.empty()) return;
  throw DivergenceError(
      fmt::format("step {}: {} is not finite; no checkpoint was written", state.step, name));
}

void write_files(const fs::path& directory, const RunIdentity& identity, const TrainingState& state,
                 LanguageModel& model) {
  CheckpointState summary;
  summary.identity = identity;
  summary.counters = state;
  summary.adam_updates = state.adam.updates;

  summary.files[kWeights] = write_tensors(directory / kWeights, weight_tensors(model));
  crash_point("checkpoint.after_weights");
  summary.files[kOptimizer] =
      write_tensors(directory / kOptimizer, moment_tensors(model.table(), state.adam));
  crash_point("checkpoint.after_optimizer");
  if (!state.carried.empty()) {
    summary.files[kStates] = write_tensors(directory / kStates, carried_tensors(state.carried));
    crash_point("checkpoint.after_states");
  }
  FileWriter writer(directory / kState);
  writer.write(to_json(summary));
  writer.finish();
  crash_point("checkpoint.after_state");
  sync_directory(directory);
}

// --- reading ------------------------------------------------------------------------------------

CheckpointState read_state(const CheckpointFiles& files) {
  const std::string path = files.directory / kState;
  const std::optional<std::string> text = files.read(kState);
  if (!text) throw CheckpointError(fmt::format("{}: missing; the checkpoint is not whole", path));
  return parse_checkpoint_state(*text, path);
}

// Where in a file of the right length, and with another checksum than it should have, the damage
// is.
std::string damaged_part(const std::string& contents, const PartSeals& seals) {
  if (seals.header_bytes == 0) return "";
  const std::string_view header = std::string_view(contents).substr(0, seals.header_bytes);
  if (hash_bytes(header) != seals.header_hash) return " in its header";
  const SafetensorsFile file(contents, "");
  for (const auto& [name, tensor] : file.tensors()) {
    const auto seal = seals.tensors.find(name);
    if (seal != seals.tensors.end() && seal->second != hash_bytes(file.bytes_of(tensor))) {
      return fmt::format(" in tensor \"{}\"", name);
    }
  }
  return "";
}

void check_seal(const std::string& contents, const FileSeal& seal, const std::string& path) {
  const std::uint64_t hash = hash_bytes(contents);
  if (contents.size() == seal.bytes && hash == seal.hash) return;
  const bool cut = contents.size() != seal.bytes;
  throw CheckpointError(fmt::format(
      "{}: damaged{}: {} bytes with checksum {}, but {} bytes with checksum {} were written", path,
      cut ? "" : damaged_part(contents, seal.parts), contents.size(), to_hex(hash), seal.bytes,
      to_hex(seal.hash)));
}

SafetensorsFile read_sealed(const CheckpointFiles& files, const char* name,
                            const CheckpointState& state) {
  const std::string path = files.directory / name;
  const auto seal = state.files.find(name);
  std::optional<std::string> contents;
  if (seal != state.files.end()) contents = files.read(name);
  if (!contents) throw CheckpointError(fmt::format("{}: missing from the checkpoint", path));
  check_seal(*contents, seal->second, path);
  return {std::move(*contents), path};
}

// Where a link points now: training may point it elsewhere while the files are read one by one.
fs::path behind_link(const fs::path& directory) {
  std::error_code no_link;
  const fs::path target = fs::read_symlink(directory, no_link);
  return no_link ? directory : directory.parent_path() / target;
}

}  // namespace

void save_checkpoint(const fs::path& checkpoints, const RunIdentity& identity,
                     const TrainingState& state, LanguageModel& model,
                     const std::vector<std::string>& links, dim_t keep) {
  require_finite(state, model);
  crash_point("checkpoint.begin");
  make_directory(checkpoints);
  const fs::path unfinished = unfinished_checkpoint(checkpoints, state.step);
  try {
    fs::remove_all(unfinished);
    make_directory(unfinished);
    write_files(unfinished, identity, state, model);
    publish_checkpoint(checkpoints, state.step);
  } catch (...) {
    std::error_code ignored;  // a disk that is full needs the room
    fs::remove_all(unfinished, ignored);
    throw;
  }
  for (const std::string& link : links) link_checkpoint(checkpoints, state.step, link);
  prune_checkpoints(checkpoints, keep);
  crash_point("checkpoint.end");
}

std::uint64_t checkpoint_bytes(LanguageModel& model, const TrainingState& state) {
  // The moments of all ranks, whatever part of them is here.
  auto floats = 2 * static_cast<std::uint64_t>(model.table().parameter_count());
  for (const auto& tensors : {weight_tensors(model), carried_tensors(state.carried)}) {
    for (const TensorToWrite& tensor : tensors) floats += tensor.values.size();
  }
  return floats * sizeof(float);
}

CheckpointFiles files_in(const fs::path& directory) {
  return {directory,
          [place = behind_link(directory)](const char* name) -> std::optional<std::string> {
            const fs::path path = place / name;
            std::error_code ignored;
            if (!fs::is_regular_file(path, ignored)) return std::nullopt;
            try {
              return read_file(path);
            } catch (const IoError& error) {  // a bad disk is damage like another
              throw CheckpointError(error.what());
            }
          }};
}

RunIdentity load_checkpoint(const fs::path& checkpoint, TrainingState& state,
                            LanguageModel& model) {
  return load_checkpoint(files_in(checkpoint), state, model);
}

RunIdentity load_checkpoint(const CheckpointFiles& files, TrainingState& state,
                            LanguageModel& model) {
  const CheckpointState summary = read_state(files);
  const SafetensorsFile weights = read_sealed(files, kWeights, summary);
  check_weights(weights, files.directory / kWeights, model);

  TrainingState loaded{summary.counters, {}, {}};
  loaded.adam.updates = summary.adam_updates;
  read_moments(read_sealed(files, kOptimizer, summary), model.table(), loaded.adam);
  if (summary.files.contains(kStates)) {
    loaded.carried = read_carried(read_sealed(files, kStates, summary));
  }
  fill_weights(weights, model);
  state = std::move(loaded);
  return summary.identity;
}

WeightsOrigin load_weights(const fs::path& checkpoint, LanguageModel& model) {
  const CheckpointFiles files = files_in(checkpoint);
  const CheckpointState summary = read_state(files);
  const SafetensorsFile weights = read_sealed(files, kWeights, summary);
  check_weights(weights, checkpoint / kWeights, model);
  fill_weights(weights, model);
  return {summary.counters.step, summary.identity};
}

}  // namespace dsf
