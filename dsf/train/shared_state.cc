#include "dsf/train/shared_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <type_traits>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/hash.h"

namespace dsf {
namespace {

template <typename T>
void broadcast_values(Communicator& ranks, std::span<T> values) {
  ranks.broadcast(std::as_writable_bytes(values));
}

template <typename T>
void broadcast_value(Communicator& ranks, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  broadcast_values(ranks, std::span<T>(&value, 1));
}

// All ranks' rows together: each adds its own to zeros.
ModelState gather_rows(Communicator& ranks, const ModelState& own, dim_t batch) {
  const BatchShare share = share_of(ranks);
  ModelState all;
  for (const Matrix& rows : own) {
    Matrix& whole = all.emplace_back(batch, rows.cols());
    whole.zero();
    for (dim_t i = 0; i < rows.rows(); ++i) {
      std::copy_n(rows.view().row(i), rows.cols(), whole.view().row(share.index + i * share.count));
    }
    ranks.wait(ranks.start_all_reduce(whole.span()));
  }
  return all;
}

}  // namespace

BatchShare share_of(const Communicator& ranks) { return {ranks.rank(), ranks.size()}; }

LossSum sum_over_ranks(Communicator& ranks, const LossSum& own) {
  if (ranks.size() == 1) return own;
  std::array<double, 3> sums = {own.loss, static_cast<double>(own.tokens),
                                static_cast<double>(own.correct)};
  ranks.all_reduce(sums);
  return {sums[0], static_cast<dim_t>(sums[1]), static_cast<dim_t>(sums[2])};
}

bool asks_to_stop(int signal) { return signal != 0 && signal != SIGUSR1; }

int agree_on_signal(Communicator& ranks, int own_signal) {
  if (ranks.size() == 1) return own_signal;
  const bool stop = asks_to_stop(own_signal);
  std::array<double, 2> asked = {own_signal == SIGUSR1 ? 1.0 : 0.0, stop ? 1.0 : 0.0};
  ranks.all_reduce(asked);
  if (asked[1] > 0.0) return stop ? own_signal : SIGTERM;
  return asked[0] > 0.0 ? SIGUSR1 : 0;
}

std::string broadcast_text(Communicator& ranks, const std::string& text) {
  std::size_t size = text.size();
  broadcast_value(ranks, size);
  std::string all = text;
  all.resize(size);
  broadcast_values(ranks, std::span<char>(all));
  return all;
}

void require_same(Communicator& ranks, std::uint64_t value, const std::string& what) {
  std::uint64_t first = value;
  broadcast_value(ranks, first);
  if (value == first) return;
  throw Error(fmt::format("{}: rank {} has not the same as rank 0", what, ranks.rank()));
}

std::uint64_t model_hash(LanguageModel& model) {
  Hasher hasher;
  hasher.update(model.weights().data(), model.weights().size_bytes());
  for (const NamedBuffer& buffer : model.buffers()) {
    hasher.update(buffer.values.data(), buffer.values.size_bytes());
  }
  return hasher.digest();
}

void broadcast_state(Communicator& ranks, TrainingState& state, LanguageModel& model,
                     dim_t& saved_step) {
  TrainingCounters& counters = state;
  broadcast_value(ranks, counters);
  broadcast_value(ranks, saved_step);
  broadcast_value(ranks, state.adam.updates);
  dim_t moments = state.adam.m.size();
  broadcast_value(ranks, moments);
  if (!ranks.leads()) {
    state.adam.m.resize(moments);
    state.adam.v.resize(moments);
  }
  broadcast_values(ranks, state.adam.m.span());
  broadcast_values(ranks, state.adam.v.span());
  for (Matrix& carried : state.carried) broadcast_values(ranks, carried.span());
  broadcast_values(ranks, model.mutable_weights());
  for (const NamedBuffer& buffer : model.buffers()) broadcast_values(ranks, buffer.values);
}

ModelState own_rows(const Communicator& ranks, const ModelState& all) {
  const BatchShare share = share_of(ranks);
  ModelState own;
  for (const Matrix& whole : all) {
    Matrix& rows = own.emplace_back(share.rows_of(whole.rows()), whole.cols());
    for (dim_t i = 0; i < rows.rows(); ++i) {
      std::copy_n(whole.view().row(share.index + i * share.count), rows.cols(), rows.view().row(i));
    }
  }
  return own;
}

void with_whole_state(Communicator& ranks, GradientSync& sync, dim_t batch, TrainingState& state,
                      const std::function<void()>& use) {
  if (ranks.size() == 1) return use();
  AdamState adam;
  if (sync.sharded()) {
    adam = sync.gather_moments(state.adam);
    std::swap(adam, state.adam);
  }
  ModelState carried = gather_rows(ranks, state.carried, batch);
  std::swap(carried, state.carried);
  const auto give_back = [&] {
    if (sync.sharded()) std::swap(adam, state.adam);
    std::swap(carried, state.carried);
  };
  try {
    if (ranks.leads()) use();
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
}

}  // namespace dsf
