#include "dsf/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/model/model_tensors.h"
#include "dsf/model/safetensors.h"
#include "dsf/train/checkpoint_state.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kStates = "states.safetensors";
constexpr const char* kState = "state.json";
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::string_view kStepPrefix = "step-";

std::string directory_name(dim_t step) { return fmt::format("{}{:08d}", kStepPrefix, step); }

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

void write_files(const fs::path& directory, const RunIdentity& identity, const TrainingState& state,
                 LanguageModel& model) {
  CheckpointState summary;
  summary.identity = identity;
  summary.counters = state;
  summary.adam_updates = state.adam.updates;

  summary.files[kWeights] = write_tensors(directory / kWeights, weight_tensors(model));
  summary.files[kOptimizer] =
      write_tensors(directory / kOptimizer, moment_tensors(model.table(), state.adam));
  if (!state.carried.empty()) {
    summary.files[kStates] = write_tensors(directory / kStates, carried_tensors(state.carried));
  }
  FileWriter writer(directory / kState);
  writer.write(to_json(summary));
  writer.finish();
  sync_directory(directory);
}

// Puts the finished directory in its place; a damaged one of the same step makes way.
void move_in(const fs::path& finished, const fs::path& place) {
  const fs::path stale = place.string() + ".old" + std::string(kUnfinished);
  if (fs::exists(place)) rename_file(place, stale);
  rename_file(finished, place);
  sync_directory(place.parent_path());
}

// Removes what no link names: older checkpoints, and what a killed process left unfinished.
void prune(const fs::path& checkpoints) {
  std::set<fs::path> named;
  std::vector<fs::path> candidates;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    const fs::path name = entry.path().filename();
    if (entry.is_symlink() && name.extension() != kUnfinished) {
      named.insert(fs::read_symlink(entry.path()).filename());
    } else if (name.string().starts_with(kStepPrefix) || name.extension() == kUnfinished) {
      candidates.push_back(entry.path());
    }
  }
  for (const fs::path& candidate : candidates) {
    if (!named.contains(candidate.filename())) fs::remove_all(candidate);
  }
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
                     const std::vector<std::string>& links) {
  fs::create_directories(checkpoints);
  const std::string name = directory_name(state.step);
  const fs::path unfinished = checkpoints / (name + std::string(kUnfinished));
  fs::remove_all(unfinished);
  fs::create_directory(unfinished);
  write_files(unfinished, identity, state, model);
  move_in(unfinished, checkpoints / name);
  for (const std::string& link : links) link_checkpoint(checkpoints, state.step, link);
  prune(checkpoints);
}

void link_checkpoint(const fs::path& checkpoints, dim_t step, const std::string& link) {
  replace_symlink(directory_name(step), checkpoints / link);
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

std::vector<fs::path> list_checkpoints(const fs::path& checkpoints) {
  std::vector<fs::path> found;
  if (!fs::is_directory(checkpoints)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoints)) {
    const fs::path name = entry.path().filename();
    if (name.string().starts_with(kStepPrefix) && name.extension() != kUnfinished &&
        !entry.is_symlink() && entry.is_directory()) {
      found.push_back(entry.path());
    }
  }
  // Names of more than eight digits are longer; equally long ones sort as numbers.
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    const std::string x = a.filename();
    const std::string y = b.filename();
    return x.size() != y.size() ? x.size() > y.size() : x > y;
  });
  return found;
}

fs::path find_checkpoint(const fs::path& checkpoints, const std::string& link) {
  fs::path path = checkpoints / link;
  if (!fs::is_directory(path)) {
    throw CheckpointError(
        fmt::format("{}: there is no such checkpoint; the run has saved none yet", path.string()));
  }
  return path;
}

}  // namespace dsf
