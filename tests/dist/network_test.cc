// Ranks that can reach each other over a slow network only.

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "dsf/dist/launch.h"
#include "dsf/dist/single_process.h"
#include "dsf/kernels/parallel.h"
#include "dsf/train/gradient_sync.h"
#include "lab/bench/scale.h"
#include "tests/support/ranks.h"
#include "tests/support/slow_wire.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using nlohmann::json;

/// Milliseconds that nothing hides, the least over the steps of a measurement: other work on the
/// machine makes a rank wait for the other, and can only add to it.
struct Exposed {
  double overlapped = 0.0;
  double plain = 0.0;
};

/// mpirun with one rank at each end of the wire. It starts the far one through an agent, in place
/// of ssh.
std::vector<std::string> over(const SlowWire& wire, const std::string& agent,
                              const std::vector<std::string>& command) {
  std::ofstream(agent) << "#!/bin/sh\nshift\nexec ip netns exec " << wire.far_space()
                       << " unshare --uts sh -c \"hostname " << wire.far_space() << "; $*\"\n";
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  const std::string hosts = std::string(SlowWire::kNearAddress) + "," + SlowWire::kFarAddress;
  std::vector<std::string> words = {"ip", "netns", "exec", wire.near_space()};
  for (const std::string& word : on_ranks(2, {"--host", hosts})) words.push_back(word);
  const auto set = [&](const char* key, const std::string& value) {
    words.insert(words.end(), {"--mca", key, value});
  };
  set("plm_rsh_agent", agent);
  set("btl", "tcp,self");
  set("btl_tcp_if_include", SlowWire::kNetwork);
  set("oob_tcp_if_include", SlowWire::kNetwork);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

/// Inside the ranks, rank 0 leaves its figures in the file that this variable names.
constexpr const char* kReportVariable = "DSF_NETWORK_REPORT";

void leave(const Communicator& ranks, const Exposed& exposed) {
  if (!ranks.leads()) return;
  const json report = {{"overlapped", exposed.overlapped},
                       {"plain", exposed.plain},
                       {"ranks_per_machine", ranks.local_ranks()}};
  std::ofstream(std::getenv(kReportVariable)) << report.dump();
}

/// Runs the current test at both ends of a wire of this speed; at least `bytes` must go through it.
void measure_over(const WireSpeed& speed, double bytes, Exposed& exposed) {
  SlowWire wire(speed);
  const TempDirectory directory;
  const std::string prefix = directory / "log";
  const std::string report = directory / "report.json";
  ::setenv(kReportVariable, report.c_str(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const std::string filter =
      std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const int code = wait_for(start_program(
      over(wire, directory / "agent", {"-x", kReportVariable, self, filter}), prefix));
  ASSERT_EQ(code, 0) << slurp(prefix + ".out") << slurp(prefix + ".err");
  EXPECT_GT(static_cast<double>(wire.bytes()), bytes) << "the wire was not used";
  const json results = json::parse(slurp(report));
  EXPECT_EQ(results["ranks_per_machine"], 1);
  exposed = {results["overlapped"], results["plain"]};
  std::cout << "exposed " << exposed.overlapped << " ms, without overlap " << exposed.plain
            << " ms\n";
}

constexpr double kMostExposed = 0.3;
constexpr std::chrono::microseconds kDelay{500};

// --- a backward pass that only takes its time ----------------------------------------------------

constexpr dim_t kFlat = 1'800'000;
constexpr int kLayers = 10;
constexpr int kSteps = 3;
constexpr double kBytesPerSecond = 18e6;

/// Milliseconds of waiting after the last layer. The layers sleep in place of computing, so that
/// the figure does not depend on what else the machine does: what must work is that the buckets
/// travel without any help of the thread that trains.
double exposed_in_paced_steps(Communicator& ranks, bool overlap, double backward_ms) {
  GradientSync sync(ranks, kFlat, {.overlap = overlap});
  std::vector<float> gradients(kFlat, 1.0F);
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    ranks.barrier();
    const double before = sync.exposed_seconds();
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(backward_ms / kLayers));
      sync.ready(gradients, kFlat * layer / kLayers);
    }
    sync.finish();
    least = std::min(least, (sync.exposed_seconds() - before) * 1e3);
  }
  return least;
}

TEST(Network, GradientsTravelBehindTheBackwardPass) {
  DSF_NEEDS_RANKS();
  if (launched_processes() > 1) {
    const std::unique_ptr<Communicator> ranks = join_ranks();
    double plain = exposed_in_paced_steps(*ranks, false, 10.0);
    ranks->broadcast(std::as_writable_bytes(std::span<double>(&plain, 1)));
    // Long enough to hide all but the last bucket, whatever the gradients take here.
    leave(*ranks, {exposed_in_paced_steps(*ranks, true, 2.0 * plain), plain});
    return;
  }
  if (const std::string why = SlowWire::why_not(); !why.empty()) GTEST_SKIP() << why;
  // Each rank sends as many bytes as the gradient has, half of them to have them summed and half as
  // sums.
  constexpr double kBytes = kFlat * sizeof(float);
  Exposed exposed;
  ASSERT_NO_FATAL_FAILURE(measure_over({kBytesPerSecond, kDelay}, 4 * kSteps * kBytes, exposed));
  EXPECT_GT(exposed.plain, 1e3 * kBytes / kBytesPerSecond) << "faster than the wire";
  EXPECT_LT(exposed.overlapped, kMostExposed * exposed.plain);
}

// --- a real one ----------------------------------------------------------------------------------

// Most of the model in its blocks: the embedding's gradient comes last and nothing can hide it.
// Steps long enough that waking up a thread, on a machine without an idle CPU, is little beside
// them.
StepConfig deep_model() {
  StepConfig config;
  config.name = "deep";
  config.model.hidden = 192;
  config.model.layers = 8;
  config.vocab = 200;
  config.batch = 128;
  config.steps = 16;
  return config;
}

BenchReport measure(Communicator& ranks) {
  set_thread_count(1);
  BenchOptions options;
  options.seconds = 24.0;
  return bench_scale({deep_model()}, options, ranks);
}

json line_of(const json& results, int ranks, bool overlap) {
  for (const json& line : results) {
    if (!line["modelled"] && line["ranks"] == ranks && line["overlap"] == overlap) return line;
  }
  throw std::runtime_error("no such line");
}

// Wants two idle cores: if ranks and wire share too few, the ranks wait for each other.
TEST(NetworkLong, GradientsTravelBehindAComputedBackwardPass) {
  DSF_NEEDS_RANKS();
  if (launched_processes() > 1) {
    const std::unique_ptr<Communicator> ranks = join_ranks();
    const json results = measure(*ranks).results;
    if (!ranks->leads()) return;
    leave(*ranks, {line_of(results, 2, true)["exposed_ms_min"],
                   line_of(results, 2, false)["exposed_ms_min"]});
    return;
  }
  if (const std::string why = SlowWire::why_not(); !why.empty()) GTEST_SKIP() << why;
  const json alone = line_of(measure(single_process()).results, 1, true);
  const double bytes = alone["gradient_bytes"];
  const double step = alone["compute_ms"].get<double>() * 1e-3;
  constexpr double kBackwardPart = 0.5;  // of a step, at the least
  const WireSpeed speed{bytes / (0.5 * kBackwardPart * step), kDelay};
  constexpr int kAttempts = 3;
  Exposed exposed;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSERT_NO_FATAL_FAILURE(measure_over(speed, 2 * bytes, exposed));
    if (exposed.overlapped < kMostExposed * exposed.plain) return;
  }
  FAIL() << "exposed " << exposed.overlapped << " ms, without overlap " << exposed.plain << " ms";
}

}  // namespace
}  // namespace dsf
