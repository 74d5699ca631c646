// dsf tokenizer: train one on a corpus, turn text into token ids and back.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "dsf/base/error.h"
#include "dsf/base/output_file.h"
#include "dsf/data/corpus.h"
#include "dsf/data/tokenizer.h"
#include "dsf/run/run_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  DataConfig data;
  std::string kind = "bpe";
  TokenizerConfig tokenizer;
  std::string out;
  bool force = false;
};

struct UseOptions {
  std::string tokenizer;
  std::string text;
  std::vector<token_t> ids;
  bool json = false;
};

void run_train(const TrainOptions& options) {
  check_output_file(options.out, options.force);
  DataConfig data = options.data;
  TokenizerConfig config = options.tokenizer;
  config.kind = parse_choice<TokenizerKind>("--kind", options.kind);
  data.tokenizer = config.kind;
  data.batching = Batching::stream;   // a text of one line is good enough to learn tokens from
  constexpr std::uint64_t kSeed = 1;  // as `dsf train` has it by default
  const auto tokenizer = build_tokenizer(config, read_corpus(data, kSeed).train);
  tokenizer->save(options.out);
  fmt::print("{} tokenizer, {} tokens -> {}\n", name_of(tokenizer->kind()), tokenizer->vocab_size(),
             options.out);
}

// The file itself, or that of a run.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (!fs::is_directory(name)) return load_tokenizer(name);
  check_is_run(name);
  return load_tokenizer(RunPaths{name}.tokenizer());
}

void run_encode(const UseOptions& options, bool has_text) {
  const auto tokenizer = open_tokenizer(options.tokenizer);
  std::string text = options.text;
  if (!has_text) text.assign(std::istreambuf_iterator<char>(std::cin), {});
  std::vector<token_t> ids;
  // Line by line, because the tokenizer of words would take a line end for a space.
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    tokenizer->encode(rest.substr(0, end), ids);
    if (end < rest.size()) ids.push_back(tokenizer->eos());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  fmt::print("{}\n",
             options.json ? nlohmann::json(ids).dump() : fmt::format("{}", fmt::join(ids, " ")));
}

std::vector<token_t> read_ids() {
  std::vector<token_t> ids;
  for (std::string word; std::cin >> word;) {
    token_t id = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, id);
    if (error != std::errc() || stop != end) {
      throw UsageError(fmt::format("\"{}\" is not a token id; expected whole numbers", word));
    }
    ids.push_back(id);
  }
  return ids;
}

void run_decode(const UseOptions& options, bool has_ids) {
  const auto tokenizer = open_tokenizer(options.tokenizer);
  const std::string text = tokenizer->decode(has_ids ? options.ids : read_ids());
  std::cout.write(text.data(), static_cast<std::streamsize>(text.size()));
  // A file gets the text and nothing else; a person's prompt begins on a line of its own.
  if (isatty(STDOUT_FILENO) == 1 && !text.ends_with('\n')) std::cout.put('\n');
  std::cout.flush();
}

void add_train(CLI::App& tokenizer) {
  const auto options = std::make_shared<TrainOptions>();  // shared with the callback below
  CLI::App* command =
      tokenizer.add_subcommand("train", "build a tokenizer from the training text of a corpus");
  command
      ->add_option("--data", options->data.corpus,
                   "PTB or WikiText directory, or text file(s) separated by commas")
      ->required();
  command->add_option("--out", options->out, "file to write")->required();
  command->add_option("--kind", options->kind, "what a token is")
      ->check(CLI::IsMember(choice_names<TokenizerKind>()))
      ->capture_default_str();
  command->add_option("--vocab", options->tokenizer.vocab,
                      "size of the vocabulary; 0: as many as the text has (bpe: up to 16000)");
  command->add_option("--min-count", options->tokenizer.min_count,
                      "word, char: tokens seen less often become <unk>");
  command->add_flag("--force", options->force, "replace a file that is there");
  command->callback([options] { run_train(*options); });
}

constexpr const char* kTokenizerHelp = "tokenizer file, or the directory of a run";

void add_encode(CLI::App& tokenizer) {
  const auto options = std::make_shared<UseOptions>();  // shared with the callback below
  CLI::App* command = tokenizer.add_subcommand("encode", "text to token ids");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  const CLI::Option* text =
      command->add_option("--text", options->text, "the text; without it, standard input");
  command->add_flag("--json", options->json, "print a JSON list");
  command->callback([options, text] { run_encode(*options, text->count() > 0); });
}

void add_decode(CLI::App& tokenizer) {
  const auto options = std::make_shared<UseOptions>();  // shared with the callback below
  CLI::App* command = tokenizer.add_subcommand("decode", "token ids to text");
  command->add_option("tokenizer", options->tokenizer, kTokenizerHelp)->required();
  const CLI::Option* ids =
      command->add_option("--ids", options->ids, "the ids; without them, standard input");
  command->callback([options, ids] { run_decode(*options, ids->count() > 0); });
}

}  // namespace

void add_tokenizer_command(CLI::App& app) {
  CLI::App* tokenizer = app.add_subcommand("tokenizer", "train a tokenizer, encode, decode");
  tokenizer->require_subcommand(1);
  add_train(*tokenizer);
  add_encode(*tokenizer);
  add_decode(*tokenizer);
}

}  // namespace dsf
