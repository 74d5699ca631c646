#include "dsf/model/step_memory.h"

#include <gtest/gtest.h>

#include "dsf/feedback/feedback_registry.h"

namespace dsf {
namespace {

constexpr BatchShape kBatch = {120, 10, 12, true};

class KeepsErrors final : public Feedback {
 public:
  void run(BackwardPass& pass) override {
    const MatrixF g = pass.g();
    errors_.reshape(g.rows, g.cols);
    pass.local_backward();
  }
  dim_t workspace_numbers(const GradientShape& g) const override { return g.size(); }

 private:
  Matrix errors_;
};

double bytes_of(const ModelConfig& model, const std::string& method) {
  FeedbackConfig feedback;
  feedback.method = method;
  return step_memory(model, feedback, 50, kBatch, Precision::f32);
}

TEST(StepMemory, OfARegisteredFeedbackIsWhatItSays) {
  register_feedback("keeps-errors",
                    [](const auto& /*config*/, auto /*state_size*/, auto /*seed*/,
                       auto /*purpose*/) { return std::make_unique<KeepsErrors>(); });
  ModelConfig model;
  model.mixer = MixerKind::lstm;
  model.hidden = 16;
  model.layers = 3;
  const dim_t state = 2 * model.hidden;
  const auto errors = static_cast<double>(model.layers * kBatch.rows * state) * sizeof(float);
  EXPECT_DOUBLE_EQ(bytes_of(model, "keeps-errors"), bytes_of(model, "ft") + errors);
}

}  // namespace
}  // namespace dsf
