// Includes point one way:
//
//   base <- kernels <- cells <- feedback <- layers <- model <- run <- use <- train
//        <- lab/report <- lab/bench <- lab/experiment <- apps
//   optim, data, dist: may use base and kernels; used by run and above
//
// and each foreign library is known to one place only. This test reads the sources as text, and
// proves on made-up files that it would notice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_directory.h"

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::array<std::string_view, 13> kChain = {
    "base", "kernels", "cells",      "feedback",  "layers",         "model", "run",
    "use",  "train",   "lab/report", "lab/bench", "lab/experiment", "apps"};
constexpr std::array<std::string_view, 3> kSideRooms = {"optim", "data", "dist"};

// Which files may include a foreign header; `header` and `files` are regular expressions.
struct ForeignRule {
  std::string_view header;
  std::string_view files;
  std::string_view owner;
};
// oneDNN is a peer to measure against, with OpenMP for its threads.
constexpr std::array<ForeignRule, 12> kForeignRules = {{
    {R"((oneapi/dnnl/|dnnl).*)", R"(lab/bench/onednn_.*)", "lab/bench/onednn_*"},
    {R"(omp\.h)", R"(lab/bench/onednn_.*)", "lab/bench/onednn_*"},
    {R"(libxsmm.*)", R"(dsf/kernels/xsmm_.*)", "dsf/kernels/xsmm_*"},
    {R"(mpi\.h)", R"(dsf/dist/.*)", "dsf/dist"},
    {R"(CLI/.*|CLI11\.hpp)", R"(apps/dsf/.*)", "apps/dsf"},
    {R"(httplib\.h)", R"(apps/dsf/watch/.*)", "apps/dsf/watch"},
    {R"(hwy/.*)", R"(dsf/kernels/.*|lab/bench/(stream_triad|peak_rate)\.cc)",
     "dsf/kernels, lab/bench/stream_triad.cc and lab/bench/peak_rate.cc"},
    {R"((kissfft/)?kiss_?fft.*)", R"(dsf/kernels/.*)", "dsf/kernels"},
    {R"(sentencepiece_.*)", R"(dsf/data/bpe_.*)", "dsf/data/bpe_*"},
    {R"((protobuf-c/|onnx/).*|.*\.pb(-c)?\.h)", R"(dsf/use/onnx_file\.cc)", "dsf/use/onnx_file.cc"},
    {R"(spdlog/.*)", R"(dsf/base/[^/]*\.cc)", "a source of dsf/base"},
    {R"(toml\+\+/.*|toml\.hpp)", R"(dsf/run/[^/]*\.cc)", "a source of dsf/run"},
}};

bool matches(const std::string& text, std::string_view pattern) {
  return std::regex_match(text, std::regex(pattern.begin(), pattern.end()));
}

bool is_side_room(std::string_view room) {
  return std::find(kSideRooms.begin(), kSideRooms.end(), room) != kSideRooms.end();
}

// Position in the chain, -1 for a room that is not in it.
int rank_of(std::string_view room) {
  const auto* it = std::find(kChain.begin(), kChain.end(), room);
  return it == kChain.end() ? -1 : static_cast<int>(it - kChain.begin());
}

// "dsf/cells/gru.h" -> "cells", "lab/bench/step.h" -> "lab/bench", "apps/dsf/main.cc" -> "apps",
// anything else -> "".
std::string room_of(const std::string& path) {
  if (path.starts_with("apps/")) return "apps";
  std::smatch match;
  static const std::regex in_room(R"((?:dsf/([^/]+)|(lab/[^/]+))/.*)");
  return std::regex_match(path, match, in_room) ? match[1].str() + match[2].str() : "";
}

bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  if (is_side_room(from)) return to == "base" || to == "kernels";
  if (is_side_room(to)) return rank_of(from) >= rank_of("run");
  return rank_of(to) < rank_of(from);
}

// What is wrong with `file` including `header`, or nothing. Both are written from the root.
std::optional<std::string> objection(const std::string& file, const std::string& header) {
  for (const ForeignRule& rule : kForeignRules) {
    if (matches(header, rule.header) && !matches(file, rule.files)) {
      return "only " + std::string(rule.owner) + " may include it";
    }
  }
  const std::string from = room_of(file);
  if (!is_side_room(from) && rank_of(from) < 0) return "the file lies in no known room";
  if (header.find("../") != std::string::npos || header.starts_with("./")) {
    return "write it from the root, as dsf/<room>/<file>.h";
  }
  if (!matches(header, R"((dsf|lab|apps)/.*)")) return std::nullopt;
  const std::string to = room_of(header);
  if (!is_side_room(to) && rank_of(to) < 0) return "it names no known room";
  if (!may_include(from, to)) return from + " may not include " + to;
  return std::nullopt;
}

// One line "file:line: header: objection" for each wrong include under root/dsf, root/lab
// and root/apps.
std::vector<std::string> check_tree(const fs::path& root) {
  static const std::regex include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
  std::vector<std::string> found;
  for (const char* top : {"dsf", "lab", "apps"}) {
    if (!fs::is_directory(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) continue;
      if (!matches(entry.path().extension().string(), R"(\.(h|hpp|cc|cpp|inc))")) continue;
      const std::string file = entry.path().lexically_relative(root).generic_string();
      std::ifstream in(entry.path());
      std::string line;
      for (int number = 1; std::getline(in, line); ++number) {
        std::smatch match;
        if (!std::regex_match(line, match, include_line)) continue;
        std::string header = match[2].str();
        // "gru.h" beside the file is the same header as "dsf/cells/gru.h".
        const fs::path beside = entry.path().parent_path() / header;
        if (match[1] == "\"" && fs::exists(beside) && header.find("../") == std::string::npos) {
          header = beside.lexically_relative(root).generic_string();
        }
        if (const auto what = objection(file, header)) {
          found.push_back(file + ":" + std::to_string(number) + ": " + header + ": " + *what);
        }
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Layering, IncludesOfThisTreePointOneWay) {
  ASSERT_TRUE(fs::is_directory(fs::path(DSF_SOURCE_DIR) / "dsf")) << DSF_SOURCE_DIR;
  EXPECT_THAT(check_tree(DSF_SOURCE_DIR), IsEmpty());
}

// --- the check itself ---------------------------------------------------------------------------

struct Case {
  std::string file;
  std::string header;
};

TEST(Layering, AllowedIncludesGetNoObjection) {
  const std::vector<Case> cases = {{"dsf/base/rng.cc", "dsf/base/rng.h"},
                                   {"dsf/base/rng.cc", "vector"},
                                   {"dsf/kernels/scan.cc", "dsf/base/view.h"},
                                   {"dsf/kernels/scan.cc", "hwy/highway.h"},
                                   {"dsf/kernels/fft.cc", "kissfft/kiss_fftr.h"},
                                   {"lab/bench/onednn_rnn.cc", "oneapi/dnnl/dnnl.hpp"},
                                   {"lab/bench/onednn_rnn.cc", "omp.h"},
                                   {"dsf/feedback/bptt.cc", "dsf/cells/cell.h"},
                                   {"dsf/layers/recurrent.cc", "dsf/feedback/diagonal.h"},
                                   {"dsf/optim/adam.cc", "dsf/kernels/elementwise.h"},
                                   {"dsf/data/corpus.cc", "dsf/base/error.h"},
                                   {"dsf/data/bpe_tokenizer.cc", "sentencepiece_processor.h"},
                                   {"dsf/dist/mpi.cc", "mpi.h"},
                                   {"dsf/use/onnx_file.cc", "onnx.pb-c.h"},
                                   {"dsf/base/log.cc", "spdlog/spdlog.h"},
                                   {"dsf/run/config_file.cc", "toml++/toml.h"},
                                   {"dsf/train/trainer.cc", "dsf/optim/adam.h"},
                                   {"dsf/train/trainer.cc", "dsf/use/evaluation.h"},
                                   {"dsf/use/stored_model.cc", "dsf/run/checkpoint.h"},
                                   {"dsf/run/run_config.h", "dsf/data/dataset.h"},
                                   {"lab/bench/stream_triad.cc", "hwy/highway.h"},
                                   {"lab/bench/layer.cc", "dsf/cells/cell.h"},
                                   {"lab/bench/layer.cc", "lab/report/table.h"},
                                   {"lab/experiment/grid.cc", "dsf/data/corpus.h"},
                                   {"lab/experiment/grid.cc", "lab/bench/step.h"},
                                   {"apps/dsf/cmd_bench.cc", "lab/bench/step.h"},
                                   {"apps/dsf/main.cc", "CLI/CLI.hpp"},
                                   {"apps/dsf/watch/watch_server.cc", "httplib.h"},
                                   {"apps/dsf/main.cc", "apps/dsf/cmd_train.h"},
                                   {"apps/dsf/cmd_train.cc", "dsf/dist/communicator.h"}};
  for (const auto& [file, header] : cases) {
    EXPECT_EQ(objection(file, header), std::nullopt) << file << " includes " << header;
  }
}

TEST(Layering, WrongIncludesGetAnObjection) {
  const std::vector<Case> cases = {{"dsf/base/rng.cc", "dsf/kernels/scan.h"},
                                   {"dsf/kernels/scan.cc", "dsf/cells/gru.h"},
                                   {"dsf/cells/gru.cc", "dsf/feedback/diagonal.h"},
                                   {"dsf/feedback/bptt.cc", "dsf/layers/recurrent.h"},
                                   {"dsf/layers/mlp.cc", "dsf/model/model.h"},
                                   {"dsf/model/model.cc", "dsf/train/trainer.h"},
                                   {"dsf/run/checkpoint.cc", "dsf/train/trainer.h"},
                                   {"dsf/run/run_log.cc", "dsf/use/evaluation.h"},
                                   {"dsf/use/evaluation.cc", "dsf/train/trainer.h"},
                                   {"dsf/train/trainer.cc", "lab/experiment/grid.h"},
                                   {"dsf/base/log.cc", "lab/report/table.h"},
                                   {"dsf/data/corpus.cc", "lab/report/table.h"},
                                   {"lab/report/table.cc", "lab/bench/step.h"},
                                   {"lab/bench/step.cc", "lab/experiment/grid.h"},
                                   {"lab/bench/step.cc", "hwy/highway.h"},
                                   {"lab/attic/old.cc", "vector"},
                                   {"dsf/lab/bench/old.cc", "vector"},
                                   {"lab/experiment/grid.cc", "apps/dsf/cmd_train.h"},
                                   {"dsf/optim/adam.cc", "dsf/model/parameters.h"},
                                   {"dsf/optim/adam.cc", "dsf/data/corpus.h"},
                                   {"dsf/data/corpus.cc", "dsf/dist/communicator.h"},
                                   {"dsf/model/model.cc", "dsf/optim/adam.h"},
                                   {"dsf/layers/mlp.cc", "dsf/data/corpus.h"},
                                   {"dsf/base/rng.cc", "dsf/dist/communicator.h"},
                                   {"dsf/kernels/scan.cc", "dnnl.hpp"},
                                   {"dsf/kernels/gemm.cc", "oneapi/dnnl/dnnl.hpp"},
                                   {"lab/bench/layer.cc", "dnnl.hpp"},
                                   {"dsf/kernels/scan.cc", "omp.h"},
                                   {"dsf/layers/mlp.cc", "oneapi/dnnl/dnnl.hpp"},
                                   {"dsf/data/tokenizer.cc", "sentencepiece_trainer.h"},
                                   {"dsf/train/trainer.cc", "mpi.h"},
                                   {"dsf/use/onnx_export.cc", "onnx.pb-c.h"},
                                   {"dsf/use/onnx_file.h", "protobuf-c/protobuf-c.h"},
                                   {"dsf/base/log.h", "spdlog/spdlog.h"},
                                   {"dsf/train/trainer.cc", "spdlog/spdlog.h"},
                                   {"dsf/run/config_file.h", "toml++/toml.h"},
                                   {"apps/dsf/main.cc", "toml++/toml.h"},
                                   {"dsf/train/trainer.cc", "CLI/CLI.hpp"},
                                   {"apps/dsf/cmd_watch.cc", "httplib.h"},
                                   {"dsf/cells/gru.cc", "hwy/highway.h"},
                                   {"dsf/feedback/fft.cc", "kiss_fft.h"},
                                   {"dsf/feedback/fft.cc", "kissfft/kissfft.hh"},
                                   {"dsf/kernels/scan.cc", "../cells/gru.h"},
                                   {"dsf/attic/old.cc", "vector"},
                                   {"dsf/train/trainer.cc", "dsf/attic/old.h"}};
  for (const auto& [file, header] : cases) {
    EXPECT_NE(objection(file, header), std::nullopt) << file << " includes " << header;
  }
}

// The headers that cmake/DsfPublicHeaders.cmake lists, and what is wrong with them: an include that
// an installed copy would lack.
std::vector<std::string> check_public_headers(const fs::path& root) {
  std::ifstream list(root / "cmake" / "DsfPublicHeaders.cmake");
  const std::string text{std::istreambuf_iterator<char>(list), {}};
  static const std::regex header_name(R"(dsf/[\w/]+\.h)");
  const std::set<std::string> listed{
      std::sregex_token_iterator(text.begin(), text.end(), header_name),
      std::sregex_token_iterator()};
  std::vector<std::string> found;
  if (listed.empty()) found.emplace_back("no header is listed");
  for (const std::string& header : listed) {
    if (header == "dsf/base/version.h") continue;  // made by the build
    std::ifstream in(root / header);
    if (!in) found.push_back(header + ": there is no such file");
    static const std::regex include_line(R"re(^#include (?:"([^"]+)"|<([^>]+[/.][^>]+)>).*)re");
    std::string line;
    while (std::getline(in, line)) {
      std::smatch match;
      if (!std::regex_match(line, match, include_line)) continue;
      if (listed.contains(match[1].str())) continue;
      found.push_back(header + ": " + match[1].str() + match[2].str() + " is not installed");
    }
  }
  return found;
}

TEST(PublicHeaders, IncludeOnlyWhatIsInstalledAndTheStandardLibrary) {
  EXPECT_THAT(check_public_headers(DSF_SOURCE_DIR), IsEmpty());
}

TEST(PublicHeaders, MissingAndForeignIncludesAreReported) {
  const dsf::TempDirectory tree;
  tree.write("cmake/DsfPublicHeaders.cmake",
             "set(DSF_PUBLIC_HEADERS dsf/a/a.h dsf/a/b.h\n  dsf/a/gone.h)\n");
  tree.write("dsf/a/a.h", "#include <vector>\n\n#include \"dsf/a/b.h\"\n#include <fmt/format.h>\n");
  tree.write("dsf/a/b.h", "#include <zlib.h>\n#include \"dsf/a/c.h\"  // private\n");
  EXPECT_THAT(
      check_public_headers(tree.path()),
      ElementsAre("dsf/a/a.h: fmt/format.h is not installed", "dsf/a/b.h: zlib.h is not installed",
                  "dsf/a/b.h: dsf/a/c.h is not installed", "dsf/a/gone.h: there is no such file"));
}

TEST(Layering, BadTreeIsReportedByFileAndLine) {
  const dsf::TempDirectory tree;
  tree.write("dsf/cells/gru.h", "#pragma once\n");
  tree.write("dsf/cells/gru.cc", "#include \"gru.h\"\n#include \"dsf/base/view.h\"\n");
  tree.write("dsf/kernels/scan.cc", "// scan\n  #  include  \"dsf/cells/gru.h\"  // no\n");
  tree.write("dsf/train/trainer.h", "#pragma once\n#include <vector>\n\n#include <mpi.h>\n");
  tree.write("dsf/train/notes.md", "#include \"apps/dsf/cmd_train.h\"\n");
  EXPECT_THAT(check_tree(tree.path()),
              ElementsAre(HasSubstr("dsf/kernels/scan.cc:2: dsf/cells/gru.h: kernels may not"),
                          HasSubstr("dsf/train/trainer.h:4: mpi.h: only dsf/dist")));
}

}  // namespace
