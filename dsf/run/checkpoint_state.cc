#include "dsf/run/checkpoint_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/base/json_number.h"

namespace dsf {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::string_view kSealStart = ",\n  \"xxh3\": \"";
constexpr std::string_view kSealEnd = "\"\n}\n";

ordered_json json_of(const LossSum& sum) {
  return {{"loss", sum.loss}, {"tokens", sum.tokens}, {"correct", sum.correct}};
}

LossSum loss_sum_of(const ordered_json& json) {
  return {json.at("loss").get<double>(), count_at(json, "tokens"), count_at(json, "correct")};
}

ordered_json json_of(const LossTrend& trend) {
  return {{"mean", trend.mean}, {"variance", trend.variance}, {"steps", trend.steps}};
}

LossTrend trend_of(const ordered_json& json) {
  return {json.at("mean").get<double>(), json.at("variance").get<double>(),
          count_at(json, "steps")};
}

std::uint64_t hash_of(const ordered_json& json) {
  return std::stoull(json.get<std::string>(), nullptr, 16);
}

ordered_json json_of(const FileSeal& seal) {
  ordered_json json = {{"bytes", seal.bytes}, {"xxh3", to_hex(seal.hash)}};
  if (seal.parts.header_bytes == 0) return json;
  json["header"] = {{"bytes", seal.parts.header_bytes}, {"xxh3", to_hex(seal.parts.header_hash)}};
  ordered_json& tensors = json["tensors"] = ordered_json::object();
  for (const auto& [name, hash] : seal.parts.tensors) tensors[name] = to_hex(hash);
  return json;
}

FileSeal seal_of(const ordered_json& json) {
  FileSeal seal{static_cast<std::uint64_t>(count_at(json, "bytes")), hash_of(json.at("xxh3")), {}};
  if (!json.contains("header")) return seal;
  const ordered_json& header = json.at("header");
  seal.parts.header_bytes = static_cast<std::uint64_t>(count_at(header, "bytes"));
  seal.parts.header_hash = hash_of(header.at("xxh3"));
  for (const auto& [name, hash] : json.at("tensors").items()) {
    seal.parts.tensors[name] = hash_of(hash);
  }
  return seal;
}

// Everything before the seal, checked against it.
std::string_view unsealed(const std::string& text) {
  const std::size_t seal = text.rfind(kSealStart);
  if (seal == std::string::npos) throw CheckpointError("its checksum is missing");
  const std::string_view body = std::string_view(text).substr(0, seal);
  const std::string expected =
      fmt::format("{}{}{}{}", body, kSealStart, to_hex(hash_bytes(body)), kSealEnd);
  if (text != expected) throw CheckpointError("its checksum does not fit");
  return body;
}

CheckpointState state_of(const ordered_json& json) {
  const dim_t format = count_at(json, "format");
  if (format != kFormat) {
    throw CheckpointError(
        fmt::format("format {} is not known; this program reads format {}", format, kFormat));
  }
  CheckpointState state;
  state.identity = {hash_of(json.at("config_hash")), hash_of(json.at("data_hash"))};
  TrainingCounters& counters = state.counters;
  counters.step = count_at(json, "step");
  counters.tokens = count_at(json, "tokens");
  counters.position = {count_at(json, "epoch"), count_at(json, "batch")};
  state.adam_updates = count_at(json, "adam_updates");
  counters.since_log = loss_sum_of(json.at("since_log"));
  counters.since_eval = loss_sum_of(json.at("since_eval"));
  if (!json.at("best_loss").is_null()) counters.best_loss = json.at("best_loss").get<double>();
  counters.best_step = count_at(json, "best_step");
  // Checkpoints of version 0.1.0 have none: the trend begins anew.
  if (json.contains("loss_trend")) counters.trend = trend_of(json.at("loss_trend"));
  for (const auto& [name, seal] : json.at("files").items()) {
    state.files[name] = seal_of(seal);
  }
  return state;
}

}  // namespace

std::string to_json(const CheckpointState& state) {
  const TrainingCounters& counters = state.counters;
  ordered_json files = ordered_json::object();
  for (const auto& [name, seal] : state.files) files[name] = json_of(seal);
  const ordered_json json = {
      {"format", kFormat},
      {"config_hash", to_hex(state.identity.config_hash)},
      {"data_hash", to_hex(state.identity.data_hash)},
      {"step", counters.step},
      {"tokens", counters.tokens},
      {"epoch", counters.position.epoch},
      {"batch", counters.position.batch},
      {"adam_updates", state.adam_updates},
      {"since_log", json_of(counters.since_log)},
      {"since_eval", json_of(counters.since_eval)},
      {"best_loss", counters.best_loss ? ordered_json(*counters.best_loss) : ordered_json()},
      {"best_step", counters.best_step},
      {"loss_trend", json_of(counters.trend)},
      {"files", files}};
  constexpr int kIndent = 2;
  std::string body = json.dump(kIndent);
  body.resize(body.size() - std::string_view("\n}").size());
  return fmt::format("{}{}{}{}", body, kSealStart, to_hex(hash_bytes(body)), kSealEnd);
}

CheckpointState parse_checkpoint_state(const std::string& text, const std::string& origin) {
  try {
    return state_of(ordered_json::parse(std::string(unsealed(text)) + "}"));
  } catch (const std::exception& error) {  // JSON's, stoull's and our own
    throw CheckpointError(fmt::format("{}: {}", origin, error.what()));
  }
}

}  // namespace dsf
