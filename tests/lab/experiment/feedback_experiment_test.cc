#include "lab/experiment/feedback_experiment.h"
#include "lab/experiment/feedback_report.h"
#include "lab/experiment/reproduction_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/model/language_model.h"
#include "lab/experiment/step_time.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

int never() { return 0; }

std::vector<std::string> model_names(Scale scale) {
  std::vector<std::string> names;
  for (const PaperModel& model : feedback_experiment(scale, "wikitext").models) {
    names.push_back(model.name);
  }
  return names;
}

TEST(FeedbackExperiment, HasTheseModels) {
  EXPECT_THAT(model_names(Scale::quick),
              UnorderedElementsAre("char_gru_1L128", "char_lstm_1L128", "char_rnn_1L128",
                                   "word_gru_3L64", "word_lstm_3L64", "word_rnn_3L64",
                                   "wikitext_gru_3L64", "wikitext_lstm_3L64", "wikitext_rnn_3L64"));
  EXPECT_THAT(
      model_names(Scale::full),
      UnorderedElementsAre("char_gru_1L256", "char_lstm_1L256", "char_rnn_1L256", "word_gru_1L256",
                           "word_lstm_1L256", "word_rnn_1L256", "word_gru_3L256", "word_lstm_3L256",
                           "word_rnn_3L256", "recall_16", "recall_64", "recall_256", "recall_1024",
                           "wikitext_gru_3L512", "wikitext_lstm_3L512", "wikitext_rnn_3L512"));
}

TEST(FeedbackExperiment, TrainsEveryMethodOfTheLibraryAtFullScale) {
  std::set<std::string> trained;
  for (const PaperModel& model : feedback_experiment(Scale::full, "wikitext").models) {
    trained.insert(model.methods.begin(), model.methods.end());
  }
  for (const std::string& name : feedback_methods()) {
    EXPECT_TRUE(std::ranges::any_of(trained, [&name](const std::string& method) {
      return is_named(method, name);
    })) << name;
  }
}

TEST(FeedbackExperiment, TrainsTheSameMethodsOnEveryModelAtQuickScale) {
  const std::vector<PaperModel> models = feedback_experiment(Scale::quick, "wikitext").models;
  for (const PaperModel& model : models) {
    EXPECT_EQ(model.methods, models.front().methods) << model.name;
  }
  EXPECT_THAT(models.front().methods, IsSupersetOf({"bptt", "ft", "dsf"}));
}

TEST(FeedbackExperiment, HasEveryCellAndAtLeastNineMethodsInBothScales) {
  for (const Scale scale : {Scale::quick, Scale::full}) {
    std::set<std::string> cells;
    for (const PaperModel& model : feedback_experiment(scale, "wikitext").models) {
      const RunConfig config = with_assignments(RunConfig(), parse_assignments(model.settings));
      cells.emplace(name_of(config.model.mixer));
      for (const std::string& method : model.methods) {
        FeedbackConfig feedback;
        feedback.method = method;
        EXPECT_GT(count_parameters(config.model, feedback, 50), 0) << model.name << method;
      }
      EXPECT_GE(model.methods.size(), 9U);
      EXPECT_GE(model.rates.size(), 2U) << "the same choice of rates for all methods";
    }
    EXPECT_EQ(cells, (std::set<std::string>{"gru", "lstm", "rnn"}));
  }
}

TEST(FeedbackExperiment, WikitextIsLeftOutWhereItIsNotGiven) {
  const auto of_wikitext = [](const PaperModel& model) {
    return model.name.starts_with("wikitext");
  };
  for (const Scale scale : {Scale::quick, Scale::full}) {
    EXPECT_TRUE(std::ranges::none_of(feedback_experiment(scale, "").models, of_wikitext));
    EXPECT_EQ(std::ranges::count_if(feedback_experiment(scale, "DIR").models, of_wikitext), 3);
  }
}

class TinyFeedbackGrid : public ::testing::Test {
 protected:
  TinyFeedbackGrid() {
    reproduction_.experiment = feedback_experiment(Scale::quick, "");
    reproduction_.experiment.models.resize(1);
    reproduction_.experiment.models[0].methods = {"bptt", "ft", "adaptive"};
    reproduction_.out = directory_ / "grid";
    reproduction_.assignments =
        parse_assignments({"data.corpus=" + directory_.write("text.txt", small_text(120)).string(),
                           "model.hidden=8", "train.steps=4", "train.eval_every=2", "train.batch=4",
                           "data.context=8", "train.threads=1"});
  }

  const PaperModel& model() const { return reproduction_.experiment.models[0]; }

  TempDirectory directory_;
  Reproduction reproduction_;
};

TEST_F(TinyFeedbackGrid, EachMethodTakesTheRateThatIsBestForSeedOne) {
  reproduction_.seeds = 2;
  const auto models = run_reproduction(reproduction_, never);
  for (const MethodRuns& runs : models[0].methods) {
    ASSERT_EQ(runs.tuning.size(), model().rates.size());
    ASSERT_TRUE(runs.rate);
    for (const auto& [rate, perplexity] : runs.tuning) {
      EXPECT_GE(perplexity, runs.tuning.at(*runs.rate)) << runs.method << " " << rate;
    }
    ASSERT_EQ(runs.runs.size(), 2U);
    EXPECT_EQ(runs.runs[0].best_perplexity, runs.tuning.at(*runs.rate));
    EXPECT_NE(runs.runs[1].best_perplexity, runs.runs[0].best_perplexity) << "two seeds";
  }
}

TEST_F(TinyFeedbackGrid, AGivenRateIsTheOnlyOne) {
  reproduction_.assignments.push_back(parse_assignment("train.lr=0.02"));
  const auto models = run_reproduction(reproduction_, never);
  for (const MethodRuns& runs : models[0].methods) {
    EXPECT_FALSE(runs.rate) << runs.method;
    ASSERT_EQ(runs.runs.size(), 1U);
    EXPECT_EQ(read_run_config(runs.runs[0].root).train.lr, 0.02);
  }
}

TEST_F(TinyFeedbackGrid, RowsHaveGapTestAndStepTimeAndAreReadBackAtNoCost) {
  const auto models = run_reproduction(reproduction_, never);
  const auto rows = feedback_rows(reproduction_, models, never);
  ASSERT_EQ(rows.size(), 3U);
  for (const FeedbackRow& row : rows) {
    ASSERT_TRUE(row.validation && row.test && row.gap && row.test_gap && row.step_time);
    EXPECT_NEAR(*row.gap, row.validation->mean / rows[0].validation->mean - 1.0, 1e-12);
    EXPECT_GT(*row.step_time, 0.0);
  }
  EXPECT_EQ(*rows[0].gap, 0.0) << "BPTT beside itself";
  EXPECT_EQ(*rows[1].step_time, 1.0) << "FT-BPTT beside itself";

  const json report = json::parse(feedback_json(reproduction_.experiment, rows));
  EXPECT_EQ(report["rows"][2]["method"], "adaptive");
  EXPECT_EQ(report["rows"][2]["tuning"].size(), model().rates.size());
  EXPECT_THAT(feedback_table(rows).to_markdown(), HasSubstr("FT-BPTT"));
  EXPECT_EQ(feedback_figure(model().name, rows).curves.size(), 3U);
  EXPECT_EQ(curve_figures(models)[0].figure.curves[0].x.size(), 2U) << "an evaluation a point";

  // All of it was kept: if nothing may be measured, nothing is missing.
  const auto stopped = [] { return SIGTERM; };
  const auto again =
      feedback_rows(reproduction_, run_reproduction(reproduction_, stopped), stopped);
  EXPECT_EQ(feedback_json(reproduction_.experiment, again),
            feedback_json(reproduction_.experiment, rows));
}

TEST_F(TinyFeedbackGrid, TestPerplexityOfAnotherCheckpointIsNotBelieved) {
  reproduction_.experiment.models[0].methods = {"ft"};  // whose step time is known
  reproduction_.experiment.models[0].rates = {0.01};
  const auto models = run_reproduction(reproduction_, never);
  const std::filesystem::path run = models[0].methods[0].runs.at(0).root;
  const auto test_perplexity = [&] {
    return feedback_rows(reproduction_, models, never).at(0).test.value().mean;
  };
  const double measured = test_perplexity();
  const json kept = json::parse(slurp(run / "test.json"));
  EXPECT_EQ(kept.at("perplexity"), measured);
  EXPECT_EQ(kept.at("of"), to_hex(hash_bytes(slurp(run / "checkpoints" / "best" / "state.json"))));

  json written = kept;
  const auto perplexity_with_file = [&](const json& file) {
    std::ofstream(run / "test.json") << file.dump();
    return test_perplexity();
  };
  written["perplexity"] = 1.5;
  EXPECT_EQ(perplexity_with_file(written), 1.5) << "of this checkpoint";
  written["of"] = "0123456789abcdef";
  EXPECT_EQ(perplexity_with_file(written), measured);
  written.erase("of");
  EXPECT_EQ(perplexity_with_file(written), measured);
  EXPECT_EQ(json::parse(slurp(run / "test.json")), kept) << "and is replaced";
  std::filesystem::remove_all(run / "checkpoints");
  EXPECT_EQ(test_perplexity(), measured) << "what was measured counts if room was made";
}

TEST_F(TinyFeedbackGrid, ADivergedRunIsNotTriedAgain) {
  reproduction_.experiment.models[0].methods = {"bptt"};
  reproduction_.experiment.models[0].rates = {0.01, 1e30};
  const auto models = run_reproduction(reproduction_, never);
  EXPECT_EQ(models[0].methods[0].rate, 0.01);
  EXPECT_FALSE(models[0].methods[0].tuning.contains(1e30));
  bool asked = false;
  run_reproduction(reproduction_, [&asked] {
    asked = true;
    return 0;
  });
  EXPECT_FALSE(asked) << "a run that starts asks whether to stop";
}

}  // namespace
}  // namespace dsf
