#include "tests/support/ranks.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "dsf/dist/launch.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    if (std::filesystem::exists(std::filesystem::path(directory) / program)) return true;
  }
  return false;
}

// "NAME=VALUE" strings of a process, ended by zeros.
bool has_in_environment(int process, const std::string& entry) {
  const std::string all = slurp("/proc/" + std::to_string(process) + "/environ");
  return (std::string(1, '\0') + all).find('\0' + entry + '\0') != std::string::npos;
}

// Of all its threads: mpirun of Open MPI 6 starts the ranks from a thread of its own.
std::vector<int> children_of(const std::string& process) {
  std::vector<int> all;
  std::error_code ended;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + process + "/task", ended)) {
    std::istringstream children(slurp(thread.path() / "children"));
    for (int child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

}  // namespace

std::string why_no_ranks() {
  if (!built_with_mpi()) return "built without MPI (-DDSF_WITH_MPI=ON)";
  if (!on_path("mpirun")) return "there is no mpirun (Debian package openmpi-bin)";
  return "";
}

std::vector<std::string> on_ranks(int ranks, std::vector<std::string> command) {
  // Two of Open MPI's that start at once quarrel over who makes the directory they would share.
  static const TempDirectory sessions;
  std::vector<std::string> words = {"mpirun",
                                    "--allow-run-as-root",
                                    "--oversubscribe",
                                    "--bind-to",
                                    "none",
                                    "--mca",
                                    "orte_tmpdir_base",
                                    sessions.path().string(),
                                    "-np",
                                    std::to_string(ranks)};
  for (std::string& word : command) words.push_back(std::move(word));
  return words;
}

ProgramResult run_dsf_on_ranks(int ranks, const std::vector<std::string>& arguments) {
  const TempDirectory logs;
  const std::string prefix = logs / "log";
  std::vector<std::string> command = {dsf_program()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProgramResult result;
  result.exit_code = wait_for(start_program(on_ranks(ranks, std::move(command)), prefix));
  result.out = slurp(prefix + ".out");
  result.err = slurp(prefix + ".err");
  return result;
}

bool inside_ranks(int ranks) {
  if (launched_processes() > 1) return true;
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  const TempDirectory logs;
  const std::string prefix = logs / "log";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string filter =
      std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
  const int code = wait_for(start_program(on_ranks(ranks, {self, filter}), prefix));
  EXPECT_EQ(code, 0) << slurp(prefix + ".out") << slurp(prefix + ".err");
  return false;
}

int process_of_rank(int mpirun, int rank) {
  const std::string parent = std::to_string(mpirun);
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  constexpr int kTries = 600;
  for (int i = 0; i < kTries; ++i) {
    for (const int process : children_of(parent)) {
      if (has_in_environment(process, wanted)) return process;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("no rank " + std::to_string(rank) + " below process " + parent);
}

}  // namespace dsf
