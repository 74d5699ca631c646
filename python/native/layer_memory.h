#pragma once

// What a thread keeps from one call of a layer to the next.

#include <list>
#include <memory>
#include <string>

#include "dsf/feedback/feedback.h"
#include "dsf/layers/recurrent.h"
#include "python/native/dsf_native.h"

namespace dsf::native {

/// A cell with the memory of its packed weights, and a feedback.
struct CellAndFeedback {
  std::string cell_name;
  std::string feedback_name;
  std::unique_ptr<Cell> cell;
  std::unique_ptr<Feedback> feedback;
};

/// Scratch memory, which grows to the largest batch and stays, and the kinds of layers used last. Each thread has
/// one, so that calls need no lock, and none can be held when the process forks.
struct LayerMemory {
  static LayerMemory& of_this_thread();

  /// The cell and the feedback that the call names. Throws ConfigError on an unknown name.
  CellAndFeedback& find(const dsf_layer& layer);

  CellWork work;
  Matrix states;            // [B + N, S] of steps without a tape
  Matrix x;                 // [N, I] in the walk's order
  Matrix dx;                // the same
  Matrix g;                 // [N, S]
  Matrix state;             // [B, S]: initial states, then the last ones
  Matrix last;              // [B, S]: gradients of the last states
  Matrix initial;           // [B, S]: gradients of the initial states
  Buffer<float> weights;    // of 16-bit parameters
  Buffer<float> gradients;  // of 16-bit parameters

 private:
  std::list<CellAndFeedback> kinds_;  // the one used last is in front
};

/// The sizes of the cell of that name. Throws ConfigError on an unknown name.
std::unique_ptr<Cell> make_named_cell(const std::string& name, dim_t input, dim_t hidden);

}  // namespace dsf::native
