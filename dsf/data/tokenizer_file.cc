#include "dsf/data/tokenizer_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "dsf/base/base64.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/foreign_json.h"

namespace dsf {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "dsf-tokenizer";
constexpr int kVersion = 1;

StoredTokenizer from_json(const json& document) {
  if (document.at("format") != kFormat) throw DataError(fmt::format("format is not {}", kFormat));
  if (document.at("version") != kVersion) {
    throw DataError(fmt::format("version {}; this program reads version {}",
                                document.at("version").dump(), kVersion));
  }
  const auto name = document.at("kind").get<std::string>();
  const auto kind = choice_named<TokenizerKind>(name);
  if (!kind) {
    throw DataError(fmt::format("a tokenizer of kind \"{}\"; known: {}", name,
                                fmt::join(choice_names<TokenizerKind>(), ", ")));
  }
  const auto model = from_base64(document.value("model", ""));
  if (!model) throw DataError("\"model\" is not base64");
  return {*kind, document.at("tokens").get<std::vector<std::string>>(), *model};
}

}  // namespace

std::string tokenizer_text(const StoredTokenizer& tokenizer) {
  json document = {{"format", kFormat},
                   {"version", kVersion},
                   {"kind", name_of(tokenizer.kind)},
                   {"tokens", tokenizer.tokens}};
  if (!tokenizer.model.empty()) document["model"] = to_base64(tokenizer.model);
  return document.dump(1) + '\n';
}

void write_tokenizer_file(const StoredTokenizer& tokenizer, const std::filesystem::path& file) {
  replace_file(file, tokenizer_text(tokenizer));
}

StoredTokenizer parse_tokenizer_file(std::string_view text, const std::string& origin) {
  try {
    return from_json(parse_foreign_json(text));
  } catch (const json::exception& error) {
    throw DataError(fmt::format("{}: not a tokenizer file: {}", origin, error.what()));
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: not a tokenizer file: {}", origin, error.what()));
  }
}

}  // namespace dsf
