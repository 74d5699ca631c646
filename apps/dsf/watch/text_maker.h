#pragma once

// Text from a run, for the watch page: asked for as JSON, made token by token.

#include <atomic>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "dsf/base/timer.h"
#include "dsf/data/text_stream.h"
#include "dsf/use/generation.h"
#include "dsf/use/stored_model.h"

namespace dsf {

struct TextRequest {
  std::string run;  ///< a name of the RunBoard
  std::string prompt;
  std::string checkpoint = "best";
  SamplingConfig sampling;
  dim_t tokens = 200;
  std::uint64_t seed = 1;
};

/// From the body of a request. Throws UsageError: no JSON object, an unknown key, a value of the
/// wrong type or out of range.
TextRequest parse_text_request(const std::string& body);

class TextMaker;

/// One text on its way; the maker is busy as long as it lives.
class TextJob {
 public:
  TextJob(TextMaker& maker, const StoredModel& stored, const TextRequest& request);
  ~TextJob();
  TextJob(const TextJob&) = delete;
  TextJob& operator=(const TextJob&) = delete;

  /// The text that the next token adds, which may be empty; the prompt, as the model reads it,
  /// comes first. Nothing when all is said, or time is up.
  std::optional<std::string> next();

 private:
  TextMaker& maker_;
  TextRequest request_;
  GenerationSession session_;
  Sampler sampler_;
  TextStream stream_;
  Rng rng_;
  Timer since_start_;
  dim_t made_ = -1;  // tokens; -1: the prompt is not told yet
  bool ended_ = false;
};

/// Makes one text at a time and keeps the model of the last one, which is often the next one's.
class TextMaker {
 public:
  /// Throws UsageError if another text is being made, and as open_stored_model.
  std::unique_ptr<TextJob> start(const std::filesystem::path& root, const TextRequest& request);

 private:
  friend class TextJob;
  const StoredModel& model_of(const std::filesystem::path& root, const std::string& checkpoint);

  std::atomic<bool> busy_ = false;
  std::filesystem::path opened_;  // the checkpoint behind stored_, and its time
  std::filesystem::file_time_type opened_time_;
  std::optional<StoredModel> stored_;
};

}  // namespace dsf
