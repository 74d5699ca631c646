// The ONNX files that dsf writes, as they are read back. What they compute is compared with PyTorch
// and with dsf itself in python/tests/test_onnx.py, which has onnxruntime.

#include "dsf/use/onnx_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsf/base/error.h"
#include "tests/support/message_of.h"
#include "tests/support/temp_directory.h"

#if defined(DSF_HAVE_ONNX)
#include <onnx.pb-c.h>

#include <cstring>
#include <map>

#include "dsf/base/fault.h"
#include "dsf/base/file.h"
#include "dsf/model/model_tensors.h"
#endif

namespace dsf {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr dim_t kHidden = 4;
constexpr dim_t kLayers = 2;

StoredModel make_stored(MixerKind mixer, GruReset reset = GruReset::after,
                        BlockKind block = BlockKind::plain) {
  StoredModel stored;
  stored.config.model = {.mixer = mixer,
                         .hidden = mixer == MixerKind::attention ? 16 : kHidden,
                         .layers = kLayers,
                         .block = block,
                         .reset = reset};
  stored.tokenizer = build_tokenizer({.kind = TokenizerKind::character}, "some text\n");
  stored.model = std::make_unique<LanguageModel>(stored.config.model, FeedbackConfig{},
                                                 stored.tokenizer->vocab_size(), 1);
  return stored;
}

#if defined(DSF_HAVE_ONNX)

class OnnxExport : public ::testing::Test {
 protected:
  ~OnnxExport() override { plan_faults("", ""); }

  /// The file's contents; fails the test if they are not a model.
  const Onnx__ModelProto& exported(const StoredModel& stored) {
    const std::filesystem::path file = directory_ / "model.onnx";
    export_onnx(stored, file);
    const std::string bytes = read_file(file);
    parsed_.reset(onnx__model_proto__unpack(nullptr, bytes.size(),
                                            reinterpret_cast<const std::uint8_t*>(bytes.data())));
    if (!parsed_) throw std::runtime_error("the file is not a message of onnx.proto");
    return *parsed_;
  }

  static std::vector<std::string> dimensions(const Onnx__ValueInfoProto& value) {
    const Onnx__TensorShapeProto& shape = *value.type->tensor_type->shape;
    std::vector<std::string> found;
    for (std::size_t i = 0; i < shape.n_dim; ++i) {
      const Onnx__TensorShapeProto__Dimension& dim = *shape.dim[i];
      const bool named = dim.value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      found.push_back(named ? dim.dim_param : std::to_string(dim.dim_value));
    }
    return found;
  }

  static std::map<std::string, const Onnx__TensorProto*> constants(const Onnx__GraphProto& graph) {
    std::map<std::string, const Onnx__TensorProto*> found;
    for (std::size_t i = 0; i < graph.n_initializer; ++i) {
      const bool is_new = found.emplace(graph.initializer[i]->name, graph.initializer[i]).second;
      EXPECT_TRUE(is_new) << graph.initializer[i]->name;
    }
    return found;
  }

  static std::vector<float> numbers(const Onnx__TensorProto& tensor) {
    std::vector<float> values(tensor.raw_data.len / sizeof(float));
    std::memcpy(values.data(), tensor.raw_data.data, tensor.raw_data.len);
    return values;
  }

  static std::vector<dim_t> shape(const Onnx__TensorProto& tensor) {
    return {tensor.dims, tensor.dims + tensor.n_dims};
  }

  static std::vector<const Onnx__NodeProto*> operators(const Onnx__GraphProto& graph,
                                                       const std::string& type) {
    std::vector<const Onnx__NodeProto*> found;
    for (std::size_t i = 0; i < graph.n_node; ++i) {
      if (graph.node[i]->op_type == type) found.push_back(graph.node[i]);
    }
    return found;
  }

  static const Onnx__AttributeProto& attribute(const Onnx__NodeProto& node,
                                               const std::string& name) {
    for (std::size_t i = 0; i < node.n_attribute; ++i) {
      if (node.attribute[i]->name == name) return *node.attribute[i];
    }
    throw std::runtime_error("there is no attribute " + name);
  }

  struct Free {
    void operator()(Onnx__ModelProto* message) const {
      onnx__model_proto__free_unpacked(message, nullptr);
    }
  };

  TempDirectory directory_;
  std::unique_ptr<Onnx__ModelProto, Free> parsed_;
};

std::vector<float> rows_of(const ModelTensor& tensor, dim_t first, dim_t count) {
  const auto width = tensor.values.size() / static_cast<std::size_t>(tensor.shape[0]);
  const auto part = tensor.values.subspan(static_cast<std::size_t>(first) * width,
                                          static_cast<std::size_t>(count) * width);
  return {part.begin(), part.end()};
}

ModelTensor tensor_of(const StoredModel& stored, const std::string& name) {
  for (const ModelTensor& tensor : model_tensors(*stored.model)) {
    if (tensor.name == name) return tensor;
  }
  throw std::runtime_error("there is no tensor " + name);
}

TEST_F(OnnxExport, TimeAndBatchAreDynamicAndTheStateIsInputAndOutput) {
  const StoredModel stored = make_stored(MixerKind::lstm);
  const Onnx__ModelProto& model = exported(stored);
  const Onnx__GraphProto& graph = *model.graph;
  ASSERT_EQ(graph.n_input, 2U);
  ASSERT_EQ(graph.n_output, 2U);
  const std::string vocab = std::to_string(stored.tokenizer->vocab_size());

  EXPECT_STREQ(graph.input[0]->name, "tokens");
  EXPECT_EQ(graph.input[0]->type->tensor_type->elem_type, ONNX__TENSOR_PROTO__DATA_TYPE__INT64);
  EXPECT_THAT(dimensions(*graph.input[0]), ElementsAre("time", "batch"));
  EXPECT_STREQ(graph.input[1]->name, "state");
  EXPECT_EQ(graph.input[1]->type->tensor_type->elem_type, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
  EXPECT_THAT(dimensions(*graph.input[1]), ElementsAre("2", "batch", "8"));  // [h, c]
  EXPECT_STREQ(graph.output[0]->name, "logits");
  EXPECT_THAT(dimensions(*graph.output[0]), ElementsAre("time", "batch", vocab));
  EXPECT_STREQ(graph.output[1]->name, "next_state");
  EXPECT_THAT(dimensions(*graph.output[1]), ElementsAre("2", "batch", "8"));
}

TEST_F(OnnxExport, VersionsAreStated) {
  const Onnx__ModelProto& model = exported(make_stored(MixerKind::rnn));
  EXPECT_EQ(model.ir_version, 8);
  ASSERT_EQ(model.n_opset_import, 1U);
  EXPECT_EQ(model.opset_import[0]->version, 17);
  EXPECT_STREQ(model.producer_name, "dsf");
}

TEST_F(OnnxExport, GatesOfTheGruAreInTheOrderOfOnnx) {
  const StoredModel stored = make_stored(MixerKind::gru);
  const auto found = constants(*exported(stored).graph);
  for (const std::string name : {"blocks.0.mixer.weight_ih", "blocks.1.mixer.weight_hh"}) {
    const ModelTensor ours = tensor_of(stored, name);
    std::vector<float> expected = rows_of(ours, kHidden, kHidden);  // z
    for (const dim_t gate : {0, 2}) {                               // r, n
      const std::vector<float> more = rows_of(ours, gate * kHidden, kHidden);
      expected.insert(expected.end(), more.begin(), more.end());
    }
    EXPECT_THAT(shape(*found.at(name)), ElementsAre(1, 3 * kHidden, kHidden));
    EXPECT_EQ(numbers(*found.at(name)), expected) << name;
  }
  EXPECT_THAT(shape(*found.at("blocks.0.mixer.bias")), ElementsAre(1, 6 * kHidden));
}

TEST_F(OnnxExport, ResetAfterIsLinearBeforeReset) {
  for (const GruReset reset : {GruReset::after, GruReset::before}) {
    const auto found = operators(*exported(make_stored(MixerKind::gru, reset)).graph, "GRU");
    ASSERT_EQ(found.size(), static_cast<std::size_t>(kLayers));
    for (const Onnx__NodeProto* node : found) {
      EXPECT_EQ(attribute(*node, "linear_before_reset").i, reset == GruReset::after ? 1 : 0);
      EXPECT_EQ(attribute(*node, "hidden_size").i, kHidden);
    }
  }
}

// ONNX's LSTM hands out c of the last step alone, so that of this project is a Scan too.
TEST_F(OnnxExport, StepsOfCellsThatOnnxDoesNotHaveHandOnTheWholeState) {
  for (const std::string& name : choice_names<CellKind>()) {
    if (name == "rnn" || name == "gru") continue;
    SCOPED_TRACE(name);
    const StoredModel stored = make_stored(parse_choice<MixerKind>("model.mixer", name));
    const std::string width = std::to_string(stored.model->zero_state(1).front().cols());
    const Onnx__GraphProto& graph = *exported(stored).graph;
    EXPECT_TRUE(operators(graph, "LSTM").empty());
    const auto scans = operators(graph, "Scan");
    ASSERT_EQ(scans.size(), static_cast<std::size_t>(kLayers));
    const Onnx__GraphProto& step = *attribute(*scans[0], "body").g;
    ASSERT_EQ(step.n_output, 2U);
    for (std::size_t i = 0; i < step.n_output; ++i) {
      EXPECT_THAT(dimensions(*step.output[i]), ElementsAre("batch", width));
    }
  }
}

TEST_F(OnnxExport, WeightsOfLinearMapsAreTransposed) {
  const StoredModel stored = make_stored(MixerKind::gru, GruReset::after, BlockKind::transformer);
  const auto found = constants(*exported(stored).graph);
  const ModelTensor ours = tensor_of(stored, "blocks.1.mlp.in.weight");  // [4D, D]
  const std::vector<float> theirs = numbers(*found.at("blocks.1.mlp.in.weight.transposed"));
  ASSERT_THAT(shape(*found.at("blocks.1.mlp.in.weight.transposed")),
              ElementsAre(kHidden, 4 * kHidden));
  for (dim_t i = 0; i < 4 * kHidden; ++i) {
    for (dim_t j = 0; j < kHidden; ++j) {
      EXPECT_EQ(theirs[static_cast<std::size_t>(j * 4 * kHidden + i)],
                ours.values[static_cast<std::size_t>(i * kHidden + j)]);
    }
  }
}

TEST_F(OnnxExport, FileThatCannotBeWrittenStaysAsItWas) {
  const std::filesystem::path file = directory_.write("model.onnx", "before");
  plan_faults("write:1:ENOSPC", "");
  EXPECT_THAT(message_of<IoError>([&] { export_onnx(make_stored(MixerKind::gru), file); }),
              HasSubstr("model.onnx"));
  plan_faults("", "");
  EXPECT_EQ(read_file(file), "before");
}

TEST_F(OnnxExport, AttentionIsRefused) {
  EXPECT_THAT(message_of<UsageError>([&] {
                export_onnx(make_stored(MixerKind::attention), directory_ / "model.onnx");
              }),
              AllOf(HasSubstr("attention"), HasSubstr("every other mixer")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "model.onnx"));
}

#else

TEST(OnnxExport, IsRefusedWithTheNamesOfWhatIsMissing) {
  const TempDirectory directory;
  EXPECT_THAT(message_of<UsageError>(
                  [&] { export_onnx(make_stored(MixerKind::gru), directory / "model.onnx"); }),
              AllOf(HasSubstr("built without ONNX"), HasSubstr("libprotobuf-c-dev")));
  EXPECT_FALSE(std::filesystem::exists(directory / "model.onnx"));
}

#endif

}  // namespace
}  // namespace dsf
