// A feedback of one's own, added from outside the library: BPTT in windows. Gradients go back in
// time exactly, but not across the border of a window of K steps,
//
//   g_t = e_t + g_{t+1} J_{t+1}   where t + 1 is no multiple of K,   else   g_t = e_t
//
// K = 1 is the library's `ft`, and K as long as the sequences its `bptt`: checked below.

#include <algorithm>
#include <cmath>
#include <iostream>

#include "dsf/cells/slices.h"
#include "dsf/data/batcher.h"
#include "dsf/data/dataset.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/model/language_model.h"

namespace {

using dsf::dim_t;

class WindowFeedback final : public dsf::Feedback {
 public:
  explicit WindowFeedback(dim_t window) : window_(window) {}

  dsf::StateProductUse state_products() const override { return {.all = true}; }
  /// work.errors.
  dim_t workspace_numbers(const dsf::GradientShape& g) const override { return g.size(); }

  /// On entry g holds e. backward_step does the local backward pass of step t, then
  /// g_{t-1} += g_t J_t; at a border we put back what stood there before.
  void run(const dsf::PackedLayout& layout, dsf::BackwardAccess& cell, dsf::FeedbackWorkspace& work,
           dsf::MatrixF g) override {
    const dsf::MatrixF kept = work.errors.reshape(g.rows, g.cols);
    dsf::walk_backward(layout, dsf::kSliceRows, [&](dsf::StepRows rows) {
      const bool border = rows.t > 0 && rows.t % window_ == 0;
      const dim_t before = border ? layout.offset(rows.t - 1) + rows.begin : 0;
      const dim_t size = rows.count * g.cols;  // rows of g follow each other without a gap
      if (border) std::copy_n(g.row(before), size, kept.row(before));
      cell.backward_step(rows, dsf::RestPath::all, g);
      if (border) std::copy_n(kept.row(before), size, g.row(before));
    });
  }

 private:
  dim_t window_;
};

void register_window(const std::string& name, dim_t window) {
  dsf::register_feedback(
      name, [window](const dsf::FeedbackConfig&, dim_t, std::uint64_t, std::string_view) {
        return std::make_unique<WindowFeedback>(window);
      });
}

/// The gradient of one batch by a method, the library's or ours.
std::vector<float> gradient_by(const std::string& method, const dsf::Dataset& data) {
  dsf::ModelConfig shape;
  shape.hidden = 32;
  dsf::FeedbackConfig feedback;
  feedback.method = method;
  dsf::LanguageModel model(shape, feedback, data.tokenizer->vocab_size(), /*seed=*/1);
  dsf::Batcher batches(data.train, dsf::Batching::sentences, /*context=*/24, /*batch=*/16,
                       data.tokenizer->bos(), /*seed=*/1, /*shuffled=*/true);
  dsf::TokenBatch batch;
  batches.next(batch);
  model.prepare(dsf::Precision::f32);
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
  register_window("window-of-1", 1);
  register_window("window-of-4", 4);
  register_window("window-of-all", 1000);
  dsf::DataConfig text;
  text.corpus = "synthetic:recall";
  const dsf::Dataset data = dsf::load_dataset(text, /*seed=*/1);

  const std::vector<float> exact = gradient_by("bptt", data);
  for (const char* method : {"ft", "window-of-1", "window-of-4", "window-of-all"}) {
    std::cout << method << ": distance from BPTT's gradient "
              << distance(gradient_by(method, data), exact) << "\n";
  }
  const bool ends_meet =
      distance(gradient_by("window-of-1", data), gradient_by("ft", data)) < 1e-5 &&
      distance(gradient_by("window-of-all", data), exact) == 0.0;
  return ends_meet ? 0 : 1;
}
