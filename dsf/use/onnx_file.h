#pragma once

// Writes a graph as an ONNX file. The only place that knows the classes of the format, which
// protobuf-c makes from ONNX's own onnx.proto at build time (docs/architecture.md says why these).

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "dsf/use/onnx_graph.h"

namespace dsf::onnx {

/// A file: the graph, and what is said about it.
struct Model {
  Graph graph;
  std::string description;
  std::vector<std::pair<std::string, std::string>> properties;
};

/// Throws UsageError if this build of dsf has no ONNX, and says what would bring it.
void require_onnx();

/// The file is there when it is whole. Throws UsageError as require_onnx does, and if the model
/// would not fit into the 2 GB that a file of the format can have.
void write_onnx(const Model& model, const std::filesystem::path& file);

}  // namespace dsf::onnx
