#include "apps/dsf/commands.h"

namespace dsf {

void add_commands(CLI::App& app) {
  add_train_command(app);
  add_eval_command(app);
  add_generate_command(app);
  add_export_command(app);
  add_import_command(app);
  add_runs_command(app);
  add_plot_command(app);
  add_watch_command(app);
  add_bench_command(app);
  add_info_command(app);
  add_gradient_command(app);
  add_demo_command(app);
  add_tokenizer_command(app);
  add_data_command(app);
  add_reproduce_command(app);
  add_completion_command(app);
  add_man_command(app);
}

}  // namespace dsf
