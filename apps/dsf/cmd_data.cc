// dsf data check: what a corpus is made of, before anything is trained on it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "dsf/base/json_text.h"
#include "dsf/data/corpus_report.h"
#include "lab/report/table.h"

namespace dsf {
namespace {

struct CheckOptions {
  std::string corpus;
  std::string valid;
  std::string test;
  bool json = false;
};

nlohmann::ordered_json to_json(const SplitReport& split) {
  return {{"split", split.name},
          {"bytes", split.bytes},
          {"characters", split.characters},
          {"lines", split.lines},
          {"blank_lines", split.blank_lines},
          {"documents", split.documents},
          {"tokens", split.tokens},
          {"types", split.types},
          {"unknown", split.unknown},
          {"unseen", split.unseen}};
}

Table to_table(const std::vector<SplitReport>& splits) {
  Table table({"split", "documents", "lines", "blank", "tokens", "types", "<unk>", "not in train",
               "characters", "bytes"});
  for (const SplitReport& s : splits) {
    std::vector<std::string> cells = {s.name};
    for (const dim_t count : {s.documents, s.lines, s.blank_lines, s.tokens, s.types, s.unknown,
                              s.unseen, s.characters, s.bytes}) {
      cells.push_back(fmt::format("{}", count));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

void run_check(const CheckOptions& options) {
  DataConfig config;
  config.corpus = options.corpus;
  config.valid = options.valid;
  config.test = options.test;
  config.batching = Batching::stream;  // a text of one line can be looked at too
  constexpr std::uint64_t kSeed = 1;   // as `dsf train` has it by default
  const std::vector<SplitReport> splits = describe_corpus(read_corpus(config, kSeed));
  if (!options.json) {
    fmt::print("{}", to_table(splits).to_text());
    return;
  }
  nlohmann::ordered_json json = {{"corpus", options.corpus},
                                 {"splits", nlohmann::ordered_json::array()}};
  for (const SplitReport& split : splits) json["splits"].push_back(to_json(split));
  fmt::print("{}\n", json_text(json));
}

}  // namespace

void add_data_command(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();  // shared with the callback below
  CLI::App* data = app.add_subcommand("data", "look at a corpus");
  data->require_subcommand(1);
  CLI::App* check = data->add_subcommand(
      "check", "splits of a corpus: documents, lines, words, different words, bytes");
  check
      ->add_option("corpus", options->corpus,
                   "PTB or WikiText directory, text file(s) separated by commas, or "
                   "synthetic:recall")
      ->required();
  check->add_option("--valid", options->valid, "validation file, for a corpus that is a file");
  check->add_option("--test", options->test, "test file, for a corpus that is a file");
  check->add_flag("--json", options->json, "print one JSON object");
  check->callback([options] { run_check(*options); });
}

}  // namespace dsf
