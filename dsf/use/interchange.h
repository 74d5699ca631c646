#pragma once

// Models to and from other programs: F.safetensors with PyTorch's names, shapes and gate order, or an
// ONNX file (dsf/use/onnx_export.h), and a config.json beside it from which a reader can rebuild the
// model (docs/commands.md).

#include <filesystem>
#include <string>

#include "dsf/model/language_model.h"

namespace dsf {

class SafetensorsFile;
struct StoredModel;

/// The name a parameter has in an exported file: a recurrent layer's weight_ih is PyTorch's
/// weight_ih_l0, and so on; all others keep theirs.
std::string torch_name(const std::string& name);

/// All parameters and buffers by torch_name. The file is there when it is whole.
void write_torch_weights(LanguageModel& model, const std::filesystem::path& file);

/// The other way, to the bit. Buffers may be missing, parameters may not, and nothing may be left
/// over: throws CheckpointError, naming `origin`.
void read_torch_weights(const SafetensorsFile& file, const std::string& origin,
                        LanguageModel& model);

enum class ExportFormat { safetensors, onnx };

/// What `dsf export` was asked for.
struct ExportRequest {
  std::filesystem::path run;
  std::string checkpoint;     ///< as open_stored_model takes it
  std::filesystem::path out;  ///< the file with the weights
  ExportFormat format = ExportFormat::safetensors;
  bool force = false;  ///< replace files that are there
};

/// What `dsf import` was asked for.
struct ImportRequest {
  std::filesystem::path file;  ///< an exported file with its config.json, or PyTorch's own weights
  std::filesystem::path out;   ///< the run to make
  /// For PyTorch's own weights: a tokenizer file, or a run that has one. Empty: exported by us.
  std::filesystem::path tokenizer;
  bool force = false;
};

/// What was written or read.
struct InterchangeSummary {
  std::filesystem::path config;  ///< config.json, or the run's config.toml
  std::string mixer;
  dim_t layers = 0;
  dim_t hidden = 0;
  dim_t vocab = 0;
  dim_t parameters = 0;
  dim_t step = 0;
};

/// Throws UsageError where a file is in the way, or the format cannot hold the model.
InterchangeSummary export_model(const ExportRequest& request);
/// The same for a model that is open, out of `request.run`; `request.checkpoint` is not looked at.
InterchangeSummary export_stored_model(const StoredModel& stored, const ExportRequest& request);

/// Makes a run directory that eval, generate, export and train --resume accept (training goes on
/// with a new optimiser state). PyTorch's own weights are those of an embedding, one
/// torch.nn.{RNN,GRU,LSTM} and a linear head. Whatever is wrong with the files is found before
/// anything is written. Throws UsageError, ConfigError, DataError.
InterchangeSummary import_model(const ImportRequest& request);

}  // namespace dsf
