#include "dsf/train/checkpoint.h"

#include <fmt/format.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/fault.h"
#include "dsf/base/file.h"
#include "dsf/model/model_tensors.h"
#include "dsf/model/safetensors.h"
#include "dsf/train/checkpoint_state.h"
#include "dsf/train/finite.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kStates = "states.safetensors";
constexpr const char* kState = "state.json";

std::string state_name(std::size_t block) { return fmt::format("blocks.{}.state", block); }

// --- writing ------------------------------------------------------------------------------------

std::vector<TensorToWrite> weight_tensors(LanguageModel& model) {
  std::vector<TensorToWrite> tensors;
  for (ModelTensor& tensor : model_tensors(model)) {
    tensors.push_back({std::move(tensor.name), std::move(tensor.shape), tensor.values});
  }
  return tensors;
}

std::vector<TensorToWrite> moment_tensors(const ParameterTable& table, const AdamState& adam) {
  std::vector<TensorToWrite> tensors;
  if (adam.m.empty()) return tensors;  // before the first update
  for (const ParameterInfo& parameter : table.entries()) {
    const std::vector<dim_t> shape = shape_of(parameter);
    tensors.push_back({"m." + parameter.name, shape, values_of(parameter, adam.m.span())});
    tensors.push_back({"v." + parameter.name, shape, values_of(parameter, adam.v.span())});
  }
  return tensors;
}

std::vector<TensorToWrite> carried_tensors(const ModelState& carried) {
  std::vector<TensorToWrite> tensors;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const ConstMatrixF values = carried[i].view();
    const auto size = static_cast<std::size_t>(values.rows * values.cols);
    tensors.push_back({state_name(i), {values.rows, values.cols}, {values.data, size}});
  }
  return tensors;
}

FileSeal write_tensors(const fs::path& path, const std::vector<TensorToWrite>& tensors) {
  FileWriter writer(path);
  write_safetensors(tensors, {{"format", "dsf"}}, writer);
  writer.finish();
  return {writer.bytes(), writer.hash()};
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

CheckpointState read_state(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kState;
  if (!fs::is_regular_file(path)) {
    throw CheckpointError(fmt::format("{}: missing; the checkpoint is not whole", path.string()));
  }
  return parse_checkpoint_state(read_file(path), path.string());
}

SafetensorsFile read_sealed(const fs::path& checkpoint, const char* name,
                            const CheckpointState& state) {
  const fs::path path = checkpoint / name;
  const auto seal = state.files.find(name);
  if (seal == state.files.end() || !fs::is_regular_file(path)) {
    throw CheckpointError(fmt::format("{}: missing from the checkpoint", path.string()));
  }
  std::string contents = read_file(path);
  if (contents.size() != seal->second.bytes || hash_bytes(contents) != seal->second.hash) {
    throw CheckpointError(fmt::format(
        "{}: damaged: {} bytes with checksum {}, but {} bytes with checksum {} were written",
        path.string(), contents.size(), to_hex(hash_bytes(contents)), seal->second.bytes,
        to_hex(seal->second.hash)));
  }
  return {std::move(contents), path.string()};
}

void require_count(const SafetensorsFile& file, std::size_t expected, const fs::path& path) {
  if (file.tensors().size() == expected) return;
  throw CheckpointError(fmt::format("{}: holds {} tensors, the model has {}", path.string(),
                                    file.tensors().size(), expected));
}

void check_weights(const SafetensorsFile& file, const fs::path& path, LanguageModel& model) {
  const std::vector<TensorToWrite> expected = weight_tensors(model);
  for (const TensorToWrite& tensor : expected) file.require(tensor.name, tensor.shape);
  require_count(file, expected.size(), path);
}

void fill_weights(const SafetensorsFile& file, LanguageModel& model) {
  for (const ModelTensor& tensor : model_tensors(model)) file.copy_to(tensor.name, tensor.values);
}

void read_moments(const SafetensorsFile& file, const ParameterTable& table, AdamState& adam) {
  if (file.tensors().empty()) return;
  adam.m.resize(table.flat_size());
  adam.v.resize(table.flat_size());
  for (const ParameterInfo& parameter : table.entries()) {
    file.copy_to("m." + parameter.name, values_of(parameter, adam.m.span()));
    file.copy_to("v." + parameter.name, values_of(parameter, adam.v.span()));
  }
}

ModelState read_carried(const SafetensorsFile& file) {
  ModelState carried;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const auto found = file.tensors().find(state_name(i));
    if (found == file.tensors().end() || found->second.shape.size() != 2) {
      throw CheckpointError("the carried states do not fit the model");
    }
    const std::vector<dim_t>& shape = found->second.shape;
    MatrixF values = carried.emplace_back(shape[0], shape[1]).view();
    file.copy_to(found->first, {values.data, static_cast<std::size_t>(shape[0] * shape[1])});
  }
  return carried;
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
  std::uint64_t floats = 0;
  for (const auto& tensors : {weight_tensors(model), moment_tensors(model.table(), state.adam),
                              carried_tensors(state.carried)}) {
    for (const TensorToWrite& tensor : tensors) floats += tensor.values.size();
  }
  return floats * sizeof(float);
}

RunIdentity load_checkpoint(const fs::path& checkpoint, TrainingState& state,
                            LanguageModel& model) {
  const CheckpointState summary = read_state(checkpoint);
  const SafetensorsFile weights = read_sealed(checkpoint, kWeights, summary);
  check_weights(weights, checkpoint / kWeights, model);

  TrainingState loaded{summary.counters, {}, {}};
  loaded.adam.updates = summary.adam_updates;
  read_moments(read_sealed(checkpoint, kOptimizer, summary), model.table(), loaded.adam);
  if (summary.files.contains(kStates)) {
    loaded.carried = read_carried(read_sealed(checkpoint, kStates, summary));
  }
  fill_weights(weights, model);
  state = std::move(loaded);
  return summary.identity;
}

dim_t load_weights(const fs::path& checkpoint, LanguageModel& model) {
  const CheckpointState summary = read_state(checkpoint);
  const SafetensorsFile weights = read_sealed(checkpoint, kWeights, summary);
  check_weights(weights, checkpoint / kWeights, model);
  fill_weights(weights, model);
  return summary.counters.step;
}

}  // namespace dsf
