// dsf tokenizer and dsf data, and training on sub-word pieces with every mixer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class TextCommands : public ProgramTest {
 protected:
  TextCommands() : ProgramTest(200) {}

  void train_tokenizer() const {
    run_ok({"tokenizer", "train", "--data", path("text.txt"), "--out", path("t.json")});
  }

  Words train_on_pieces(const std::string& run, const Words& settings) const {
    const Words pieces = {"data.tokenizer=bpe", "data.batching=blocks", "data.context=8",
                          "model.block=transformer", "train.steps=3"};
    return train(run, sets(joined(pieces, settings)));
  }
};

TEST_F(TextCommands, WhatIsEncodedIsDecoded) {
  train_tokenizer();
  const std::string text = " the  naïve\n\n日本 \xE2\x96\x81 end";
  const json ids =
      json::parse(run_ok({"tokenizer", "encode", path("t.json"), "--text", text, "--json"}));
  Words decode = {"tokenizer", "decode", path("t.json"), "--ids"};
  for (const json& id : ids) decode.push_back(id.dump());
  EXPECT_EQ(run_ok(decode), text);
}

TEST_F(TextCommands, IdsThatAreTooLargeAreRefused) {
  train_tokenizer();
  directory_.write("ids.txt", "99999999999 5\n");
  const std::string decode = "'" + dsf_program() + "' tokenizer decode '" + path("t.json") +
                             "' < '" + path("ids.txt") + "' > /dev/null 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(decode.c_str())), 2);
}

TEST_F(TextCommands, ATokenizerIsNotReplacedUnasked) {
  train_tokenizer();
  const Words again = {"tokenizer", "train", "--data", path("text.txt"), "--out", path("t.json")};
  const ProgramResult refused = run_dsf(again);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  run_ok(joined(again, {"--force"}));
}

TEST_F(TextCommands, EveryMixerTrainsOnPiecesAndEvaluates) {
  for (const char* mixer : {"gru", "attention", "ema"}) {
    run_ok(train_on_pieces(mixer, {std::string("model.mixer=") + mixer}));
    const json report = json::parse(run_ok({"eval", path(mixer), "--json", "--threads", "1"}));
    EXPECT_GT(report.at("perplexity").get<double>(), 1.0) << mixer;
    run_ok({"tokenizer", "encode", path(mixer), "--text", "the run's own tokenizer"});
  }
}

TEST_F(TextCommands, AttentionHasNoStateToCarry) {
  const ProgramResult result =
      run_dsf(train_on_pieces("run", {"model.mixer=attention", "data.batching=stream"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("data.batching"));
  EXPECT_THAT(result.err, HasSubstr("attention"));
}

TEST_F(TextCommands, DataCheckCountsEachSplit) {
  directory_.write("train.txt", "a b a\n\n c <unk>\n");
  directory_.write("valid.txt", "a d\n");
  const json report = json::parse(run_ok({"data", "check", directory_.path().string(), "--json"}));
  ASSERT_EQ(report.at("splits").size(), 2U);
  EXPECT_EQ(report["splits"][0]["lines"], 3);
  EXPECT_EQ(report["splits"][0]["tokens"], 5);
  EXPECT_EQ(report["splits"][0]["types"], 4);
  EXPECT_EQ(report["splits"][1]["unseen"], 1);
  EXPECT_THAT(run_ok({"data", "check", directory_.path().string()}), HasSubstr("not in train"));
  EXPECT_EQ(run_dsf({"data", "check", path("nothing")}).exit_code, 2);
}

TEST_F(TextCommands, ReproduceListsTheExperiments) {
  const std::string list = run_ok({"reproduce", "--list"});
  for (const char* name :
       {"ptb", "width", "cells", "depth", "length", "architectures", "feedback", "complexity"}) {
    EXPECT_THAT(list, HasSubstr(name));
  }
  EXPECT_EQ(run_dsf({"reproduce", "depth"}).exit_code, 2);
  const ProgramResult unknown =
      run_dsf({"reproduce", "dept", "--data", path("text.txt"), "--out", path("grid")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("depth"));
}

TEST_F(TextCommands, ReproduceWritesTablesAndUsesFinishedRunsAgain) {
  Words words = joined({"reproduce", "architectures", "--data", path("text.txt"), "--out",
                        path("grid"), "--threads", "1", "--json"},
                       sets({"data.vocab=0", "data.context=8", "model.hidden=8", "model.layers=1",
                             "train.batch=4", "train.steps=2", "train.eval_every=2"}));
  const json report = json::parse(run_ok(words));
  EXPECT_EQ(report["models"][0]["model"], "attention_3L512");
  EXPECT_EQ(report["models"][0]["bptt"]["paper"], 24.58);
  EXPECT_GT(report["models"][2]["dsf"]["perplexity"].get<double>(), 1.0);
  EXPECT_THAT(slurp(directory_ / "grid/architectures.md"), HasSubstr("| attention_3L512"));
  const auto before = snapshot(directory_ / "grid/gru_3L512");
  EXPECT_EQ(json::parse(run_ok(words)), report);
  EXPECT_EQ(snapshot(directory_ / "grid/gru_3L512"), before);

  // Another experiment with this model in the same directory takes its runs.
  const std::string table = slurp(directory_ / "grid/architectures.md");
  const auto shared = snapshot(directory_ / "grid/gru_3L512/dsf");
  words[1] = "depth";
  words.insert(words.end(), {"--only", "gru_3L512"});
  const json depth = json::parse(run_ok(words));
  EXPECT_EQ(depth["models"][0]["dsf"]["perplexity"], report["models"][2]["dsf"]["perplexity"]);
  EXPECT_EQ(snapshot(directory_ / "grid/gru_3L512/dsf"), shared);
  EXPECT_EQ(slurp(directory_ / "grid/architectures.md"), table);
}

TEST_F(TextCommands, ReproduceFeedbackTrainsTheMethodsOnBothTexts) {
  directory_.write("other.txt", slurp(path("text.txt")));
  const Words words =
      joined({"reproduce", "feedback", "--data", path("text.txt"), "--wikitext", path("other.txt"),
              "--only", "char_gru_1L128,wikitext_lstm_3L64", "--feedback", "bptt,ft,gated", "--out",
              path("grid"), "--threads", "1", "--json"},
             sets({"data.vocab=0", "data.context=8", "model.hidden=8", "train.batch=4",
                   "train.steps=2", "train.eval_every=2", "train.lr=0.01"}));
  const json report = json::parse(run_ok(words));
  EXPECT_EQ(report["rows"].size(), 6U);
  for (const json& row : report["rows"]) {
    const std::string model = row["model"];
    const std::string config = slurp(directory_ / "grid" / model / "gated/config.toml");
    EXPECT_THAT(config, HasSubstr(model.starts_with("char") ? "text.txt" : "other.txt"));
  }
  EXPECT_THAT(report["title"].get<std::string>(), HasSubstr("text.txt and other.txt, quick scale"));
}

}  // namespace
}  // namespace dsf
