// dsf eval: the loss of a trained model on a split of its corpus or on any text.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/interrupt.h"
#include "dsf/base/output_file.h"
#include "dsf/base/utf8.h"
#include "dsf/train/progress.h"
#include "dsf/use/model_evaluation.h"
#include "dsf/use/stored_model.h"

namespace dsf {
namespace {

struct EvalOptions {
  std::string run;
  std::string checkpoint = kAnyCheckpoint;
  EvaluationRequest request;
  std::string per_token;
  bool force = false;
  dim_t threads = 0;
  bool json = false;
};

void print_text(const EvalOptions& options, const StoredModel& stored,
                const EvaluationReport& report) {
  fmt::print("{} ({}, step {}) on {}\n", options.run, stored.checkpoint, stored.step,
             options.request.subject());
  fmt::print("  loss                {:.6f}\n", report.loss);
  fmt::print("  perplexity          {:.4f}\n", report.perplexity);
  fmt::print("  tokens              {}\n", format_count(static_cast<double>(report.sum.tokens)));
  fmt::print("  accuracy            {:.4f}\n", report.accuracy);
  fmt::print("  bits per token      {:.4f}\n", report.bits_per_token);
  fmt::print("  bits per character  {:.4f}\n", report.bits_per_character);
  fmt::print("  bits per byte       {:.4f}\n", report.bits_per_byte);
  if (stored.tokenizer->unk() < 0) return;
  fmt::print("  unknown tokens      {:.2f} %{}\n", 100.0 * report.unknown_rate,
             report.unknown_rate > 0.0 ? " (8 bits a byte of what <unk> hides are counted)" : "");
}

/// `token` as a field of a CSV file; a byte that is not text by itself as \xNN.
std::string csv_field(const Tokenizer& tokenizer, token_t token) {
  const std::string text = token == tokenizer.eos() ? "\\n" : tokenizer.decode({token});
  std::string field = "\"";
  for (const char c : text) {
    if (find_malformed_utf8(text) != std::string_view::npos) {
      field += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    } else {
      field += c == '"' ? "\"\"" : std::string(1, c);
    }
  }
  return field + '"';
}

LossSum write_tokens(const EvalOptions& options, const StoredModel& stored, const Split& split) {
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  LossSum sum;
  const InterruptGuard guard;  // so that no half file stays behind
  write_beside(options.per_token, [&](FileWriter& file) {
    std::string lines = "position,id,token,loss\n";
    dim_t position = 0;
    sum = evaluate_tokens(
        split, stored.config, stored.tokenizer->bos(), *stored.model,
        [&](token_t token, double loss) {
          if (InterruptGuard::signal_seen() != 0) {
            throw InterruptedError("stopped: " + options.per_token + " is as it was");
          }
          lines += fmt::format("{},{},{},{:.6f}\n", position++, token,
                               csv_field(*stored.tokenizer, token), loss);
          if (lines.size() < kPiece) return;
          file.write(lines);
          lines.clear();
        });
    file.write(lines);
  });
  return sum;
}

void run_eval(const EvalOptions& options) {
  if (!options.per_token.empty()) check_output_file(options.per_token, options.force);
  StoredModel stored = open_stored_model(options.run, options.checkpoint, options.threads);
  const Split split = prepare_evaluation(options.run, options.request, stored);
  const LossSum sum =
      options.per_token.empty()
          ? evaluate_split(split, stored.config, stored.tokenizer->bos(), *stored.model)
          : write_tokens(options, stored, split);
  const EvaluationReport report = report_of(sum, split);
  if (options.json) {
    fmt::print("{}\n", to_json(report, options.run, options.request.subject(), stored));
  } else {
    print_text(options, stored, report);
  }
}

}  // namespace

void add_eval_command(CLI::App& app) {
  const auto options = std::make_shared<EvalOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand("eval", "loss and perplexity of a trained model");
  command->add_option("run", options->run, "directory of the run")->required();
  command->add_option("--split", options->request.split, "train, valid or test")
      ->check(CLI::IsMember({"train", "valid", "test"}))
      ->capture_default_str();
  add_checkpoint_option(*command, options->checkpoint);
  command->add_option("--data", options->request.corpus,
                      "the corpus, if it has moved since training");
  command->add_option("--text", options->request.file, "evaluate this text file instead of a split")
      ->option_text("FILE")
      ->excludes("--split")
      ->excludes("--data");
  command->add_flag("--stream", options->request.stream,
                    "one state carried through the whole text, instead of zero at each sequence");
  command
      ->add_option("--per-token", options->per_token,
                   "write the loss of every token that is evaluated, in the text's order")
      ->option_text("CSV");
  command->add_flag("--force", options->force, "replace the file of --per-token");
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options] { run_eval(*options); });
}

}  // namespace dsf
