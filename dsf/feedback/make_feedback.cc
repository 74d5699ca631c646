#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/rng.h"
#include "dsf/feedback/adaptive.h"
#include "dsf/feedback/bptt.h"
#include "dsf/feedback/dense.h"
#include "dsf/feedback/diagonal.h"
#include "dsf/feedback/feedback.h"
#include "dsf/feedback/feedback_method.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/feedback/gated.h"
#include "dsf/feedback/iterated.h"
#include "dsf/feedback/low_rank.h"
#include "dsf/feedback/pairs.h"
#include "dsf/kernels/random_matrix.h"

namespace dsf {
namespace {

std::pair<double, double> checked_range(const std::vector<double>& range) {
  // Written so that NaN fails.
  if (range.size() == 2 && range[0] >= 0.0 && range[0] <= range[1] && range[1] <= 1.0) {
    return {range[0], range[1]};
  }
  throw ConfigError(fmt::format(
      "feedback.range = [{}] must be two numbers [low, high] with 0 <= low <= high <= 1",
      fmt::join(range, ", ")));
}

Buffer<float> initial_diagonal(DiagonalInit init, std::pair<double, double> range, dim_t size,
                               Rng rng) {
  const auto [low, high] = range;
  Buffer<float> a(size);
  for (dim_t j = 0; j < size; ++j) {
    double value = 0.5 * (low + high);
    if (init == DiagonalInit::uniform) {
      value = rng.uniform(low, high);
    } else if (init == DiagonalInit::linspace && size > 1) {
      value = low + (high - low) * static_cast<double>(j) / static_cast<double>(size - 1);
    }
    a[j] = static_cast<float>(value);
  }
  return a;
}

AdaptiveFeedback::Schedule fit_schedule(const FeedbackConfig& config) {
  if (config.calibration < 1) {
    throw ConfigError(
        fmt::format("feedback.calibration = {}: must be at least 1", config.calibration));
  }
  if (config.refit_every < 0) {
    throw ConfigError(fmt::format("feedback.refit_every = {}: must be at least 1, or 0 for never",
                                  config.refit_every));
  }
  return {config.calibration, config.refit_every};
}

// K of a method that has no meaning without it.
dim_t required_number(const FeedbackConfig& config, const FeedbackMethod& method) {
  if (method.number.value_or(0) >= 1) return *method.number;
  throw ConfigError(
      fmt::format("feedback.method = \"{}\": the number must be at least 1", config.method));
}

dim_t rank_of(const FeedbackConfig& config, const FeedbackMethod& method) {
  return method.number ? required_number(config, method) : JacobianUse::kQuarterOfWidth;
}

}  // namespace

std::unique_ptr<Feedback> make_feedback(const FeedbackConfig& config, dim_t state_size,
                                        std::uint64_t seed, std::string_view purpose) {
  if (const FeedbackFactory* from_outside = registered_feedback(config.method)) {
    return (*from_outside)(config, state_size, seed, purpose);
  }
  // All keys are checked whatever the method, so that a wrong one does not wait for its day.
  const FeedbackMethod method = parse_feedback_method(config.method);
  const std::pair<double, double> range = checked_range(config.range);
  const AdaptiveFeedback::Schedule schedule = fit_schedule(config);
  const Rng rng(seed, purpose);
  const auto draw_diagonal = [&] { return initial_diagonal(config.init, range, state_size, rng); };
  switch (method.kind) {
    case FeedbackKind::bptt:
      return std::make_unique<BpttFeedback>();
    case FeedbackKind::bptt_rank:
      return std::make_unique<BpttFeedback>(rank_of(config, method));
    case FeedbackKind::ft:
      return std::make_unique<TruncatedFeedback>();
    case FeedbackKind::gated:
      return std::make_unique<GatedFeedback>();
    case FeedbackKind::gated_dsf:
      return std::make_unique<GatedFeedback>(draw_diagonal());
    case FeedbackKind::iterated:
      return std::make_unique<IteratedFeedback>(required_number(config, method));
    case FeedbackKind::adaptive:
      return std::make_unique<AdaptiveFeedback>(state_size, config.scan, schedule);
    case FeedbackKind::pairs:
      return std::make_unique<PairsFeedback>(state_size, rng);
    case FeedbackKind::lowrank:
      return std::make_unique<LowRankFeedback>(state_size, required_number(config, method),
                                               range.first, range.second, rng);
    case FeedbackKind::dense:
      return std::make_unique<DenseFeedback>(draw_gaussian_matrix(state_size, rng));
    case FeedbackKind::orthogonal:
      return std::make_unique<DenseFeedback>(
          draw_orthogonal_matrix(state_size, range.first, range.second, rng));
    case FeedbackKind::dsf:
      break;
  }
  return std::make_unique<DiagonalFeedback>(draw_diagonal(), config.scan);
}

}  // namespace dsf
