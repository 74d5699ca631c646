#include "dsf/use/onnx_file.h"

#include "dsf/base/error.h"

#if defined(DSF_HAVE_ONNX)

#include <fmt/format.h>
#include <onnx.pb-c.h>

#include <deque>
#include <exception>
#include <limits>

#include "dsf/base/file.h"
#include "dsf/base/version.h"

namespace dsf::onnx {
namespace {

// The intermediate representation that came with operators of version 17.
constexpr std::int64_t kIrVersion = 8;

/// protobuf-c's messages are C structs with pointers to each other and to the caller's strings and
/// numbers. This owns the structs and their arrays; the model must outlive it.
class Messages {
 public:
  explicit Messages(const Model& model) {
    root_ = make<Onnx__ModelProto>(onnx__model_proto__init);
    root_->has_ir_version = 1;
    root_->ir_version = kIrVersion;
    root_->producer_name = text("dsf");
    root_->producer_version = text(std::string(version()));
    root_->doc_string = text(model.description);
    root_->graph = graph(model.graph);
    auto* opset = make<Onnx__OperatorSetIdProto>(onnx__operator_set_id_proto__init);
    opset->domain = text("");
    opset->has_version = 1;
    opset->version = kOpset;
    fill({opset}, root_->n_opset_import, root_->opset_import);
    std::vector<Onnx__StringStringEntryProto*> properties;
    for (const auto& [key, value] : model.properties) {
      auto* entry = make<Onnx__StringStringEntryProto>(onnx__string_string_entry_proto__init);
      entry->key = text(key);
      entry->value = text(value);
      properties.push_back(entry);
    }
    fill(properties, root_->n_metadata_props, root_->metadata_props);
  }

  const Onnx__ModelProto& root() const { return *root_; }

 private:
  template <typename Message>
  Message* make(void (*init)(Message*)) {
    auto made = std::make_shared<Message>();
    init(made.get());
    owned_.push_back(made);
    return made.get();
  }

  char* text(std::string value) {
    strings_.push_back(std::move(value));
    return strings_.back().data();
  }

  template <typename Item>
  void fill(std::vector<Item> items, std::size_t& count, Item*& array) {
    auto kept = std::make_shared<std::vector<Item>>(std::move(items));
    owned_.push_back(kept);
    count = kept->size();
    array = kept->data();
  }

  void fill_names(const std::vector<std::string>& names, std::size_t& count, char**& array) {
    std::vector<char*> items;
    items.reserve(names.size());
    for (const std::string& name : names) items.push_back(text(name));
    fill(std::move(items), count, array);
  }

  Onnx__GraphProto* graph(const Graph& from) {
    auto* to = make<Onnx__GraphProto>(onnx__graph_proto__init);
    to->name = text(from.name);
    fill(each(from.inputs, &Messages::value), to->n_input, to->input);
    fill(each(from.outputs, &Messages::value), to->n_output, to->output);
    fill(each(from.constants, &Messages::constant), to->n_initializer, to->initializer);
    fill(each(from.nodes, &Messages::node), to->n_node, to->node);
    return to;
  }

  template <typename From, typename To>
  std::vector<To*> each(const std::vector<From>& items, To* (Messages::*convert)(const From&)) {
    std::vector<To*> converted;
    converted.reserve(items.size());
    for (const From& item : items) converted.push_back((this->*convert)(item));
    return converted;
  }

  Onnx__ValueInfoProto* value(const Value& from) {
    auto* tensor = make<Onnx__TypeProto__Tensor>(onnx__type_proto__tensor__init);
    tensor->has_elem_type = 1;
    tensor->elem_type = from.element == Element::f32 ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
                                                     : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    tensor->shape = make<Onnx__TensorShapeProto>(onnx__tensor_shape_proto__init);
    fill(each(from.shape, &Messages::dimension), tensor->shape->n_dim, tensor->shape->dim);
    auto* type = make<Onnx__TypeProto>(onnx__type_proto__init);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    auto* to = make<Onnx__ValueInfoProto>(onnx__value_info_proto__init);
    to->name = text(from.name);
    to->type = type;
    if (!from.description.empty()) to->doc_string = text(from.description);
    return to;
  }

  Onnx__TensorShapeProto__Dimension* dimension(const Dimension& from) {
    auto* to = make<Onnx__TensorShapeProto__Dimension>(onnx__tensor_shape_proto__dimension__init);
    if (const auto* size = std::get_if<dim_t>(&from)) {
      to->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      to->dim_value = *size;
    } else {
      to->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      to->dim_param = text(std::get<std::string>(from));
    }
    return to;
  }

  Onnx__TensorProto* constant(const Constant& from) {
    auto* to = make<Onnx__TensorProto>(onnx__tensor_proto__init);
    to->name = text(from.name);
    fill(std::vector<std::int64_t>(from.shape.begin(), from.shape.end()), to->n_dims, to->dims);
    to->has_data_type = 1;
    to->data_type = std::holds_alternative<std::vector<float>>(from.numbers)
                        ? ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT
                        : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    to->has_raw_data = 1;
    std::visit(
        [to](const auto& numbers) {
          to->raw_data.len = numbers.size() * sizeof(numbers[0]);
          // The field is not const, because a message that was read owns its bytes.
          to->raw_data.data = reinterpret_cast<std::uint8_t*>(
              const_cast<void*>(static_cast<const void*>(numbers.data())));
        },
        from.numbers);
    return to;
  }

  Onnx__NodeProto* node(const Node& from) {
    auto* to = make<Onnx__NodeProto>(onnx__node_proto__init);
    to->op_type = text(from.op);
    to->name = text(from.outputs.front());
    fill_names(from.inputs, to->n_input, to->input);
    fill_names(from.outputs, to->n_output, to->output);
    fill(each(from.attributes, &Messages::attribute), to->n_attribute, to->attribute);
    return to;
  }

  Onnx__AttributeProto* attribute(const Attribute& from) {
    auto* to = make<Onnx__AttributeProto>(onnx__attribute_proto__init);
    to->name = text(from.name);
    to->has_type = 1;
    if (const auto* number = std::get_if<dim_t>(&from.value)) {
      to->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
      to->has_i = 1;
      to->i = *number;
    } else if (const auto* real = std::get_if<float>(&from.value)) {
      to->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
      to->has_f = 1;
      to->f = *real;
    } else {
      to->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH;
      to->g = graph(*std::get<std::shared_ptr<const Graph>>(from.value));
    }
    return to;
  }

  std::deque<std::string> strings_;
  std::vector<std::shared_ptr<void>> owned_;
  Onnx__ModelProto* root_ = nullptr;
};

/// Collects protobuf-c's many small pieces. It is C and must not be left by an exception, so a write
/// that failed is told afterwards.
class Sink {
 public:
  explicit Sink(FileWriter& writer) : writer_(writer) {}

  void write(const Onnx__ModelProto& message) {
    protobuf_c_message_pack_to_buffer(&message.base, &channel_.base);
    if (!error_) flush();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Channel {
    ProtobufCBuffer base;
    Sink* sink;
  };

  static void append(ProtobufCBuffer* buffer, std::size_t size, const std::uint8_t* data) {
    reinterpret_cast<Channel*>(buffer)->sink->take(size, data);
  }

  void take(std::size_t size, const std::uint8_t* data) noexcept {
    constexpr std::size_t kPiece = 1 << 16;
    if (error_) return;
    try {
      if (waiting_.size() + size > kPiece) flush();
      if (size > kPiece) {
        writer_.write(data, size);
      } else {
        waiting_.append(reinterpret_cast<const char*>(data), size);
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  void flush() {
    writer_.write(waiting_);
    waiting_.clear();
  }

  FileWriter& writer_;
  Channel channel_{{&Sink::append}, this};
  std::string waiting_;
  std::exception_ptr error_;
};

/// Before protobuf-c counts, whose sizes have 32 bits.
void check_size(const Graph& graph) {
  std::size_t bytes = 0;
  for (const Constant& constant : graph.constants) {
    bytes += std::visit([](const auto& numbers) { return numbers.size() * sizeof(numbers[0]); },
                        constant.numbers);
  }
  constexpr std::size_t kForTheRest = 1 << 24;
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max() - kForTheRest;
  if (bytes <= kMost) return;
  throw UsageError(fmt::format(
      "the weights are {:.2f} GB, and an ONNX file can have 2.14 GB; export safetensors instead",
      static_cast<double>(bytes) * 1e-9));
}

}  // namespace

void require_onnx() {}

void write_onnx(const Model& model, const std::filesystem::path& file) {
  check_size(model.graph);
  const Messages messages(model);
  write_beside(file, [&](FileWriter& writer) { Sink(writer).write(messages.root()); });
}

}  // namespace dsf::onnx

#else

namespace dsf::onnx {

void require_onnx() {
  throw UsageError(
      "this dsf was built without ONNX; install protobuf-c with its compiler and ONNX's onnx.proto "
      "(Debian: apt install libprotobuf-c-dev protobuf-compiler protobuf-c-compiler libonnx-dev) "
      "and build it again");
}

void write_onnx(const Model&, const std::filesystem::path&) { require_onnx(); }

}  // namespace dsf::onnx

#endif
