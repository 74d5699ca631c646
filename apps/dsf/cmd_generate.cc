// dsf generate: text out of a trained model, shown as it is made.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "apps/dsf/line_reader.h"
#include "dsf/base/error.h"
#include "dsf/base/interrupt.h"
#include "dsf/data/text_stream.h"
#include "dsf/use/generation.h"
#include "dsf/use/stored_model.h"

namespace dsf {
namespace {

struct GenerateOptions {
  std::string run;
  std::string prompt;
  std::string checkpoint = kAnyCheckpoint;
  SamplingConfig sampling;
  dim_t tokens = 200;
  dim_t count = 1;
  std::uint64_t seed = 1;
  dim_t threads = 0;
  bool interactive = false;
  bool json = false;
};

/// Text of a person's or a file's last line has a line end that is not meant as text.
std::string prompt_of(const GenerateOptions& options) {
  if (options.prompt != "-") return options.prompt;
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void show(std::string_view text) {
  if (text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw IoError("cannot write to standard output");
  }
}

struct Generated {
  std::string text;  ///< the prompt as the model reads it, and what follows
  dim_t tokens = 0;  ///< that were drawn
};

/// One text. Shown on the way, unless `silent`.
Generated generate_text(const GenerateOptions& options, const StoredModel& stored,
                        const std::string& prompt, Rng& rng, bool silent) {
  GenerationSession session(*stored.model, *stored.tokenizer, stored.config.data);
  Sampler sampler(options.sampling);
  TextStream stream(*stored.tokenizer);
  Generated made;
  const auto add = [&](const std::string& piece) {
    made.text += piece;
    if (!silent) show(piece);
  };
  for (const token_t token : session.read(prompt)) add(stream.push(token));
  while (made.tokens < options.tokens && InterruptGuard::signal_seen() == 0) {
    add(stream.push(session.next(sampler, rng)));
    ++made.tokens;
  }
  add(stream.finish());
  return made;
}

void generate_all(const GenerateOptions& options, const StoredModel& stored) {
  const std::string prompt = prompt_of(options);
  const InterruptGuard guard;
  for (dim_t i = 0; i < options.count && InterruptGuard::signal_seen() == 0; ++i) {
    Rng rng = generation_rng(options.seed, i);
    if (!options.json && options.count > 1) {
      show(fmt::format("{}--- {} of {} ---\n", i > 0 ? "\n" : "", i + 1, options.count));
    }
    const Generated made = generate_text(options, stored, prompt, rng, options.json);
    if (options.json) {
      const nlohmann::ordered_json json = {{"text", made.text},
                                           {"tokens", made.tokens},
                                           {"seed", options.seed},
                                           {"number", i + 1},
                                           {"complete", made.tokens == options.tokens}};
      show(json.dump() + "\n");
    } else if (!made.text.ends_with('\n')) {
      show("\n");
    }
  }
}

/// The model ends the line that the person began. Returns its last token.
token_t end_line(const GenerateOptions& options, const Tokenizer& tokenizer, Sampler& sampler,
                 Rng& rng, TextStream& stream, GenerationSession& session) {
  token_t token = -1;
  for (dim_t i = 0; i < options.tokens && InterruptGuard::signal_seen() == 0; ++i) {
    token = session.next(sampler, rng);
    if (token == tokenizer.eos()) break;
    show(stream.push(token));
  }
  show(stream.finish() + "\n");
  return token;
}

void converse(const GenerateOptions& options, const StoredModel& stored) {
  const Tokenizer& tokenizer = *stored.tokenizer;
  GenerationSession session(*stored.model, tokenizer, stored.config.data,
                            GenerationSession::AtSentenceEnd::remember);
  Sampler sampler(options.sampling);
  Rng rng = generation_rng(options.seed, 0);
  LineReader lines;
  token_t last = tokenizer.eos();
  if (!options.prompt.empty()) {
    session.read(options.prompt + "\n");
  }
  while (true) {
    // A guard a line: Ctrl-C ends the line being generated, or, while waiting, the conversation.
    const InterruptGuard guard;
    if (lines.is_terminal()) show("> ");
    const std::optional<std::string> line = lines.next(InterruptGuard::signal_seen);
    if (!line) break;
    if (last != tokenizer.eos()) session.read(tokenizer.eos());
    TextStream stream(tokenizer);
    for (const token_t token : session.read(*line)) show(stream.push(token));
    last = end_line(options, tokenizer, sampler, rng, stream, session);
    if (InterruptGuard::signal_seen() == SIGTERM) break;
  }
  if (lines.is_terminal()) show("\n");
}

void run_generate(const GenerateOptions& options) {
  check_sampling(options.sampling);
  if (options.interactive && options.prompt == "-") {
    throw UsageError("--interactive reads standard input line by line: --prompt - cannot too");
  }
  if (options.interactive && (options.json || options.count != 1)) {
    throw UsageError("--interactive goes neither with --json nor with --count");
  }
  const StoredModel stored = open_stored_model(options.run, options.checkpoint, options.threads);
  if (options.interactive) {
    converse(options, stored);
  } else {
    generate_all(options, stored);
  }
}

}  // namespace

void add_generate_command(CLI::App& app) {
  const auto options = std::make_shared<GenerateOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("generate", "text from a trained model");
  command->add_option("run", options->run, "directory of the run")->required();
  command->add_option("--prompt", options->prompt, "text to go on from; -: standard input")
      ->option_text("TEXT");
  command->add_option("--tokens", options->tokens, "how many to generate (interactive: at most)")
      ->check(whole_number(0))
      ->capture_default_str();
  command
      ->add_option("--temperature", options->sampling.temperature,
                   "below 1: nearer to the most probable; 0: always the most probable")
      ->capture_default_str();
  command->add_option("--top-k", options->sampling.top_k, "of the K most probable; 0: of all")
      ->capture_default_str();
  command->add_option("--top-p", options->sampling.top_p, "of the most probable that sum to P")
      ->capture_default_str();
  command
      ->add_option("--min-p", options->sampling.min_p,
                   "of those at least P times as probable as the most probable")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "the same seed gives the same text")
      ->check(whole_number(0, std::numeric_limits<dim_t>::max()))
      ->capture_default_str();
  command->add_option("--count", options->count, "texts from the same prompt")
      ->check(whole_number(1))
      ->capture_default_str();
  add_checkpoint_option(*command, options->checkpoint);
  add_threads_option(*command, options->threads);
  command->add_flag("--interactive", options->interactive,
                    "read lines, end each of them; the state is kept from line to line");
  command->add_flag("--json", options->json, "print one JSON object a text");
  command->callback([options] { run_generate(*options); });
}

}  // namespace dsf
