#pragma once

#include <memory>
#include <span>
#include <string>

#include "dsf/base/buffer.h"
#include "dsf/layers/recurrent.h"
#include "lab/bench/measure.h"
#include "lab/bench/onednn_rnn.h"

namespace dsf {

/// One recurrent layer of D inputs and D units on full batches.
struct LayerCase {
  std::string cell;  ///< rnn | gru | gru_reset_before | lstm
  dim_t batch = 0;
  dim_t steps = 0;
  dim_t hidden = 0;
  Precision precision = Precision::f32;

  dim_t rows() const { return batch * steps; }
};

/// What all contestants of a case read: drawn once, the same for all.
struct LayerInputs {
  explicit LayerInputs(const LayerCase& shape);

  ParameterTable table;
  dim_t state;              ///< S
  ParameterValues weights;  ///< by the table, in the precision of the case
  Matrix x;                 ///< [N, D]
  Matrix dh;                ///< [N, D]: what arrives at h
};

/// Our layer with one feedback.
class OurLayer {
 public:
  OurLayer(const LayerCase& shape, const LayerInputs& inputs, const FeedbackConfig& feedback);
  OurLayer(const LayerCase& shape, const LayerInputs& inputs, const std::string& method);

  /// Seconds of forward and backward; the first run packs the weights.
  PartTimes run();
  ConstMatrixF y() const { return y_; }
  ConstMatrixF dx() const { return dx_; }
  /// Summed over the runs, by the table of the inputs.
  const float* gradients() const { return gradients_.data(); }

 private:
  const LayerInputs& inputs_;
  PackedLayout layout_;
  ParameterTable table_;
  std::unique_ptr<RecurrentLayer> layer_;
  std::unique_ptr<MixerTape> tape_;
  Buffer<float> gradients_;
  Matrix y_;
  Matrix dy_;
  Matrix dx_;
};

/// Seconds of packing the weights for a method, which a training step does once.
double packing_seconds(const LayerCase& shape, const LayerInputs& inputs,
                       const std::string& method);

/// oneDNN's primitive for the same cell, with the same weights and inputs.
class OnednnLayer {
 public:
  /// Throws Error if oneDNN has none.
  OnednnLayer(const LayerCase& shape, const LayerInputs& inputs);

  PartTimes run();
  OnednnRnn& primitive() { return rnn_; }

 private:
  OnednnRnn rnn_;
};

/// Each cell and shape: our methods against oneDNN's primitives, packed weights on both sides. Uses
/// only (cells), methods (any feedback), precisions, batch, steps, hidden, seconds: the shapes are
/// taken in the order of their cost while the time suffices, and what is left out is named.
BenchReport bench_layer(const BenchOptions& options);

}  // namespace dsf
