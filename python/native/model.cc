#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "dsf/data/text_stream.h"
#include "dsf/run/config_json.h"
#include "dsf/use/generation.h"
#include "dsf/use/interchange.h"
#include "dsf/use/model_evaluation.h"
#include "dsf/use/stored_model.h"
#include "python/native/status.h"
#include "python/native/text.h"

struct dsf_model {
  std::string run;
  dsf::StoredModel stored;
  std::mutex turn;  // the model is for one caller at a time
};

struct dsf_generation {
  dsf_generation(dsf_model& of, const dsf::SamplingConfig& sampling, dsf::Rng numbers)
      : model(of),
        session(*of.stored.model, *of.stored.tokenizer, of.stored.config.data),
        sampler(sampling),
        rng(numbers),
        stream(*of.stored.tokenizer) {}

  dsf_model& model;
  dsf::GenerationSession session;
  dsf::Sampler sampler;
  dsf::Rng rng;
  dsf::TextStream stream;
};

namespace dsf::native {
namespace {

/// Calls `work(stored)` when it is this caller's turn.
template <typename Work>
dsf_status in_turn(dsf_model& model, Work&& work) noexcept {
  return guarded([&] {
    const std::lock_guard lock(model.turn);
    work(model.stored);
  });
}

/// Throws UsageError for a token that the model does not know.
void check_tokens(std::span<const token_t> tokens, dim_t vocab) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocab) continue;
    throw UsageError("token " + std::to_string(tokens[i]) + " at position " + std::to_string(i) +
                     " is not in the vocabulary, whose ids are 0 to " + std::to_string(vocab - 1));
  }
}

std::string describe(const dsf_model& model) {
  const StoredModel& stored = model.stored;
  const Tokenizer& tokenizer = *stored.tokenizer;
  const nlohmann::ordered_json json = {
      {"run", model.run},
      {"checkpoint", stored.checkpoint},
      {"step", stored.step},
      {"vocab", tokenizer.vocab_size()},
      {"parameters", stored.model->table().parameter_count()},
      {"tokenizer", name_of(tokenizer.kind())},
      {"bos", tokenizer.bos()},
      {"eos", tokenizer.eos()},
      {"unk", tokenizer.unk()},
      {"first_token", first_token(tokenizer, stored.config.data)},
      {"config", nlohmann::ordered_json::parse(to_json(stored.config))}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// Evaluates with a configuration of its own: that of the model stays as it is.
std::string evaluate(const dsf_evaluation& asked, const std::string& run, StoredModel& stored) {
  struct Restore {
    RunConfig& config;
    RunConfig kept = config;
    ~Restore() { config = kept; }
  } const restore{stored.config};
  EvaluationRequest request;
  request.split = string_of(asked.split);
  request.corpus = string_of(asked.data);
  request.file = string_of(asked.file);
  if (asked.text != nullptr) request.text.emplace(asked.text, asked.text_size);
  request.stream = asked.stream != 0;
  const Split split = prepare_evaluation(run, request, stored);
  const LossSum sum = evaluate_split(split, stored.config, stored.tokenizer->bos(), *stored.model);
  return to_json(report_of(sum, split), run, request.subject(), stored);
}

}  // namespace
}  // namespace dsf::native

using dsf::native::guarded;
using dsf::native::hand_out;
using dsf::native::in_turn;

dsf_status dsf_model_open(const char* run, const char* checkpoint, int64_t threads,
                          dsf_model** model) {
  return guarded([&] {
    *model = new dsf_model{run, dsf::open_stored_model(run, checkpoint, threads), {}};
  });
}

void dsf_model_close(dsf_model* model) { delete model; }

dsf_status dsf_model_describe(dsf_model* model, dsf_text* json) {
  return in_turn(*model, [&](const dsf::StoredModel& /*stored*/) {
    *json = hand_out(dsf::native::describe(*model));
  });
}

dsf_status dsf_model_encode(dsf_model* model, const char* text, size_t size, const int32_t** tokens,
                            int64_t* count) {
  return guarded([&] {
    thread_local std::vector<dsf::token_t> kept;
    kept = dsf::encode_lines(*model->stored.tokenizer, {text, size});
    *tokens = kept.data();
    *count = static_cast<int64_t>(kept.size());
  });
}

dsf_status dsf_model_decode(dsf_model* model, const int32_t* tokens, int64_t count,
                            dsf_text* text) {
  return guarded([&] {
    *text = hand_out(model->stored.tokenizer->decode({tokens, tokens + count}));
  });
}

dsf_status dsf_model_logits(dsf_model* model, const int32_t* tokens, int64_t count, float* logits) {
  return in_turn(*model, [&](dsf::StoredModel& stored) {
    const std::span<const dsf::token_t> given(tokens, static_cast<std::size_t>(count));
    dsf::native::check_tokens(given, stored.model->vocab());
    if (given.empty()) return;
    dsf::TokenBatch batch;
    batch.layout = dsf::PackedLayout::uniform(count, 1);
    batch.inputs.assign(given.begin(), given.end());
    batch.targets.assign(given.size(), 0);
    stored.model->logits(batch, nullptr, {logits, count, stored.model->vocab()});
  });
}

dsf_status dsf_model_export(dsf_model* model, const char* file, int onnx, int force) {
  return in_turn(*model, [&](const dsf::StoredModel& stored) {
    dsf::ExportRequest request;
    request.run = model->run;
    request.out = file;
    request.format = onnx != 0 ? dsf::ExportFormat::onnx : dsf::ExportFormat::safetensors;
    request.force = force != 0;
    dsf::export_stored_model(stored, request);
  });
}

dsf_status dsf_model_evaluate(dsf_model* model, const dsf_evaluation* evaluation, dsf_text* json) {
  return in_turn(*model, [&](dsf::StoredModel& stored) {
    *json = hand_out(dsf::native::evaluate(*evaluation, model->run, stored));
  });
}

int64_t dsf_model_parameter_count(const dsf_model* model) {
  return static_cast<int64_t>(model->stored.model->table().entries().size());
}

dsf_status dsf_model_parameter(dsf_model* model, int64_t index, const char** name, int64_t* shape,
                               const float** data) {
  return guarded([&] {
    const dsf::LanguageModel& of = *model->stored.model;
    const dsf::ParameterInfo& entry = of.table().entries().at(static_cast<std::size_t>(index));
    *name = hand_out(dsf::torch_name(entry.name)).data;
    shape[0] = entry.vector ? entry.id.cols : entry.id.rows;
    shape[1] = entry.vector ? 0 : entry.id.cols;
    *data = of.weights().data() + entry.id.offset;
  });
}

dsf_status dsf_generation_open(dsf_model* model, const char* prompt, size_t size,
                               const dsf_sampling* sampling, dsf_generation** generation) {
  return in_turn(*model, [&](const dsf::StoredModel& /*stored*/) {
    auto made =
        std::make_unique<dsf_generation>(*model,
                                         dsf::SamplingConfig{sampling->temperature, sampling->top_k,
                                                             sampling->top_p, sampling->min_p},
                                         dsf::generation_rng(sampling->seed, 0));
    for (const dsf::token_t token : made->session.read({prompt, size})) made->stream.push(token);
    *generation = made.release();
  });
}

void dsf_generation_close(dsf_generation* generation) { delete generation; }

dsf_status dsf_generation_next(dsf_generation* generation, dsf_text* text) {
  return in_turn(generation->model, [&](const dsf::StoredModel& /*stored*/) {
    const dsf::token_t token = generation->session.next(generation->sampler, generation->rng);
    *text = hand_out(generation->stream.push(token));
  });
}

dsf_status dsf_generation_finish(dsf_generation* generation, dsf_text* text) {
  return guarded([&] { *text = hand_out(generation->stream.finish()); });
}
