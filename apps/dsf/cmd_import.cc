// dsf import: a run from an exported model, or from PyTorch's own weights.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/dsf/commands.h"
#include "apps/dsf/interchange_summary.h"

namespace dsf {
namespace {

void run_import(const ImportRequest& request) {
  print_summary(import_model(request));
  fmt::print("run {0}; try: dsf generate {0}\n", request.out.string());
}

}  // namespace

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
