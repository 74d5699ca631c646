#include "dsf/use/model_evaluation.h"

#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "dsf/base/json_text.h"
#include "dsf/data/text_file.h"
#include "dsf/use/long_lines.h"

namespace dsf {
namespace {

Split load_split(const std::filesystem::path& run, const EvaluationRequest& request,
                 const StoredModel& stored) {
  if (request.text) return make_split(*stored.tokenizer, *request.text);
  if (request.file.empty()) return load_dataset_of(run, stored).split(request.split);
  const bool bytes = stored.tokenizer->kind() == TokenizerKind::byte;
  return make_split(*stored.tokenizer,
                    bytes ? read_corpus_file(request.file) : read_text_file(request.file));
}

}  // namespace

Split prepare_evaluation(const std::filesystem::path& run, const EvaluationRequest& request,
                         StoredModel& stored) {
  if (!request.corpus.empty()) stored.config.data.corpus = request.corpus;
  if (request.stream && stored.config.model.mixer == MixerKind::attention) {
    throw UsageError("--stream carries a state through the text; attention has none");
  }
  if (request.stream) {
    stored.config.data.batching = Batching::stream;
    stored.config.train.batch = 1;
  }
  Split split = load_split(run, request, stored);
  warn_of_long_lines(split, stored.config, request.subject());
  return split;
}

std::string to_json(const EvaluationReport& report, const std::string& run,
                    const std::string& subject, const StoredModel& stored) {
  const nlohmann::ordered_json json = {{"run", run},
                                       {"split", subject},
                                       {"checkpoint", stored.checkpoint},
                                       {"step", stored.step},
                                       {"loss", report.loss},
                                       {"perplexity", report.perplexity},
                                       {"tokens", report.sum.tokens},
                                       {"accuracy", report.accuracy},
                                       {"bits_per_token", report.bits_per_token},
                                       {"bits_per_character", report.bits_per_character},
                                       {"bits_per_byte", report.bits_per_byte},
                                       {"unknown_rate", report.unknown_rate}};
  return json_text(json);
}

}  // namespace dsf
