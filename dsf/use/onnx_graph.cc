#include "dsf/use/onnx_graph.h"

#include <fmt/format.h>

namespace dsf::onnx {

GraphBuilder::GraphBuilder(std::string name, std::string prefix) : prefix_(std::move(prefix)) {
  graph_.name = std::move(name);
}

std::string GraphBuilder::new_name(const std::string& stem) {
  return fmt::format("{}{}_{}", prefix_, stem, names_++);
}

std::string GraphBuilder::input(Value value) {
  graph_.inputs.push_back(std::move(value));
  return graph_.inputs.back().name;
}

void GraphBuilder::output(const std::string& from, Value value) {
  graph_.nodes.push_back({"Identity", {from}, {value.name}, {}});
  graph_.outputs.push_back(std::move(value));
}

std::string GraphBuilder::constant(const std::string& name, std::vector<dim_t> shape,
                                   std::vector<float> numbers) {
  graph_.constants.push_back({prefix_ + name, std::move(shape), std::move(numbers)});
  return graph_.constants.back().name;
}

std::string GraphBuilder::scalar(float number) {
  graph_.constants.push_back({new_name("number"), {}, std::vector<float>{number}});
  return graph_.constants.back().name;
}

std::string GraphBuilder::integers(std::vector<std::int64_t> numbers) {
  const auto size = static_cast<dim_t>(numbers.size());
  graph_.constants.push_back({new_name("integers"), {size}, std::move(numbers)});
  return graph_.constants.back().name;
}

std::string GraphBuilder::node(const std::string& op, std::vector<std::string> inputs,
                               std::vector<Attribute> attributes) {
  return nodes(op, std::move(inputs), 1, std::move(attributes)).front();
}

std::vector<std::string> GraphBuilder::nodes(const std::string& op, std::vector<std::string> inputs,
                                             dim_t outputs, std::vector<Attribute> attributes) {
  Node added{op, std::move(inputs), {}, std::move(attributes)};
  for (dim_t i = 0; i < outputs; ++i) added.outputs.push_back(new_name(op));
  graph_.nodes.push_back(std::move(added));
  return graph_.nodes.back().outputs;
}

}  // namespace dsf::onnx
