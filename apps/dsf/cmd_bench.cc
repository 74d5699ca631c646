// dsf bench: how fast this machine trains, against what it could do at best and against its peers.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/dsf/commands.h"
#include "apps/dsf/common_options.h"
#include "apps/dsf/ranks.h"
#include "dsf/base/error.h"
#include "dsf/dist/launch.h"
#include "dsf/dist/single_process.h"
#include "dsf/kernels/parallel.h"
#include "lab/bench/epoch.h"
#include "lab/bench/layer.h"
#include "lab/bench/length.h"
#include "lab/bench/scale.h"
#include "lab/bench/scan.h"
#include "lab/bench/step.h"

namespace dsf {
namespace {

// Of sequences, steps and units, so that no product of them leaves 64 bits.
constexpr dim_t kMostOfABench = 100'000;

struct CommandOptions {
  std::string benchmark = "step";
  BenchOptions bench;
  std::vector<std::string> precisions;
  std::string lengths;
  dim_t threads = 0;
  bool json = false;
  Communicator* ranks = &single_process();  // scale
  double speedup = 1.0;                     // scale
};

struct Benchmark {
  std::string name;
  BenchReport (*run)(const CommandOptions& given, const BenchOptions& options);
  std::vector<std::string> not_for_it;  // options that mean nothing to it
};

BenchReport run_epoch(const CommandOptions& given, const BenchOptions& options) {
  constexpr dim_t kSentences = 2048;
  return bench_epoch(given.lengths.empty() ? draw_sentence_lengths(kSentences)
                                           : read_sentence_lengths(given.lengths),
                     options);
}

const std::vector<Benchmark>& benchmarks() {
  using Given = CommandOptions;
  using Options = BenchOptions;
  static const std::vector<Benchmark> all = {
      {"step",
       [](const Given&, const Options& options) { return bench_step(options); },
       {"--speedup", "--hidden", "--tokens", "--lengths"}},
      {"layer",
       [](const Given&, const Options& options) { return bench_layer(options); },
       {"--speedup", "--tokens", "--profile", "--lengths"}},
      {"scan",
       [](const Given&, const Options& options) { return bench_scan(options); },
       {"--speedup", "--precision", "--method", "--batch", "--profile", "--lengths"}},
      {"length",
       [](const Given&, const Options& options) { return bench_length(options); },
       {"--speedup", "--batch", "--hidden", "--profile", "--lengths"}},
      {"epoch", run_epoch, {"--speedup", "--steps", "--hidden", "--tokens", "--profile"}},
      {"scale",
       [](const Given& given, const Options& options) {
         return bench_scale(options, *given.ranks, given.speedup);
       },
       {"--method", "--hidden", "--tokens", "--profile", "--lengths"}}};
  return all;
}

void run_bench(const CLI::App& command, const CommandOptions& given) {
  const auto benchmark = std::find_if(benchmarks().begin(), benchmarks().end(),
                                      [&](auto& b) { return b.name == given.benchmark; });
  for (const std::string& option : benchmark->not_for_it) {
    if (command.count(option) == 0) continue;
    throw UsageError(
        fmt::format("dsf bench {} has no option {}; --help tells which benchmark "
                    "knows it",
                    benchmark->name, option));
  }
  BenchOptions options = given.bench;
  for (const std::string& name : given.precisions) {
    options.precisions.push_back(name == "f32" ? Precision::f32 : Precision::bf16);
  }
  set_thread_count(given.threads > 0 ? static_cast<int>(given.threads)
                                     : threads_per_rank(*given.ranks));
  const nlohmann::ordered_json machine = describe_machine();
  const BenchReport report = benchmark->run(given, options);
  if (!given.ranks->leads()) return;
  if (given.json) {
    const nlohmann::ordered_json json = {{"machine", machine}, {"results", report.results}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}, {} threads, bf16 {}\n", machine["cpu"].get<std::string>(), thread_count(),
             machine["bf16_native"].get<bool>() ? "with " + machine["bf16"].get<std::string>()
                                                : "emulated in f32");
  for (const Table& table : report.tables) fmt::print("\n{}", table.to_text());
}

/// A list: --name a,b or --name a --name b.
template <typename T>
CLI::Option* add_list(CLI::App& command, const char* name, std::vector<T>& values,
                      const char* help) {
  return command.add_option(name, values, help)->delimiter(',')->allow_extra_args(false);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  const auto options = std::make_shared<CommandOptions>();  // shared with the callback below
  CLI::App* command = app.add_subcommand(
      "bench",
      "how fast this machine trains\n"
      "  step    a whole training step by each method, beside the time of its GEMMs alone\n"
      "  layer   one recurrent layer of each kind, against oneDNN's recurrent primitives\n"
      "  scan    the forms of the diagonal scan, beside a STREAM triad\n"
      "  length  what a token costs in sequences of growing length\n"
      "  epoch   training over sentences of unequal length, packed without padding\n"
      "  scale   a step by several ranks (under mpirun), and modelled on clusters");
  std::vector<std::string> names;
  for (const Benchmark& benchmark : benchmarks()) names.push_back(benchmark.name);
  BenchOptions& bench = options->bench;
  command->add_option("benchmark", options->benchmark, "which one")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  add_list(*command, "--only", bench.only,
           "step, length, epoch, scale: ptb_3L256, wikitext_3L512; layer: rnn, gru, "
           "gru_reset_before, lstm; "
           "scan: serial, blocked, fft");
  add_list(*command, "--precision", options->precisions, "f32, bf16; not for scan")
      ->check(CLI::IsMember({"f32", "bf16"}));
  add_list(*command, "--method", bench.methods,
           "bptt, ft, dsf; layer: any feedback; not for scan, scale");
  add_list(*command, "--batch", bench.batch,
           "sequences of a batch: step, layer, epoch, scale (of each rank)")
      ->check(whole_number(1, kMostOfABench));
  add_list(*command, "--steps", bench.steps, "tokens of a sequence")
      ->check(whole_number(1, kMostOfABench));
  add_list(*command, "--hidden", bench.hidden, "hidden units: layer, scan")
      ->check(whole_number(1, kMostOfABench));
  command->add_option("--tokens", bench.tokens, "tokens of a batch: scan, length")
      ->check(whole_number(1));
  command->add_option("--lengths", options->lengths,
                      "epoch: file with the tokens of a sentence on each line");
  command
      ->add_option("--speedup", options->speedup,
                   "scale: model ranks that compute so many times as fast as this one")
      ->check(positive_number())
      ->capture_default_str();
  command->add_flag("--profile", bench.profile, "step: every GEMM by itself as well");
  command->add_option("--seconds", bench.seconds, "about how long it may take")
      ->check(positive_number())
      ->capture_default_str();
  add_threads_option(*command, options->threads);
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([command, options] {
    if (options->benchmark != "scale") return run_bench(*command, *options);
    with_ranks([&](Communicator& ranks) {
      options->ranks = &ranks;
      run_bench(*command, *options);
    });
  });
}

}  // namespace dsf
