// A fuzz target without libFuzzer: every seed, and mutations of them that are the same each time.
//
//   replay MUTATIONS DIRECTORY    MUTATIONS inputs in all, besides the seeds themselves

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <vector>

#include "dsf/base/file.h"
#include "dsf/base/rng.h"
#include "tests/fuzz/target.h"

namespace dsf {
namespace {

std::vector<std::string> read_seeds(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) seeds.push_back(read_file(file));
  return seeds;
}

std::size_t below(Rng& rng, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(rng.below(static_cast<dim_t>(n)));
}

// Flips bits, cuts, repeats, writes odd bytes, or goes on with another seed.
void mutate(const std::vector<std::string>& seeds, Rng& rng, std::string& input) {
  const std::size_t at = below(rng, input.size());
  const std::size_t length = 1 + below(rng, std::min<std::size_t>(input.size() - at, 16) + 1);
  switch (rng.below(6)) {
    case 0:
      if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << rng.below(8)));
      break;
    case 1:
      if (!input.empty()) input[at] = "\x00\xFF\x7F{}[]\"0-9\n"[rng.below(12)];
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(at, length));
      break;
    case 4:
      input.resize(at);
      break;
    default: {
      const std::string& other = seeds[below(rng, seeds.size())];
      input = input.substr(0, at) + other.substr(std::min(at, other.size()));
    }
  }
}

// Seconds that the target takes.
double run(const std::string& input) {
  const auto begin = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int replay(long mutations, const std::filesystem::path& directory) {
  const std::vector<std::string> seeds = read_seeds(directory);
  if (seeds.empty()) {
    fmt::print(stderr, "no seeds in {}\n", directory.string());
    return 1;
  }
  double slowest = 0.0;
  std::string input;
  try {
    for (const std::string& seed : seeds) {
      input = seed;
      slowest = std::max(slowest, run(input));
    }
    Rng rng(1, "replay");
    for (long i = 0; i < mutations; ++i) {
      input = seeds[static_cast<std::size_t>(i) % seeds.size()];
      for (dim_t n = 1 + rng.below(4); n > 0; --n) mutate(seeds, rng, input);
      slowest = std::max(slowest, run(input));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\ninput: ", error.what());
    for (const char c : input) fmt::print(stderr, "\\x{:02x}", static_cast<unsigned char>(c));
    fmt::print(stderr, "\n");
    return 1;
  }
  fmt::print("{} seeds and {} mutations, the slowest in {:.3f} s\n", seeds.size(), mutations,
             slowest);
  return 0;
}

}  // namespace
}  // namespace dsf

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "use: replay MUTATIONS DIRECTORY\n");
    return 2;
  }
  return dsf::replay(std::atol(argv[1]), argv[2]);
}
