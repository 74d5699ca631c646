// dsf export: a model for PyTorch, or for whatever reads ONNX.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "apps/dsf/interchange_summary.h"

namespace dsf {
namespace {

void run_export(const ExportRequest& request) {
  const InterchangeSummary summary = export_model(request);
  print_summary(summary);
  fmt::print("wrote {} and {}\n", request.out.string(), summary.config.string());
}

}  // namespace

void add_export_command(CLI::App& app) {
  const auto request = std::make_shared<ExportRequest>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "export",
      "a model as safetensors with PyTorch's names or as ONNX, and a config.json beside it");
  command->add_option("run", request->run, "directory of the run")->required();
  command->add_option("--out", request->out, "the file to write")->required()->option_text("FILE");
  command
      ->add_option_function<std::string>(
          "--format",
          [request](const std::string& name) {
            request->format = name == "onnx" ? ExportFormat::onnx : ExportFormat::safetensors;
          },
          "safetensors or onnx; without it safetensors. ONNX (operators of version 17) takes "
          "tokens "
          "[time, batch] and the state, and gives logits and the next state")
      ->check(CLI::IsMember({"safetensors", "onnx"}));
  add_checkpoint_option(*command, request->checkpoint);
  command->add_flag("--force", request->force, "replace files that are there");
  command->callback([request] { run_export(*request); });
}

}  // namespace dsf
