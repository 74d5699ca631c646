#pragma once

// The definition of each of the library's feedbacks, with the numbers that its buffers hold.

#include <algorithm>
#include <string>
#include <vector>

#include "dsf/base/named_buffer.h"
#include "dsf/feedback/feedback_method.h"
#include "tests/reference/recurrent.h"
#include "tests/reference/reference_stationary.h"

namespace dsf::reference {

/// `method`: a name that make_feedback takes; `buffers`: those of the feedback. The definition of
/// adaptive is that of the batches that do not go back exactly.
inline Carry definition_of(const std::string& method, const LayerSpec& spec,
                           const std::vector<NamedBuffer>& buffers) {
  const FeedbackMethod parsed = parse_feedback_method(method);
  const dim_t S = spec.state();
  const auto numbers = [&](std::size_t i) { return buffers.at(i).values; };
  const auto diagonal = [&] { return std::vector<double>(numbers(0).begin(), numbers(0).end()); };
  Carry carry;
  switch (parsed.kind) {
    case FeedbackKind::bptt:
      carry.method = Method::bptt;
      break;
    case FeedbackKind::ft:
      carry.method = Method::ft;
      break;
    case FeedbackKind::dsf:
    case FeedbackKind::adaptive:
      carry.method = Method::dsf;
      carry.a = diagonal();
      break;
    case FeedbackKind::bptt_rank:
      carry.method = Method::low_rank;
      carry.number = parsed.number.value_or(std::max<dim_t>(1, spec.hidden / 4));
      break;
    case FeedbackKind::gated:
      carry.method = Method::gated;
      break;
    case FeedbackKind::gated_dsf:
      carry.method = Method::gated_dsf;
      carry.a = diagonal();
      break;
    case FeedbackKind::iterated:
      carry.method = Method::iterated;
      carry.number = parsed.number.value();
      break;
    case FeedbackKind::pairs:
      carry.method = Method::matrix;
      carry.A = pairs_matrix(S, numbers(0), numbers(1));
      break;
    case FeedbackKind::lowrank:
      carry.method = Method::matrix;
      carry.A = low_rank_matrix(S, numbers(0), numbers(1), numbers(2));
      break;
    case FeedbackKind::orthogonal:
    case FeedbackKind::dense:
      carry.method = Method::matrix;
      carry.A = dense_matrix(S, numbers(0));
      break;
  }
  return carry;
}

}  // namespace dsf::reference
