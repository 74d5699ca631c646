// A GRU language model trained by Diagonal State Feedbacks.

#include <iostream>

#include "dsf/base/version.h"
#include "dsf/data/batcher.h"
#include "dsf/data/dataset.h"
#include "dsf/model/language_model.h"
#include "dsf/train/training_step.h"

int main() {
  std::cout << "dsf " << dsf::version() << " (" << dsf::build_type() << ", " << dsf::compiler()
            << ", commit " << dsf::git_commit() << ")\n";

  dsf::DataConfig text;
  text.corpus = "synthetic:recall:gap=8";  // or a text file, or a Penn Treebank directory
  const dsf::Dataset data = dsf::load_dataset(text, /*seed=*/1);
  const dsf::Tokenizer& tokenizer = *data.tokenizer;

  dsf::ModelConfig shape;
  shape.hidden = 32;
  dsf::LanguageModel model(shape, dsf::FeedbackConfig{}, tokenizer.vocab_size(), /*seed=*/1);
  dsf::Batcher batches(data.train, dsf::Batching::sentences, /*context=*/16, /*batch=*/32,
                       tokenizer.bos(), /*seed=*/1, /*shuffled=*/true);
  const dsf::StepSettings settings{.adam = {}, .learning_rate = 0.01, .clip = 1.0};
  dsf::AdamState adam;
  dsf::TokenBatch batch;
  for (int step = 1; step <= 300; ++step) {
    batches.next(batch);
    const dsf::StepResult result = dsf::training_step(model, batch, settings, adam);
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << result.sum.mean() << "\n";
  }
}
