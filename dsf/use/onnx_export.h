#pragma once

// A model as an ONNX file, for onnxruntime and everything else that reads the format.
//
//   inputs   tokens      int64 [time, batch]
//            state       float [layers, batch, S]      zeros at the beginning of a text
//   outputs  logits      float [time, batch, V]
//            next_state  float [layers, batch, S]      `state` of the next call
//
// time and batch may differ from call to call. S is D; 2D for the LSTM, whose state is [h, c]. The
// weights are in f32, whatever precision the model was trained in. docs/python.md has an example.

#include <filesystem>

#include "dsf/use/stored_model.h"

namespace dsf {

/// Throws UsageError with the reason if a model of this mixer (rnn, gru, lstm, ...) cannot be
/// exported as ONNX, or if this build of dsf has no ONNX.
void check_onnx_export(const ModelConfig& config);

/// Writes the model, without its tokenizer; the file is there when it is whole, and replaces one of
/// its name. Throws as check_onnx_export does, and if the weights exceed the 2 GB of the format.
void export_onnx(const StoredModel& stored, const std::filesystem::path& file);

}  // namespace dsf
