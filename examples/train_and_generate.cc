// A run from its start to text: trains a language model into a run directory, as `dsf train` does,
// opens the best checkpoint as `dsf eval` and `dsf generate` do, measures it on unseen text and lets
// it write. Exit code 1 if it learnt nothing.

#include <cmath>
#include <filesystem>
#include <iostream>

#include "dsf/base/error.h"
#include "dsf/train/training_run.h"
#include "dsf/use/evaluation.h"
#include "dsf/use/generation.h"
#include "dsf/use/stored_model.h"

namespace {

/// Told by the run what happens in it.
class Printer final : public dsf::TrainObserver {
  void on_eval(const dsf::EvalReport& report) override {
    std::cout << "step " << report.step << "  validation perplexity " << report.perplexity << "\n";
  }
};

int train_and_use(const std::filesystem::path& directory) {
  dsf::RunRequest request;
  request.out = directory;
  request.force = true;  // replaces a run that is there, and nothing else
  request.assignments = dsf::parse_assignments(
      {"data.corpus=synthetic:recall:gap=4", "data.context=16", "model.hidden=32", "train.batch=32",
       "train.steps=300", "train.eval_every=100", "train.lr=0.01", "feedback.method=dsf"});
  Printer printer;
  const dsf::RunSummary summary = dsf::run_training(request, printer);
  std::cout << summary.parameters << " parameters, " << summary.tokens << " tokens\n";

  dsf::StoredModel stored = dsf::open_stored_model(directory, dsf::kAnyCheckpoint, /*threads=*/0);
  const dsf::Dataset data = dsf::load_dataset_of(directory, stored);
  const dsf::LossSum sum =
      dsf::evaluate_split(data.test, stored.config, stored.tokenizer->bos(), *stored.model);
  const dsf::EvaluationReport result = dsf::report_of(sum, data.test);
  std::cout << "test perplexity " << result.perplexity << "\n";

  dsf::GenerationSession session(*stored.model, *stored.tokenizer, stored.config.data);
  dsf::Sampler sampler({.temperature = 0.8});
  dsf::Rng rng(/*seed=*/1);
  std::vector<dsf::token_t> words;
  while (words.size() < 32) words.push_back(session.next(sampler, rng));
  std::cout << stored.tokenizer->decode(words) << "\n";

  // A model that has learnt nothing gives every token of the vocabulary the same probability.
  const double guessing = std::log(static_cast<double>(stored.tokenizer->vocab_size()));
  return result.loss < 0.8 * guessing ? 0 : 1;
}

}  // namespace

int main(int count, char** words) try {
  return train_and_use(count > 1 ? words[1] : "train_and_generate.run");
} catch (const dsf::Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
