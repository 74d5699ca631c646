// A feedback of one's own, added from outside the library: DSF with a single number for all units,
//
//   g_t = e_t + a g_{t+1}
//
// a = 0 is the library's `ft`, and any other a its `dsf` with a constant diagonal: checked below.

#include <algorithm>
#include <cmath>
#include <iostream>

#include "dsf/data/batcher.h"
#include "dsf/data/dataset.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/model/language_model.h"

namespace {

using dsf::dim_t;

class LeakyFeedback final : public dsf::Feedback {
 public:
  explicit LeakyFeedback(float a) : a_(a) {}

  /// pass.g() holds e. The walk does the local backward of every row, from the last step to the
  /// first, and asks what is carried from g_t to g_{t-1}.
  void run(dsf::BackwardPass& pass) override {
    pass.walk([this](dsf::ConstMatrixF g_t, dsf::MatrixF g_previous) {
      for (dim_t i = 0; i < g_t.rows; ++i) {
        for (dim_t j = 0; j < g_t.cols; ++j) g_previous(i, j) += a_ * g_t(i, j);
      }
    });
  }

 private:
  float a_;
};

void register_leaky(const std::string& name, float a) {
  dsf::register_feedback(name,
                         [a](const dsf::FeedbackConfig&, dim_t, std::uint64_t, std::string_view) {
                           return std::make_unique<LeakyFeedback>(a);
                         });
}

/// The gradient of one batch by a method, the library's or ours.
std::vector<float> gradient_by(const dsf::FeedbackConfig& feedback, const dsf::Dataset& data) {
  dsf::ModelConfig shape;
  shape.hidden = 32;
  dsf::LanguageModel model(shape, feedback, data.tokenizer->vocab_size(), /*seed=*/1);
  dsf::Batcher batches(data.train, dsf::Batching::sentences, /*context=*/24, /*batch=*/16,
                       data.tokenizer->bos(), /*seed=*/1, /*shuffled=*/true);
  dsf::TokenBatch batch;
  batches.next(batch);
  model.forward_backward(batch, 1.0 / double(batch.tokens()));
  return {model.gradients().begin(), model.gradients().end()};
}

/// |a - b| / |b|
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - double(b[i]), 2);
    size += std::pow(double(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

}  // namespace

int main() {
  register_leaky("leaky-0", 0.0F);
  register_leaky("leaky-0.5", 0.5F);
  dsf::DataConfig text;
  text.corpus = "synthetic:recall";
  const dsf::Dataset data = dsf::load_dataset(text, /*seed=*/1);

  const std::vector<float> exact = gradient_by({.method = "bptt"}, data);
  const std::vector<float> truncated = gradient_by({.method = "ft"}, data);
  const std::vector<float> diagonal = gradient_by(
      {.method = "dsf", .init = dsf::DiagonalInit::constant, .range = {0.5, 0.5}}, data);
  const std::vector<float> leaky = gradient_by({.method = "leaky-0.5"}, data);
  std::cout << "distance from BPTT's gradient: ft " << distance(truncated, exact) << ", leaky-0.5 "
            << distance(leaky, exact) << "\n";
  const bool agrees = distance(gradient_by({.method = "leaky-0"}, data), truncated) < 1e-5 &&
                      distance(leaky, diagonal) < 1e-5;
  return agrees ? 0 : 1;
}
