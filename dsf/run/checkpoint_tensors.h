#pragma once

// What the safetensors files of a checkpoint hold: the list of tensors to write, and the way back.
// Reading throws CheckpointError if a file does not fit the model.

#include <vector>

#include "dsf/model/safetensors.h"
#include "dsf/run/training_state.h"

namespace dsf {

/// Parameters by name, and the model's buffers.
std::vector<TensorToWrite> weight_tensors(LanguageModel& model);
/// "m.NAME" and "v.NAME" of every parameter; none before the first update.
std::vector<TensorToWrite> moment_tensors(const ParameterTable& table, const AdamState& adam);
/// "blocks.I.state" of every block; none if no state is carried.
std::vector<TensorToWrite> carried_tensors(const ModelState& carried);

/// Throws if the file does not hold exactly the model's tensors; `origin` is its name.
void check_weights(const SafetensorsFile& file, const std::string& origin, LanguageModel& model);
/// Behind check_weights.
void fill_weights(const SafetensorsFile& file, LanguageModel& model);
void read_moments(const SafetensorsFile& file, const ParameterTable& table, AdamState& adam);
ModelState read_carried(const SafetensorsFile& file);

}  // namespace dsf
