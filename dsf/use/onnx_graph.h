#pragma once

// A graph of ONNX operators as plain data, and a builder that names what it adds. What the file
// format is made of is the business of dsf/use/onnx_file.h alone.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsf/base/dim.h"

namespace dsf::onnx {

/// The version of the operators: 17 is the first with LayerNormalization.
inline constexpr std::int64_t kOpset = 17;

enum class Element { f32, i64 };

/// A size, or the name of a size that may differ from call to call.
using Dimension = std::variant<dim_t, std::string>;

/// An input or output of a graph.
struct Value {
  std::string name;
  Element element = Element::f32;
  std::vector<Dimension> shape;
  std::string description;  ///< may be empty
};

/// Numbers that belong to the graph; the last dimension varies fastest.
struct Constant {
  std::string name;
  std::vector<dim_t> shape;
  std::variant<std::vector<float>, std::vector<std::int64_t>> numbers;
};

struct Graph;

struct Attribute {
  std::string name;
  std::variant<dim_t, float, std::shared_ptr<const Graph>> value;
};

struct Node {
  std::string op;
  std::vector<std::string> inputs;  ///< names; empty: an optional input that is not given
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;
};

/// The nodes are in an order in which they can be computed. A graph inside an attribute may use the
/// names of the graph around it.
struct Graph {
  std::string name;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  std::vector<Constant> constants;
  std::vector<Node> nodes;
};

/// Puts a graph together. Every name begins with `prefix`, so that a graph inside another one, made
/// with a prefix of its own, has no name twice.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, std::string prefix = "");

  /// `value.name` is taken as it is, and returned.
  std::string input(Value value);
  /// Hands out what is called `from` under the name of `value`.
  void output(const std::string& from, Value value);

  std::string constant(const std::string& name, std::vector<dim_t> shape,
                       std::vector<float> numbers);
  /// One number, for elementwise operators.
  std::string scalar(float number);
  /// A vector of whole numbers: shapes, axes, indices.
  std::string integers(std::vector<std::int64_t> numbers);

  /// Adds an operator and returns the name of its output.
  std::string node(const std::string& op, std::vector<std::string> inputs,
                   std::vector<Attribute> attributes = {});
  /// The same for several outputs.
  std::vector<std::string> nodes(const std::string& op, std::vector<std::string> inputs,
                                 dim_t outputs, std::vector<Attribute> attributes = {});

  /// Ends the building.
  Graph take() { return std::move(graph_); }

 private:
  std::string new_name(const std::string& stem);

  std::string prefix_;
  Graph graph_;
  dim_t names_ = 0;
};

}  // namespace dsf::onnx
