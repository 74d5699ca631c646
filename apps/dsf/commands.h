#pragma once

#include <CLI/App.hpp>

namespace dsf {

/// Every subcommand of the program. A new one is a file cmd_<name>.cc with its add_<name>_command,
/// and one line here and in commands.cc.
void add_commands(CLI::App& app);

void add_train_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_export_command(CLI::App& app);
void add_import_command(CLI::App& app);
void add_runs_command(CLI::App& app);
void add_plot_command(CLI::App& app);
void add_watch_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_gradient_command(CLI::App& app);
void add_demo_command(CLI::App& app);
void add_tokenizer_command(CLI::App& app);
void add_data_command(CLI::App& app);
void add_reproduce_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_man_command(CLI::App& app);

}  // namespace dsf
