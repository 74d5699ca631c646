#include "dsf/data/synthetic_recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"

namespace dsf {
namespace {

struct Option {
  std::string_view name;
  dim_t RecallConfig::*field;
  dim_t low;
  dim_t high;
};
constexpr std::array<Option, 5> kOptions = {
    {{"gap", &RecallConfig::gap, 1, 10'000},
     {"min_gap", &RecallConfig::min_gap, 1, 10'000},
     {"values", &RecallConfig::values, 2, 10'000},
     {"lines", &RecallConfig::lines, 1, 10'000'000},
     {"eval_lines", &RecallConfig::eval_lines, 1, 10'000'000}}};

const Option& find_option(std::string_view name) {
  const auto* option = std::find_if(kOptions.begin(), kOptions.end(),
                                    [&](const Option& o) { return o.name == name; });
  if (option == kOptions.end()) {
    std::string known;
    for (const Option& o : kOptions)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", o.name);
    throw ConfigError(
        fmt::format("synthetic:recall has no option '{}'; its options are {}", name, known));
  }
  return *option;
}

void set_option(std::string_view assignment, RecallConfig& config) {
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  const Option& option = find_option(assignment.substr(0, equals));
  const std::string_view text = assignment.substr(std::min(equals + 1, assignment.size()));
  dim_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < option.low ||
      value > option.high) {
    throw ConfigError(
        fmt::format("synthetic:recall: {} = '{}', but it must be a whole number from {} to {}",
                    option.name, text, option.low, option.high));
  }
  config.*option.field = value;
}

// P(n) = (1/n) / (1/min_gap + ... + 1/gap), for n = min_gap, ..., gap.
std::vector<double> count_probabilities(const RecallConfig& config) {
  std::vector<double> p;
  for (dim_t n = config.min_gap; n <= config.gap; ++n) p.push_back(1.0 / static_cast<double>(n));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

std::string generate(const RecallConfig& config, dim_t lines, Rng rng) {
  std::vector<double> cumulative = count_probabilities(config);
  std::partial_sum(cumulative.begin(), cumulative.end(), cumulative.begin());
  cumulative.back() = 1.0;  // rounding must not leave a gap above the last
  std::string text;
  auto out = std::back_inserter(text);
  for (dim_t line = 0; line < lines; ++line) {
    const dim_t value = rng.below(config.values);
    const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform());
    fmt::format_to(out, "v{}", value);
    for (dim_t n = config.min_gap + (drawn - cumulative.begin()); n > 0; --n) {
      fmt::format_to(out, " n{}", n);
    }
    fmt::format_to(out, " ask v{}\n", value);
  }
  return text;
}

}  // namespace

RecallConfig parse_recall(std::string_view options) {
  RecallConfig config;
  while (!options.empty()) {
    const std::size_t end = std::min(options.find(','), options.size());
    set_option(options.substr(0, end), config);
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  config.min_gap = std::min(config.min_gap, config.gap);
  return config;
}

CorpusText generate_recall(const RecallConfig& config, std::uint64_t seed) {
  return {generate(config, config.lines, Rng(seed, "recall/train")),
          generate(config, config.eval_lines, Rng(seed, "recall/valid")),
          generate(config, config.eval_lines, Rng(seed, "recall/test"))};
}

RecallBounds recall_bounds(const RecallConfig& config) {
  const double value = std::log(static_cast<double>(config.values));
  double targets = 4.0;  // of a line: value, count, ask, value, <eos>
  double count = 0.0;
  auto n = static_cast<double>(config.min_gap);
  for (const double p : count_probabilities(config)) {
    targets += p * n++;
    count -= p * std::log(p);
  }
  return {(value + count) / targets, (2.0 * value + count) / targets};
}

}  // namespace dsf
