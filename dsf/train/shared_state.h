#pragma once

// What the ranks of a run tell each other besides gradients: sums of losses, whether to stop, and
// the state of the run as rank 0 reads and writes it.

#include <cstdint>
#include <functional>
#include <string>

#include "dsf/dist/communicator.h"
#include "dsf/run/training_state.h"
#include "dsf/train/gradient_sync.h"

namespace dsf {

/// The rows of each batch that this rank trains on.
BatchShare share_of(const Communicator& ranks);

LossSum sum_over_ranks(Communicator& ranks, const LossSum& own);

/// What signals ask of this rank or any other: SIGUSR1 to save, another to save and stop, 0 for
/// nothing. The same answer on all ranks, except the number of the signal that stops.
int agree_on_signal(Communicator& ranks, int own_signal);

/// Of agree_on_signal's answers.
bool asks_to_stop(int signal);

/// `text` of rank 0.
std::string broadcast_text(Communicator& ranks, const std::string& text);

/// Throws Error, naming this rank and `what`, if its value is not that of rank 0.
void require_same(Communicator& ranks, std::uint64_t value, const std::string& what);

/// A checksum of weights and buffers.
std::uint64_t model_hash(LanguageModel& model);

/// `state` (whole: all moments, the carried states of all rows), the model's weights and buffers,
/// and `saved_step` of rank 0, for all ranks.
void broadcast_state(Communicator& ranks, TrainingState& state, LanguageModel& model,
                     dim_t& saved_step);

/// The carried states of this rank's rows, out of those of the whole batch.
ModelState own_rows(const Communicator& ranks, const ModelState& all);

/// Calls `use`, on rank 0, while `state` holds what a checkpoint wants: all moments, and the
/// carried states of all `batch` rows. Called by all ranks.
void with_whole_state(Communicator& ranks, GradientSync& sync, dim_t batch, TrainingState& state,
                      const std::function<void()>& use);

}  // namespace dsf
