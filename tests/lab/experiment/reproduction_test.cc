#include "lab/experiment/reproduction_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dsf/base/error.h"
#include "dsf/model/language_model.h"
#include "tests/support/small_text.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunConfig config_of(const PaperModel& model) {
  return with_assignments(RunConfig(), parse_assignments(model.settings));
}

// At full scale a model of an experiment is the one its file in configs/ describes.
TEST(PaperExperiments, FullScaleIsWhatTheConfigurationsSay) {
  for (const std::string& name : paper_experiment_names()) {
    const fs::path folder =
        fs::path(DSF_SOURCE_DIR) / "configs" / (name == "ptb" ? "ptb" : "wikitext-103");
    for (const PaperModel& model : paper_experiment(name, Scale::full).models) {
      RunConfig expected =
          with_assignments(RunConfig(), read_config_file(folder / (model.name + ".toml")));
      expected.feedback.method = RunConfig().feedback.method;  // the grid's
      EXPECT_EQ(to_toml(config_of(model)), to_toml(expected)) << name << " " << model.name;
    }
  }
}

TEST(PaperExperiments, QuickScaleIsAccepted) {
  for (const std::string& name : paper_experiment_names()) {
    for (const PaperModel& model : paper_experiment(name, Scale::quick).models) {
      const RunConfig config = config_of(model);
      EXPECT_GT(count_parameters(config.model, config.feedback, 2000), 0) << model.name;
      EXPECT_GT(config.train.steps, 0) << model.name;
    }
  }
}

// A longer context must not win by having seen more text.
TEST(PaperExperiments, ContextsAreTrainedOnEquallyManyTokensAtQuickScale) {
  const auto models = paper_experiment("length", Scale::quick).models;
  const RunConfig first = config_of(models.front());
  const auto tokens = [](const RunConfig& config, dim_t steps) {
    return steps * config.train.batch * config.data.context;
  };
  for (const PaperModel& model : models) {
    const RunConfig config = config_of(model);
    EXPECT_EQ(tokens(config, config.train.steps), tokens(first, first.train.steps)) << model.name;
    EXPECT_EQ(tokens(config, config.train.eval_every), tokens(first, first.train.eval_every))
        << model.name;
  }
  EXPECT_GT(config_of(models.back()).data.context, first.data.context);
}

TEST(PaperExperiments, UnknownNameIsRefusedWithTheNearest) {
  try {
    paper_experiment("dept", Scale::quick);
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"depth\""));
  }
}

class TinyGrid : public ::testing::Test {
 protected:
  TinyGrid() {
    reproduction_.experiment = paper_experiment("depth", Scale::quick);
    reproduction_.experiment.models.resize(2);
    reproduction_.out = directory_ / "grid";
    reproduction_.assignments =
        parse_assignments({"data.corpus=" + directory_.write("text.txt", small_text(120)).string(),
                           "data.vocab=0", "model.hidden=8", "train.steps=4", "train.eval_every=2",
                           "train.batch=4", "data.context=8", "train.threads=1"});
  }

  static int never() { return 0; }

  TempDirectory directory_;
  Reproduction reproduction_;
};

TEST_F(TinyGrid, TableAndJsonHaveOursBesideThePapers) {
  reproduction_.seeds = 2;
  const auto models = run_reproduction(reproduction_, never);
  const json report = json::parse(reproduction_json(reproduction_.experiment, models));
  ASSERT_EQ(report["models"].size(), 2U);
  const json& row = report["models"][1];
  EXPECT_EQ(row["model"], "gru_3L512");
  for (const char* method : {"bptt", "ft", "dsf"}) {
    ASSERT_EQ(row[method]["runs"].size(), 2U) << method;
    const double first = row[method]["runs"][0];
    const double second = row[method]["runs"][1];
    EXPECT_NE(first, second) << "two seeds";
    EXPECT_NEAR(row[method]["perplexity"], (first + second) / 2, 1e-9 * first);
    EXPECT_NEAR(row[method]["deviation"], std::abs(first - second) / std::sqrt(2.0), 1e-9 * first);
  }
  EXPECT_EQ(row["dsf"]["paper"], 31.54);
  EXPECT_EQ(row["paper_parameters_millions"], 28.2);
  EXPECT_NEAR(row["paper_dsf_to_bptt"], 31.54 / 28.32, 1e-12);
  EXPECT_THAT(reproduction_table(models).to_markdown(), HasSubstr("46.60"));
  EXPECT_EQ(reproduction_figure(reproduction_.experiment, models).curves.size(), 3U);
}

ModelRuns runs_of(const std::vector<double>& perplexities, dim_t seeds) {
  MethodRuns runs{"bptt", seeds, {}, {}, {}};
  for (const double perplexity : perplexities) {
    runs.runs.emplace_back().best_perplexity = perplexity;
  }
  return {PaperModel{"model", 0.0, {}, {"bptt"}}, {std::move(runs)}};
}

TEST(Reproduction, SaysHowManySeedsAreLeft) {
  const auto text = [](const std::vector<double>& perplexities) {
    return reproduction_table({runs_of(perplexities, 3)}).rows()[0][3];
  };
  EXPECT_EQ(text({10.0, 11.0, 12.0}), "11.00 ± 1.00");
  EXPECT_EQ(text({10.0, 12.0}), "11.00 ± 1.41 (2 of 3)");
  EXPECT_EQ(text({10.0}), "10.00 (1 of 3)");
  EXPECT_EQ(text({}), "-");
  const json report = json::parse(reproduction_json(PaperExperiment{}, {runs_of({10.0, 12.0}, 3)}));
  EXPECT_EQ(report["models"][0]["bptt"]["seeds"], 3);
  EXPECT_EQ(report["models"][0]["bptt"]["runs"].size(), 2U);
}

/// A run a method, with this best perplexity.
ModelRuns runs_by_method(const std::map<std::string, double>& perplexities) {
  ModelRuns model;
  for (const auto& [method, perplexity] : perplexities) {
    MethodRuns& runs = model.methods.emplace_back();
    runs.method = method;
    runs.runs.emplace_back().best_perplexity = perplexity;
  }
  return model;
}

TEST(Reproduction, SaysWhetherDsfLiesBetweenBpttAndFtBptt) {
  const auto expect_said = [](const std::map<std::string, double>& perplexities,
                              const std::string& text, const json& value) {
    const ModelRuns model = runs_by_method(perplexities);
    const json report = json::parse(reproduction_json(PaperExperiment{}, {model}));
    EXPECT_EQ(reproduction_table({model}).rows()[0].back(), text) << report;
    EXPECT_EQ(report["models"][0].at("dsf_between"), value) << report;
  };
  expect_said({{"bptt", 10.0}, {"dsf", 11.0}, {"ft", 12.0}}, "yes", true);
  expect_said({{"bptt", 10.0}, {"dsf", 10.0}, {"ft", 12.0}}, "yes", true);
  expect_said({{"bptt", 10.0}, {"dsf", 12.0}, {"ft", 12.0}}, "yes", true);
  expect_said({{"bptt", 10.0}, {"dsf", 13.0}, {"ft", 12.0}}, "no", false);
  expect_said({{"bptt", 11.0}, {"dsf", 10.0}, {"ft", 12.0}}, "no", false);
  expect_said({{"bptt", 10.0}, {"dsf", 11.0}}, "-", nullptr);
}

RunRecord run_of_evaluations(const std::vector<double>& perplexities) {
  RunRecord run;
  for (const double perplexity : perplexities) {
    EvalPoint& point = run.evaluations.emplace_back();
    point.epoch = static_cast<double>(run.evaluations.size());
    point.perplexity = perplexity;
  }
  return run;
}

TEST(Reproduction, CurveEndsWithTheShortestRun) {
  const RunRecord longer = run_of_evaluations({30.0, 20.0, 10.0});
  const RunRecord shorter = run_of_evaluations({50.0, 40.0});
  for (const auto& runs : {std::vector{longer, shorter}, std::vector{shorter, longer}}) {
    ModelRuns model;
    model.methods.push_back({"dsf", 2, runs});
    const Figure figure = curve_figures({model})[0].figure;
    ASSERT_EQ(figure.curves.size(), 2U);
    for (const Curve& curve : figure.curves) EXPECT_THAT(curve.x, ElementsAre(1.0, 2.0));
    EXPECT_THAT(figure.curves[0].y, ElementsAre(40.0, 30.0));
  }
}

TEST_F(TinyGrid, FinishedRunsAreReadBackAndStoppedOnesResumed) {
  int steps = 0;
  const auto stopped =
      run_reproduction(reproduction_, [&steps] { return ++steps > 6 ? SIGTERM : 0; });
  EXPECT_EQ(stopped[0].methods[0].runs.size(), 1U);
  EXPECT_TRUE(stopped[1].methods[2].runs.empty());
  const fs::path first = reproduction_.out / "gru_1L512" / "bptt" / "log.jsonl";
  const std::string log = slurp(first);

  const auto whole = run_reproduction(reproduction_, never);
  for (const ModelRuns& model : whole) {
    for (const MethodRuns& runs : model.methods) {
      ASSERT_EQ(runs.runs.size(), 1U) << model.model.name << runs.method;
      EXPECT_EQ(runs.runs[0].evaluations.back().step, 4.0);
    }
  }
  EXPECT_EQ(slurp(first), log);

  // Nothing is left to train: a run that starts would ask whether to stop.
  bool asked = false;
  const auto again = run_reproduction(reproduction_, [&asked] {
    asked = true;
    return 0;
  });
  EXPECT_FALSE(asked);
  EXPECT_EQ(reproduction_json(reproduction_.experiment, again),
            reproduction_json(reproduction_.experiment, whole));
}

TEST_F(TinyGrid, FinishedRunsOfOtherSettingsAreNotTakenForThese) {
  run_reproduction(reproduction_, never);
  reproduction_.assignments.push_back(parse_assignment("train.lr=0.5"));
  EXPECT_THROW(run_reproduction(reproduction_, never), UsageError);
}

TEST_F(TinyGrid, AStoppedRunIsNotGoneOnWithByOtherSettings) {
  int steps = 0;
  run_reproduction(reproduction_, [&steps] { return ++steps > 2 ? SIGTERM : 0; });
  const fs::path config = reproduction_.out / "gru_1L512" / "bptt" / "config.toml";
  const std::string before = slurp(config);
  reproduction_.assignments.push_back(parse_assignment("train.lr=0.5"));
  EXPECT_THROW(run_reproduction(reproduction_, never), UsageError);
  EXPECT_EQ(slurp(config), before);
}

/// Sets a value of the lines of one event in a run's log to null, as one is written that
/// overflowed.
void overflow(const fs::path& log, const std::string& event, const std::string& key, int lines) {
  std::istringstream in(slurp(log));
  std::ofstream out(log);
  for (std::string text; std::getline(in, text);) {
    json line = json::parse(text);
    if (line["event"] == event && lines-- > 0) line[key] = nullptr;
    out << line.dump() << "\n";
  }
}

TEST_F(TinyGrid, APerplexityThatIsNotFiniteIsNoPointOfTheCurve) {
  run_reproduction(reproduction_, never);
  overflow(reproduction_.out / "gru_1L512" / "bptt" / "log.jsonl", "eval", "perplexity", 1);
  const auto models = run_reproduction(reproduction_, never);
  ASSERT_EQ(models[0].methods[0].runs.size(), 1U);
  EXPECT_TRUE(std::isnan(models[0].methods[0].runs[0].evaluations[0].perplexity));
  const Figure figure = curve_figures(models)[0].figure;
  const Curve& validation = figure.curves[0];
  const Curve& training = figure.curves[1];
  EXPECT_EQ(validation.x.size() + 1, training.x.size());
  EXPECT_EQ(validation.x.size(), validation.y.size());
}

TEST_F(TinyGrid, CurvesHaveTrainingBesideValidation) {
  reproduction_.experiment.models.resize(1);
  const auto models = run_reproduction(reproduction_, never);
  const Figure figure = curve_figures(models)[0].figure;
  ASSERT_EQ(figure.curves.size(), 6U) << "two a method";
  const EvalPoint& last = models[0].methods[0].runs[0].evaluations.back();
  EXPECT_EQ(figure.curves[0].y.back(), last.perplexity);
  EXPECT_FALSE(figure.curves[0].faint);
  EXPECT_EQ(figure.curves[1].y.back(), std::exp(last.train_loss));
  EXPECT_TRUE(figure.curves[1].faint);
}

TEST_F(TinyGrid, AFinishedRunWithoutAFinitePerplexityHasDiverged) {
  run_reproduction(reproduction_, never);
  const fs::path log = reproduction_.out / "gru_1L512" / "bptt" / "log.jsonl";
  overflow(log, "eval", "perplexity", 100);
  overflow(log, "done", "best_perplexity", 1);
  const std::string before = slurp(log);
  const auto models = run_reproduction(reproduction_, never);
  EXPECT_TRUE(models[0].methods[0].runs.empty());
  EXPECT_EQ(slurp(log), before) << "and is not tried again";
}

}  // namespace
}  // namespace dsf
