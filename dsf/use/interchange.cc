#include "dsf/use/interchange.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "dsf/base/directory_lock.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/output_file.h"
#include "dsf/data/batcher.h"
#include "dsf/model/model_tensors.h"
#include "dsf/model/safetensors.h"
#include "dsf/run/checkpoint.h"
#include "dsf/run/checkpoint_state.h"
#include "dsf/run/config_file.h"
#include "dsf/run/run_log.h"
#include "dsf/use/interchange_config.h"
#include "dsf/use/onnx_export.h"
#include "dsf/use/stored_model.h"
#include "dsf/use/torch_weights.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";

// A config.json that is there may belong to weights that have been exported before, and are still
// there.
void check_no_other_model(const fs::path& config, const fs::path& weights) {
  if (!fs::is_regular_file(config)) return;
  const auto document = nlohmann::json::parse(read_file(config), nullptr, false);
  if (!document.is_object() || !document.contains("weights")) return;
  if (!document["weights"].is_string()) return;
  const std::string described = document["weights"];
  if (described.empty() || described == weights.filename()) return;
  if (!fs::exists(config.parent_path() / described)) return;
  throw UsageError(
      fmt::format("{} describes {}, exported before, which could not be used without it; choose "
                  "another directory for {}",
                  config.string(), described, weights.filename().string()));
}

InterchangeSummary summary_of(const LanguageModel& model, const fs::path& config, dim_t step) {
  const ModelConfig& shape = model.config();
  return {.config = config,
          .mixer = std::string(name_of(shape.mixer)),
          .layers = shape.layers,
          .hidden = shape.hidden,
          .vocab = model.vocab(),
          .parameters = model.table().parameter_count(),
          .step = step};
}

/// A run about to be made.
struct NewRun {
  RunConfig config;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<LanguageModel> model;
  dim_t step = 0;
  std::uint64_t data_hash = kUnknownText;
};

std::unique_ptr<LanguageModel> make_model(const RunConfig& config, dim_t vocab) {
  return std::make_unique<LanguageModel>(config.model, config.feedback, vocab,
                                         static_cast<std::uint64_t>(config.train.seed));
}

void check_vocab(const Tokenizer& tokenizer, dim_t vocab, const fs::path& file) {
  if (tokenizer.vocab_size() == vocab) return;
  throw DataError(fmt::format("the tokenizer has {} tokens, the model in {} has {}",
                              tokenizer.vocab_size(), file.string(), vocab));
}

NewRun read_export(const ImportRequest& request, const SafetensorsFile& file) {
  const fs::path path = request.file.parent_path() / kConfig;
  if (!fs::is_regular_file(path)) {
    throw UsageError(fmt::format(
        "{} is missing: dsf export writes it; for weights of PyTorch's own say --tokenizer",
        path.string()));
  }
  const InterchangeConfig config = parse_interchange_config(read_file(path), path.string());
  NewRun run;
  run.config = config.run;
  run.step = config.step;
  run.data_hash = config.data_hash;
  run.tokenizer = parse_tokenizer(config.tokenizer.dump(), path.string() + ": tokenizer");
  check_vocab(*run.tokenizer, config.vocab, request.file);
  run.model = make_model(run.config, config.vocab);
  read_torch_weights(file, request.file.string(), *run.model);
  return run;
}

NewRun read_torch(const ImportRequest& request, const SafetensorsFile& file) {
  const TorchModel torch = recognise_torch_model(file, request.file.string());
  NewRun run;
  const bool is_run = fs::is_directory(request.tokenizer);
  run.tokenizer =
      load_tokenizer(is_run ? RunPaths{request.tokenizer}.tokenizer() : request.tokenizer);
  check_vocab(*run.tokenizer, torch.vocab, request.file);
  run.config.model = torch.config;
  run.config.data.tokenizer = run.tokenizer->kind();
  run.config.data.batching = Batching::stream;  // PyTorch's language models read running text
  resolve(run.config);
  run.model = make_model(run.config, torch.vocab);
  fill_from_torch(file, torch, *run.model);
  return run;
}

/// A file that the user names and that holds no model is wrong input, not a damaged run.
NewRun read_model(const ImportRequest& request) {
  try {
    const SafetensorsFile file = SafetensorsFile::read(request.file);
    return request.tokenizer.empty() ? read_export(request, file) : read_torch(request, file);
  } catch (const CheckpointError& error) {
    throw DataError(error.what());
  }
}

void write_run(const NewRun& run, const RunPaths& paths, bool force, const std::string& source) {
  std::optional<DirectoryLock> lock;
  make_run_directory(paths, force, lock);
  run.tokenizer->save(paths.tokenizer());
  // Training can go on: the optimiser and, for streams, the carried states begin anew.
  TrainingState state;
  state.step = run.step;
  state.adam.m.resize(run.model->table().flat_size());
  state.adam.v.resize(run.model->table().flat_size());
  if (run.config.data.batching == Batching::stream) {
    state.carried = run.model->zero_state(run.config.train.batch);
  }
  save_checkpoint(paths.checkpoints(), {fixed_part_hash(run.config), run.data_hash}, state,
                  *run.model, {"last", "best"});
  RunLog::create(paths);
  const nlohmann::ordered_json imported = {{"event", "imported"},
                                           {"step", run.step},
                                           {"from", source},
                                           {"parameters", run.model->table().parameter_count()},
                                           {"vocab", run.model->vocab()},
                                           {"feedback", run.config.feedback.method}};
  replace_file(paths.config(), to_toml(run.config));
  replace_file(paths.log(),
               imported.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

fs::path config_beside(const fs::path& weights) { return weights.parent_path() / kConfig; }

/// Throws UsageError if something is in the way of the files to write.
void check_target(const ExportRequest& request) {
  const fs::path config_path = config_beside(request.out);
  if (request.out == config_path) {
    throw UsageError(
        fmt::format("--out {}: the model's {} is written beside its weights; choose another name",
                    request.out.string(), kConfig));
  }
  check_no_other_model(config_path, request.out);
  check_replaceable(request.out, request.force);
  check_replaceable(config_path, request.force);
}

InterchangeSummary write_export(const StoredModel& stored, const ExportRequest& request) {
  if (request.format == ExportFormat::onnx) check_onnx_export(stored.config.model);
  InterchangeConfig config;
  config.run = stored.config;
  config.run.train.threads = read_run_config(request.run).train.threads;
  config.vocab = stored.tokenizer->vocab_size();
  config.step = stored.step;
  config.data_hash = stored.data_hash;
  config.weights = request.out.filename().string();
  config.tokenizer = nlohmann::json::parse(read_file(RunPaths{request.run}.tokenizer()));
  if (request.out.has_parent_path()) fs::create_directories(request.out.parent_path());
  if (request.format == ExportFormat::onnx) {
    export_onnx(stored, request.out);
  } else {
    write_torch_weights(*stored.model, request.out);
  }
  replace_file(config_beside(request.out), to_json(config));
  return summary_of(*stored.model, config_beside(request.out), stored.step);
}

}  // namespace

std::string torch_name(const std::string& name) {
  static constexpr std::array<const char*, 4> kRecurrent = {".mixer.weight_ih", ".mixer.weight_hh",
                                                            ".mixer.bias_ih", ".mixer.bias_hh"};
  for (const char* end : kRecurrent) {
    if (name.ends_with(end)) return name + "_l0";
  }
  return name;
}

void write_torch_weights(LanguageModel& model, const fs::path& file) {
  std::vector<TensorToWrite> tensors;
  for (const ModelTensor& tensor : model_tensors(model)) {
    tensors.push_back({torch_name(tensor.name), tensor.shape, tensor.values});
  }
  write_beside(file, [&](FileWriter& writer) {
    write_safetensors(tensors, {{"format", "pt"}}, writer);  // what PyTorch's readers look for
  });
}

void read_torch_weights(const SafetensorsFile& file, const std::string& origin,
                        LanguageModel& model) {
  std::size_t known = 0;
  for (const ModelTensor& tensor : model_tensors(model)) {
    const std::string name = torch_name(tensor.name);
    // What is not trained may have got lost on the way; the seed gives it back.
    if (!tensor.trained && !file.has(name)) continue;
    file.require(name, tensor.shape);
    file.copy_to(name, tensor.values);
    ++known;
  }
  if (known == file.tensors().size()) return;
  throw CheckpointError(
      fmt::format("{}: holds {} tensors, the model has {}", origin, file.tensors().size(), known));
}

InterchangeSummary export_model(const ExportRequest& request) {
  check_target(request);
  return write_export(open_stored_model(request.run, request.checkpoint, 0), request);
}

InterchangeSummary export_stored_model(const StoredModel& stored, const ExportRequest& request) {
  check_target(request);
  return write_export(stored, request);
}

InterchangeSummary import_model(const ImportRequest& request) {
  check_free_for_new_run(request.out, request.force);
  if (!fs::is_regular_file(request.file)) {
    throw UsageError(fmt::format("{} is not a file", request.file.string()));
  }
  const NewRun run = read_model(request);
  const RunPaths paths{request.out};
  write_run(run, paths, request.force, fs::absolute(request.file).lexically_normal().string());
  return summary_of(*run.model, paths.config(), run.step);
}

}  // namespace dsf
