// dsf export, dsf import: models to and from PyTorch.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "dsf/train/interchange.h"
#include "dsf/train/progress.h"

namespace dsf {
namespace {

void print_summary(const InterchangeSummary& summary) {
  fmt::print("{} layer{} of {} {} units, vocabulary {}: {} parameters, step {}\n", summary.layers,
             summary.layers == 1 ? "" : "s", summary.hidden, summary.mixer, summary.vocab,
             format_count(static_cast<double>(summary.parameters)), summary.step);
}

void run_export(const ExportRequest& request) {
  const InterchangeSummary summary = export_model(request);
  print_summary(summary);
  fmt::print("wrote {} and {}\n", request.out.string(), summary.config.string());
}

void run_import(const ImportRequest& request) {
  print_summary(import_model(request));
  fmt::print("run {0}; try: dsf generate {0}\n", request.out.string());
}

}  // namespace

void add_export_command(CLI::App& app) {
  const auto request = std::make_shared<ExportRequest>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "export", "a model as safetensors with PyTorch's names, and a config.json beside it");
  command->add_option("run", request->run, "directory of the run")->required();
  command->add_option("--out", request->out, "the file to write")
      ->required()
      ->option_text("F.safetensors");
  command
      ->add_option("--checkpoint", request->checkpoint,
                   "best or last; without it the best or, where that is damaged, the newest "
                   "that is whole")
      ->check(CLI::IsMember({"best", "last"}));
  command->add_flag("--force", request->force, "replace files that are there");
  command->callback([request] { run_export(*request); });
}

void add_import_command(CLI::App& app) {
  const auto request = std::make_shared<ImportRequest>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "import", "a run directory from an exported model, or from PyTorch's own weights");
  command->add_option("file", request->file, "safetensors file")->required();
  command->add_option("--out", request->out, "directory of the run to make")
      ->required()
      ->option_text("RUN");
  command
      ->add_option("--tokenizer", request->tokenizer,
                   "for an embedding, torch.nn.RNN, GRU or LSTM, and linear head without our "
                   "config.json: a tokenizer file, or a run that has it")
      ->option_text("FILE|RUN");
  command->add_flag("--force", request->force, "replace the run in --out");
  command->callback([request] { run_import(*request); });
}

}  // namespace dsf
