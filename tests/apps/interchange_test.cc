// dsf export and dsf import: bit-exact round trips, and agreement with PyTorch if it is there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsf/base/error.h"
#include "dsf/model/model_tensors.h"
#include "dsf/model/safetensors.h"
#include "dsf/use/interchange.h"
#include "dsf/use/interchange_config.h"
#include "dsf/use/stored_model.h"
#include "tests/support/deep_json.h"
#include "tests/support/message_of.h"
#include "tests/support/program_fixture.h"
#include "tests/support/small_text.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kPython = "/usr/bin/python3 -B";  // -B: leaves nothing in the source tree

bool has_torch() {
  static const bool found =
      std::system((std::string(kPython) + " -c 'import torch' 2>/dev/null").c_str()) == 0;
  return found;
}

class Interchange : public ProgramTest {
 protected:
  Interchange() { directory_.write("valid.txt", small_text(20, 8)); }

  void make_run(const std::string& run, const Words& settings = {}) const {
    const Words two_layers = {"model.hidden=16", "model.layers=2", "data.context=8",
                              "train.lr=0.05"};
    run_ok(train(run, joined({"--valid", path("valid.txt"), "--steps", "4", "--precision", "f32"},
                             sets(joined(two_layers, settings)))));
  }

  /// What a Python script of tests/apps prints: numbers.
  std::vector<double> numbers_from(const std::string& script, const std::string& arguments) const {
    const std::string command = std::string(kPython) + " '" + DSF_SOURCE_DIR + "/tests/apps/" +
                                script + "' " + arguments + " > '" + path("numbers") + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::istringstream in(slurp(path("numbers")));
    std::vector<double> numbers;
    for (double number = 0.0; in >> number;) numbers.push_back(number);
    return numbers;
  }

  static void expect_logits(LanguageModel& model, const std::vector<token_t>& tokens,
                            const std::vector<double>& expected) {
    TokenBatch batch{PackedLayout::uniform(static_cast<dim_t>(tokens.size()), 1), tokens, tokens};
    Matrix logits(batch.tokens(), model.vocab());
    model.logits(batch, nullptr, logits);
    const ConstMatrixF view = logits;
    ASSERT_EQ(expected.size(), static_cast<std::size_t>(view.rows * view.cols));
    double largest = 0.0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // f32 on both sides, in another order of sums.
      ASSERT_NEAR(static_cast<double>(view.data[i]), expected[i], 1e-4) << i;
      largest = std::max(largest, std::abs(static_cast<double>(view.data[i]) - expected[i]));
    }
    RecordProperty("largest_difference", testing::PrintToString(largest));  // --gtest_output=xml
  }
};

struct Case {
  const char* name;
  ModelConfig model;
};

void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

class EveryModel : public Interchange, public ::testing::WithParamInterface<Case> {
 protected:
  static constexpr dim_t kVocab = 11;

  static LanguageModel make_model(std::uint64_t seed) {
    return {GetParam().model, FeedbackConfig{}, kVocab, seed};
  }
};

TEST_P(EveryModel, ComesBackToTheBit) {
  LanguageModel model = make_model(1);
  LanguageModel other = make_model(2);
  const std::string file = path("model.safetensors");
  write_torch_weights(model, file);
  read_torch_weights(SafetensorsFile::read(file), file, other);
  const auto expected = model_tensors(model);
  const auto got = model_tensors(other);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, expected[i].name);
    EXPECT_TRUE(std::ranges::equal(got[i].values, expected[i].values)) << got[i].name;
  }
}

TEST_P(EveryModel, PyTorchAgreesOnTheLogits) {
  if (!has_torch()) GTEST_SKIP() << "PyTorch is not installed for " << kPython;
  LanguageModel model = make_model(1);
  for (float& weight : model.mutable_weights()) weight *= 3.0F;  // far from linear
  write_torch_weights(model, path("model.safetensors"));
  InterchangeConfig config;
  config.run.model = GetParam().model;
  config.vocab = kVocab;
  directory_.write("config.json", to_json(config));
  expect_logits(model, {1, 5, 9, 4, 4, 7},
                numbers_from("torch_logits.py", "'" + path("model.safetensors") + "' 1 5 9 4 4 7"));
}

ModelConfig shape(MixerKind mixer, BlockKind block, bool skip = true,
                  GruReset reset = GruReset::after) {
  return {mixer, 16, 2, block, skip, reset, 8};
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    ::testing::Values(Case{"rnn", shape(MixerKind::rnn, BlockKind::plain)},
                      Case{"gru", shape(MixerKind::gru, BlockKind::plain)},
                      Case{"gru_before",
                           shape(MixerKind::gru, BlockKind::plain, true, GruReset::before)},
                      Case{"lstm", shape(MixerKind::lstm, BlockKind::plain, false)},
                      Case{"lstm_transformer", shape(MixerKind::lstm, BlockKind::transformer)},
                      Case{"ema", shape(MixerKind::ema, BlockKind::plain)},
                      Case{"attention", shape(MixerKind::attention, BlockKind::transformer)}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(Interchange, RunComesBackToTheBit) {
  for (const std::string& mixer : choice_names<CellKind>()) {
    make_run(mixer, {"model.mixer=" + mixer});
    const std::string file = path(mixer + "_export/model.safetensors");
    const std::string back = mixer + "_back/";
    run_ok({"export", path(mixer), "--out", file});
    run_ok({"import", file, "--out", path(back)});
    for (const char* name : {"checkpoints/best/weights.safetensors", "tokenizer", "config.toml"}) {
      EXPECT_EQ(slurp(path(back + name)), slurp(path(mixer + "/" + name))) << name;
    }
    EXPECT_EQ(json::parse(run_ok({"eval", path(back), "--json"}))["loss"],
              json::parse(run_ok({"eval", path(mixer), "--json"}))["loss"]);
  }
}

TEST_F(Interchange, ThePythonExamplePrintsThePerplexityOfEval) {
  if (!has_torch()) GTEST_SKIP() << "PyTorch is not installed for " << kPython;
  for (const char* batching : {"sentences", "blocks", "stream"}) {
    const std::string run = std::string("run_") + batching;
    make_run(run, {"data.tokenizer=char", std::string("data.batching=") + batching});
    const std::string model = path(run + "/model.safetensors");
    run_ok({"export", path(run), "--out", model});
    const json report = json::parse(run_ok({"eval", path(run), "--json"}));
    const std::string command = std::string(kPython) + " '" + DSF_SOURCE_DIR +
                                "/examples/load_in_pytorch.py' '" + model + "' '" +
                                path("valid.txt") + "' > '" + path("printed") + "'";
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::istringstream in(slurp(path("printed")));
    std::string word;
    long tokens = 0;
    double loss = 0.0;
    in >> word >> tokens >> word >> loss;
    EXPECT_EQ(tokens, report["tokens"]) << batching;
    EXPECT_NEAR(loss, report["loss"].get<double>(), 1e-5) << batching;
  }
}

TEST_F(Interchange, NamesAndGateOrderArePyTorchs) {
  make_run("run", {"model.mixer=lstm"});
  run_ok({"export", path("run"), "--out", path("model.safetensors")});
  const std::string file = slurp(path("model.safetensors"));
  for (const char* name :
       {"\"embedding.weight\"", "\"blocks.0.mixer.weight_ih_l0\"", "\"blocks.1.mixer.bias_hh_l0\"",
        "\"blocks.0.proj.weight\"", "\"head.bias\"", "\"format\":\"pt\""}) {
    EXPECT_THAT(file, HasSubstr(name));
  }
  const json config = json::parse(slurp(path("config.json")));
  EXPECT_EQ(config["format"], "dsf-model");
  EXPECT_EQ(config["config"]["model"]["mixer"], "lstm");
  EXPECT_EQ(config["tokenizer"]["kind"], "word");
}

TEST_F(Interchange, PlainTorchModulesGiveTheSameLogits) {
  if (!has_torch()) GTEST_SKIP() << "PyTorch is not installed for " << kPython;
  make_run("run");
  const dim_t vocab = open_stored_model(path("run"), "best", 1).model->vocab();
  for (const std::string kind : {"RNN", "GRU", "LSTM"}) {
    const std::string file = path(kind + ".safetensors");
    const auto expected = numbers_from("torch_module.py", kind + " " + std::to_string(vocab) +
                                                              " 12 3 '" + file + "' 2 5 9 4 4 7 3");
    run_ok({"import", file, "--tokenizer", path("run"), "--out", path(kind)});
    expect_logits(*open_stored_model(path(kind), "best", 1).model, {2, 5, 9, 4, 4, 7, 3}, expected);
    EXPECT_FALSE(run_ok({"generate", path(kind), "--tokens", "5"}).empty());
    run_ok({"train", "--resume", "--out", path(kind), "--data", path("text.txt"), "--steps", "2"});
  }
}

TEST_F(Interchange, ImportedRunGoesOnTraining) {
  make_run("run");
  run_ok({"export", path("run"), "--checkpoint", "last", "--out", path("model.safetensors")});
  run_ok({"import", path("model.safetensors"), "--out", path("back")});
  run_ok({"train", "--resume", "--out", path("back"), "--steps", "7"});
  EXPECT_THAT(slurp(path("back/log.jsonl")), HasSubstr("\"steps\":7"));
}

TEST_F(Interchange, ConfigurationOfDeletedWeightsIsReplaced) {
  make_run("run");
  run_ok({"export", path("run"), "--out", path("old.safetensors")});
  fs::remove(path("old.safetensors"));
  EXPECT_EQ(run_dsf({"export", path("run"), "--out", path("new.safetensors")}).exit_code, 2);
  run_ok({"export", path("run"), "--out", path("new.safetensors"), "--force"});
  run_ok({"import", path("new.safetensors"), "--out", path("back")});
}

TEST_F(Interchange, NothingIsOverwrittenAndWrongFilesLeaveNoRun) {
  make_run("run");
  run_ok({"export", path("run"), "--out", path("model.safetensors")});
  const auto before = snapshot(directory_.path());
  EXPECT_EQ(run_dsf({"export", path("run"), "--out", path("model.safetensors")}).exit_code, 2);
  EXPECT_EQ(run_dsf({"import", path("model.safetensors"), "--out", path("run")}).exit_code, 2);
  EXPECT_EQ(run_dsf({"import", path("none"), "--out", path("new")}).exit_code, 2);
  EXPECT_EQ(run_dsf({"import", path("text.txt"), "--out", path("new")}).exit_code, 2);
  EXPECT_EQ(snapshot(directory_.path()), before);
  run_ok({"export", path("run"), "--out", path("model.safetensors"), "--force"});
  const ProgramResult second =
      run_dsf({"export", path("run"), "--out", path("other.safetensors"), "--force"});
  EXPECT_EQ(second.exit_code, 2) << "config.json is the first one's";
  EXPECT_THAT(second.err, HasSubstr("model.safetensors"));

  const std::string good = slurp(path("config.json"));
  json config = json::parse(good);
  config["config"]["model"]["hidden"] = 17;
  directory_.write("config.json", config.dump());
  const ProgramResult shape = run_dsf({"import", path("model.safetensors"), "--out", path("new")});
  EXPECT_EQ(shape.exit_code, 2);
  EXPECT_THAT(shape.err, HasSubstr("embedding.weight"));
  config["config"]["model"]["hiden"] = 17;
  directory_.write("config.json", config.dump());
  const ProgramResult key = run_dsf({"import", path("model.safetensors"), "--out", path("new")});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_THAT(key.err, HasSubstr("did you mean"));
  for (const char* text : {"", "[]", "{", "{\"format\":\"dsf-model\",\"version\":1}"}) {
    directory_.write("config.json", text);
    EXPECT_EQ(run_dsf({"import", path("model.safetensors"), "--out", path("new")}).exit_code, 2);
  }
  fs::remove(path("config.json"));
  EXPECT_EQ(run_dsf({"import", path("model.safetensors"), "--out", path("new")}).exit_code, 2);
  EXPECT_EQ(run_dsf({"import", path("model.safetensors"), "--tokenizer", path("run"), "--out",
                     path("new")})
                .exit_code,
            2);
  EXPECT_FALSE(fs::exists(path("new")));
}

TEST(InterchangeConfigFile, WithoutABottomIsRefused) {
  for (const std::string& text :
       {bottomless_json(), R"({"format":)" + bottomless_json() + "}",
        R"({"format":"dsf-model","version":)" + bottomless_json() + "}"}) {
    EXPECT_THAT(message_of<ConfigError>([&] { parse_interchange_config(text, "config.json"); }),
                AllOf(HasSubstr("config.json"), HasSubstr("nested")));
  }
}

}  // namespace
}  // namespace dsf
