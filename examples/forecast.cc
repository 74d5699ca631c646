// A GRU layer without the language model: it forecasts a noisy series, one value ahead, trained by
// Diagonal State Feedbacks with a loss of our own. Exit code 1 if it learnt nothing.

#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

#include "dsf/base/rng.h"
#include "dsf/layers/initial_weights.h"
#include "dsf/layers/linear.h"
#include "dsf/layers/recurrent.h"
#include "dsf/optim/adam.h"

namespace {

using dsf::dim_t;

constexpr dim_t kSteps = 60;  // T: values of a window
constexpr dim_t kBatch = 32;  // B: windows at a time
constexpr dim_t kHidden = 32;

/// Two waves, one of which comes and goes, and noise.
std::vector<float> make_series(dim_t length) {
  dsf::Rng rng(1, "series");
  std::vector<float> series;
  for (dim_t i = 0; i < length; ++i) {
    const double t = 2.0 * std::numbers::pi * double(i);
    const double clean = std::sin(t / 23.0) + 0.6 * std::sin(t / 7.0) * std::sin(t / 210.0);
    series.push_back(static_cast<float>(clean + 0.05 * rng.normal()));
  }
  return series;
}

/// Windows of a series, time-major as layers want them: row t * B + b is step t of window b.
struct Windows {
  dsf::Matrix x{kSteps * kBatch, 1};
  dsf::Matrix next{kSteps * kBatch, 1};  // the value after each

  void draw(const std::vector<float>& series, dim_t begin, dim_t end, dsf::Rng& rng) {
    for (dim_t b = 0; b < kBatch; ++b) {
      const dim_t start = begin + rng.below(end - begin - kSteps);
      for (dim_t t = 0; t < kSteps; ++t) {
        x.view()(t * kBatch + b, 0) = series[static_cast<std::size_t>(start + t)];
        next.view()(t * kBatch + b, 0) = series[static_cast<std::size_t>(start + t + 1)];
      }
    }
  }
};

/// Our own loss, log cosh(y - target), mean over rows: quadratic near zero, linear far away. `dy`
/// gets its gradient, tanh(y - target) / N.
double log_cosh_loss(dsf::ConstMatrixF y, dsf::ConstMatrixF target, dsf::MatrixF dy) {
  double sum = 0.0;
  for (dim_t i = 0; i < y.rows; ++i) {
    const double error = double(y(i, 0)) - double(target(i, 0));
    sum += std::log(std::cosh(error));
    dy(i, 0) = static_cast<float>(std::tanh(error) / double(y.rows));
  }
  return sum / double(y.rows);
}

/// GRU, then a linear map to the forecast. Both keep their parameters in one flat buffer.
struct Forecaster {
  dsf::ParameterTable table;
  std::unique_ptr<dsf::RecurrentLayer> gru = dsf::make_recurrent_layer(
      table, "gru.", "gru", "after", /*input=*/1, kHidden, dsf::FeedbackConfig{}, /*seed=*/1);
  dsf::Linear out{table, "out.", kHidden, 1, dsf::Init::normal(0.1F)};

  dsf::ParameterValues weights{table};
  dsf::Buffer<float> gradients{table.flat_size()};
  std::unique_ptr<dsf::MixerTape> tape = gru->make_tape();
  dsf::LinearScratch scratch;
  dsf::PackedLayout layout = dsf::PackedLayout::uniform(kSteps, kBatch);
  dsf::Matrix h{kSteps * kBatch, kHidden};
  dsf::Matrix y{kSteps * kBatch, 1};
  dsf::Matrix dh{kSteps * kBatch, kHidden};
  dsf::Matrix dx{kSteps * kBatch, 1};  // of the series: nobody wants it here

  Forecaster() { dsf::draw_initial_weights(table, /*seed=*/1, weights.mutable_span()); }

  void forward(dsf::ConstMatrixF x) {
    gru->forward(weights, layout, x, /*state=*/{}, *tape, h);
    out.forward(weights, h, scratch, y);
  }

  void backward(dsf::ConstMatrixF x, dsf::ConstMatrixF dy) {
    gradients.resize(table.flat_size());  // zero: gradients accumulate
    out.backward(h, dy, scratch, dh, {gradients.data()});
    gru->backward(layout, x, *tape, dh, dx, {gradients.data()});
  }
};

}  // namespace

int main() {
  const std::vector<float> series = make_series(6000);
  constexpr dim_t kTrainEnd = 5000;
  Forecaster model;
  Windows windows;
  dsf::Matrix dy(kSteps * kBatch, 1);
  dsf::AdamState adam;
  dsf::Rng rng(1, "windows");
  for (int step = 1; step <= 400; ++step) {
    windows.draw(series, 0, kTrainEnd, rng);
    model.forward(windows.x);
    const double loss = log_cosh_loss(model.y, windows.next, dy);
    model.backward(windows.x, dy);
    dsf::adam_update({}, /*learning_rate=*/0.005, /*gradient_scale=*/1.0, model.gradients.span(),
                     adam, model.weights.mutable_span());
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss << "\n";
  }

  windows.draw(series, kTrainEnd, dim_t(series.size()) - 1, rng);  // values it has never seen
  model.forward(windows.x);
  const double forecast = log_cosh_loss(model.y, windows.next, dy);
  const double persistence = log_cosh_loss(windows.x, windows.next, dy);  // "as the last one"
  std::cout << "unseen values: loss " << forecast << ", of the last value repeated " << persistence
            << "\n";
  return forecast < 0.5 * persistence ? 0 : 1;
}
