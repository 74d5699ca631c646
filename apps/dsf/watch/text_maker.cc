#include "apps/dsf/watch/text_maker.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "dsf/base/error.h"
#include "dsf/run/checkpoint.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr dim_t kMostTokens = 5000;
constexpr double kLongestSeconds = 120.0;
constexpr dim_t kThreads = 1;  // leaves the machine to the training that is being watched

std::string text_of(const std::string& key, const json& value) {
  if (!value.is_string()) throw UsageError(fmt::format("\"{}\" must be a string", key));
  return value.get<std::string>();
}

double number_of(const std::string& key, const json& value) {
  if (!value.is_number()) throw UsageError(fmt::format("\"{}\" must be a number", key));
  return value.get<double>();
}

dim_t whole_number_of(const std::string& key, const json& value, dim_t low, dim_t high) {
  // A number too large for dim_t is unsigned to the parser.
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() ||
                                    value.get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
  if (!fits || value.get<dim_t>() < low || value.get<dim_t>() > high) {
    throw UsageError(fmt::format("\"{}\" must be a whole number from {} to {}", key, low, high));
  }
  return value.get<dim_t>();
}

constexpr dim_t kMostSeed = (dim_t{1} << 53) - 1;  // the largest that JavaScript counts to

}  // namespace

TextRequest parse_text_request(const std::string& body) {
  const json given = json::parse(body, nullptr, false);
  if (!given.is_object()) throw UsageError("the body must be a JSON object");
  TextRequest request;
  using Setter = std::function<void(const std::string&, const json&)>;
  const std::map<std::string, Setter> setters = {
      {"run", [&](const auto& key, const auto& value) { request.run = text_of(key, value); }},
      {"prompt", [&](const auto& key, const auto& value) { request.prompt = text_of(key, value); }},
      {"checkpoint",
       [&](const auto& key, const auto& value) {
         request.checkpoint = text_of(key, value);
         if (request.checkpoint != "best" && request.checkpoint != "last") {
           throw UsageError("\"checkpoint\" must be best or last");
         }
       }},
      {"tokens",
       [&](const auto& key, const auto& value) {
         request.tokens = whole_number_of(key, value, 1, kMostTokens);
       }},
      {"seed",
       [&](const auto& key, const auto& value) {
         request.seed = static_cast<std::uint64_t>(whole_number_of(key, value, 0, kMostSeed));
       }},
      {"top_k",
       [&](const auto& key, const auto& value) {
         request.sampling.top_k = whole_number_of(key, value, 0, kMostSeed);
       }},
      {"temperature",
       [&](const auto& key, const auto& value) {
         request.sampling.temperature = number_of(key, value);
       }},
      {"top_p",
       [&](const auto& key, const auto& value) { request.sampling.top_p = number_of(key, value); }},
      {"min_p",
       [&](const auto& key, const auto& value) { request.sampling.min_p = number_of(key, value); }},
  };
  for (const auto& [key, value] : given.items()) {
    const auto setter = setters.find(key);
    if (setter == setters.end()) throw UsageError(fmt::format("unknown key \"{}\"", key));
    setter->second(key, value);
  }
  check_sampling(request.sampling);
  return request;
}

TextJob::TextJob(TextMaker& maker, const StoredModel& stored, const TextRequest& request)
    : maker_(maker),
      request_(request),
      session_(*stored.model, *stored.tokenizer, stored.config.data),
      sampler_(request.sampling),
      stream_(*stored.tokenizer),
      // The stream of numbers of `dsf generate`: the same seed, the same text.
      rng_(request.seed, "generate/0") {}

TextJob::~TextJob() { maker_.busy_ = false; }

std::optional<std::string> TextJob::next() {
  if (ended_) return std::nullopt;
  if (made_ < 0) {
    std::string text;
    for (const token_t token : session_.read(request_.prompt)) text += stream_.push(token);
    made_ = 0;
    return text;
  }
  if (made_ == request_.tokens || since_start_.seconds() > kLongestSeconds) {
    ended_ = true;
    return stream_.finish();
  }
  made_ += 1;
  return stream_.push(session_.next(sampler_, rng_));
}

const StoredModel& TextMaker::model_of(const fs::path& root, const std::string& checkpoint) {
  const fs::path directory =
      fs::canonical(find_checkpoint(RunPaths{root}.checkpoints(), checkpoint));
  // The time, because a run begun anew has checkpoints of the same names.
  const fs::file_time_type time = fs::last_write_time(directory);
  if (!stored_ || directory != opened_ || time != opened_time_) {
    stored_.reset();  // not two models at a time
    stored_ = open_stored_model(root, checkpoint, kThreads);
    opened_ = directory;
    opened_time_ = time;
  }
  return *stored_;
}

std::unique_ptr<TextJob> TextMaker::start(const fs::path& root, const TextRequest& request) {
  if (busy_.exchange(true)) {
    throw UsageError("another text is being made; wait for it, or stop it");
  }
  try {
    return std::make_unique<TextJob>(*this, model_of(root, request.checkpoint), request);
  } catch (...) {
    busy_ = false;
    throw;
  }
}

}  // namespace dsf
