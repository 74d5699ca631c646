#include "apps/dsf/common_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "dsf/kernels/parallel.h"

namespace dsf {

CLI::Validator whole_number(dim_t smallest, dim_t largest) {
  const auto check = [smallest, largest](const std::string& text) {
    dim_t value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= smallest && value <= largest) {
      return std::string();
    }
    return fmt::format("must be a whole number from {} to {}, not {}", smallest, largest, text);
  };
  return {check, ""};
}

CLI::Validator positive_number() {
  const auto check = [](const std::string& text) {
    double value = 0.0;
    if (CLI::detail::lexical_cast(text, value) && value > 0.0) return std::string();
    return fmt::format("must be a number above 0, not {}", text);
  };
  return {check, ""};
}

void add_checkpoint_option(CLI::App& command, std::string& checkpoint) {
  command
      .add_option("--checkpoint", checkpoint,
                  "best or last; without it the best or, if that is damaged, the newest that is "
                  "whole")
      ->check(CLI::IsMember({"best", "last"}));
}

void add_threads_option(CLI::App& command, dim_t& threads) {
  command.add_option("--threads", threads, "0: the CPUs this process may run on")
      ->check(CLI::Range(0, kMostThreads));
}

void add_set_option(CLI::App& command, std::vector<std::string>& settings,
                    const std::string& description) {
  command.add_option("--set", settings, description)
      ->option_text("SECTION.KEY=VALUE")
      ->expected(1)  // a word after it is not its value
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace dsf
