#include "dsf/run/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "dsf/train/progress.h"
#include "tests/support/temp_directory.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

TrainReport train_report(dim_t step, double loss) {
  TrainReport report;
  report.step = step;
  report.loss = loss;
  report.seconds = static_cast<double>(step) * 2.0;
  return report;
}

EvalReport eval_report(dim_t step, double loss) {
  EvalReport report;
  report.step = step;
  report.loss = loss;
  return report;
}

TEST(RunLog, LossesAreWrittenToTheLastBit) {
  const TempDirectory directory;
  const double loss = 6.123456789012345678;
  RunLog::create({directory.path()})->write(train_report(1, loss));
  const json line = lines_of(slurp(directory / "log.jsonl")).at(0);
  EXPECT_EQ(line["event"], "train");
  EXPECT_EQ(line["loss"].get<double>(), loss);
}

TEST(RunLog, ReopeningDropsLaterStepsTornLinesAndTheEnd) {
  const TempDirectory directory;
  const RunPaths paths{directory.path()};
  {
    const auto log = RunLog::create(paths);
    log->write(train_report(1, 3.0));
    log->write(eval_report(2, 3.5));
    log->write(train_report(3, 2.0));
    log->write(eval_report(4, 2.5));
    log->write_done({});
  }
  std::ofstream(paths.log(), std::ios::app) << R"({"event":"tra)";
  std::ofstream(paths.metrics(), std::ios::app) << "2,0.5";
  const auto log = RunLog::reopen(paths, 2);
  EXPECT_EQ(log->seconds_before(), 0.0);  // of the eval line, the last that was kept
  log->write(train_report(3, 2.25));

  const std::vector<json> lines = lines_of(slurp(paths.log()));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[1]["step"], 2);
  EXPECT_EQ(lines[2]["loss"], 2.25);
  const std::string metrics = slurp(paths.metrics());
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 2) << metrics;
  EXPECT_THAT(metrics, HasSubstr("\n2,"));
}

TEST(RunLog, SecondsGoOnFromTheLastLine) {
  const TempDirectory directory;
  const RunPaths paths{directory.path()};
  RunLog::create(paths)->write(train_report(5, 1.0));
  EXPECT_EQ(RunLog::reopen(paths, 5)->seconds_before(), 10.0);
}

TEST(RunLog, MetricsHaveALineAnEvaluation) {
  const TempDirectory directory;
  EvalReport report = eval_report(40, 2.5);
  report.epoch = 0.5;
  report.train_loss = 2.75;
  report.perplexity = 12.0;
  report.learning_rate = 0.001;
  report.tokens_per_second = 1000.0;
  report.seconds = 7.0;
  RunLog::create({directory.path()})->write(report);
  EXPECT_EQ(slurp(directory / "metrics.csv"),
            "step,epoch,train_loss,valid_loss,valid_perplexity,learning_rate,tokens_per_second,"
            "seconds\n40,0.5,2.75,2.5,12,0.001,1000.0,7.000\n");
}

TEST(Progress, NumbersAreReadable) {
  EXPECT_EQ(format_duration(7.4), "7 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(12345678), "12,345,678");
}

TEST(Progress, LineTellsStepLossPaceAndTimeLeft) {
  TrainReport report = train_report(100, 2.0);
  report.total_steps = 300;
  report.seconds_left = 100.0;
  report.tokens_per_second = 12345.0;
  const std::string line = progress_line(report);
  EXPECT_THAT(line, HasSubstr("step 100/300"));
  EXPECT_THAT(line, HasSubstr("loss 2.0000"));
  EXPECT_THAT(line, HasSubstr("ppl 7.4"));
  EXPECT_THAT(line, HasSubstr("12,345 tokens/s"));
  EXPECT_THAT(line, HasSubstr("1 min 40 s left"));
}

}  // namespace
}  // namespace dsf
