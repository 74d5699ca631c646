#include "dsf/train/gradient_sync.h"

#include <algorithm>
#include <cmath>

#include "dsf/base/timer.h"
#include "dsf/optim/clip.h"

namespace dsf {
namespace {

template <typename T>
std::span<T> part(std::span<T> all, FlatRange range) {
  return all.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

//   sent = bf16(x + residual),  residual <- (x + residual) - sent
// A number that is not finite leaves no residual: the step that carries it will not be taken.
void round_with_feedback(std::span<const float> x, std::span<float> residual,
                         std::span<bf16_t> sent) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = x[i] + residual[i];
    sent[i] = to_bf16(wanted);
    const float left = wanted - to_float(sent[i]);
    residual[i] = std::isfinite(left) ? left : 0.0F;
  }
}

}  // namespace

dim_t default_bucket(dim_t flat_size) {
  constexpr dim_t kBuckets = 16;
  constexpr dim_t kLeast = dim_t{1} << 16;
  constexpr dim_t kMost = dim_t{1} << 22;
  return std::clamp(ceil_div(flat_size, kBuckets), kLeast, kMost);
}

std::vector<FlatRange> cut_buckets(dim_t flat_size, dim_t bucket) {
  std::vector<FlatRange> buckets;
  for (dim_t end = flat_size; end > 0; end -= bucket) {
    buckets.push_back({std::max<dim_t>(0, end - bucket), end});
  }
  return buckets;
}

GradientSync::GradientSync(Communicator& ranks, dim_t flat_size, const SyncOptions& options)
    : ranks_(ranks),
      options_(options),
      flat_size_(flat_size),
      alone_(ranks.size() == 1),
      sharded_(options.shard_optimizer && !alone_) {
  if (alone_) return;
  const dim_t bucket = options.bucket > 0 ? options.bucket : default_bucket(flat_size);
  for (const FlatRange range : cut_buckets(flat_size, bucket)) {
    const FlatRange own = part_of(range.size(), ranks.rank(), ranks.size());
    buckets_.push_back({range, {range.begin + own.begin, range.begin + own.end}, shard_size_});
    shard_size_ += own.size();
  }
  if (sharded_ || options.compress) shard_gradient_.resize(shard_size_);
  if (sharded_) shard_weights_.resize(shard_size_);
  if (!options.compress) return;
  sent_.resize(flat_size);
  sent_part_.resize(shard_size_);
  residual_.resize(flat_size);
  part_residual_.resize(shard_size_);
}

void GradientSync::ready(std::span<float> gradients, dim_t first) {
  if (!options_.overlap && first > 0) return;
  while (next_ < buckets_.size() && buckets_[next_].range.begin >= first) {
    start(gradients, buckets_[next_]);
    next_ += 1;
  }
}

void GradientSync::start(std::span<float> gradients, const Bucket& bucket) {
  if (options_.compress) return start_compressed(gradients, bucket);
  const std::span<float> values = part(gradients, bucket.range);
  last_ = sharded_ ? ranks_.start_reduce_scatter(values, shard_part(shard_gradient_, bucket))
                   : ranks_.start_all_reduce(values);
}

// Rounding happens on the way, beside the backward pass. Without shards the sums are rounded once
// more to travel back, and that residual, too, is kept.
void GradientSync::start_compressed(std::span<float> gradients, const Bucket& bucket) {
  const std::span<float> values = part(gradients, bucket.range);
  const std::span<float> residual = part(residual_.span(), bucket.range);
  const std::span<bf16_t> sent = part(sent_.span(), bucket.range);
  const std::span<float> sum = shard_part(shard_gradient_, bucket);
  ranks_.start_local([=] { round_with_feedback(values, residual, sent); });
  last_ = ranks_.start_reduce_scatter(std::span<const bf16_t>(sent), sum);
  if (sharded_) return;
  const std::span<float> part_residual = shard_part(part_residual_, bucket);
  const std::span<bf16_t> part_sent =
      part(sent_part_.span(), {bucket.place, bucket.place + bucket.part.size()});
  ranks_.start_local([=] { round_with_feedback(sum, part_residual, part_sent); });
  ranks_.start_all_gather(std::span<const bf16_t>(part_sent), sent);
  last_ = ranks_.start_local(
      [=] { std::transform(sent.begin(), sent.end(), values.begin(), to_float); });
}

void GradientSync::finish() {
  wait(last_);
  next_ = 0;
}

double GradientSync::norm(std::span<const float> gradients) {
  if (!sharded_) return global_norm(gradients);
  const double own = global_norm(shard_gradient_.span());
  double squares = own * own;
  const Timer timer;
  ranks_.all_reduce({&squares, 1});
  exposed_seconds_ += timer.seconds();
  return std::sqrt(squares);
}

void GradientSync::update(const AdamConfig& config, double learning_rate, double gradient_scale,
                          std::span<const float> gradients, AdamState& adam,
                          std::span<float> weights) {
  if (!sharded_) {
    adam_update(config, learning_rate, gradient_scale, gradients, adam, weights);
    return;
  }
  for (const Bucket& bucket : buckets_) {
    const std::span<float> own = part(weights, bucket.part);
    std::copy(own.begin(), own.end(), shard_part(shard_weights_, bucket).begin());
  }
  adam_update(config, learning_rate, gradient_scale, shard_gradient_.span(), adam,
              shard_weights_.span());
  for (const Bucket& bucket : buckets_) {
    last_ = ranks_.start_all_gather(std::span<const float>(shard_part(shard_weights_, bucket)),
                                    part(weights, bucket.range));
  }
  wait(last_);
}

AdamState GradientSync::gather_moments(const AdamState& own) {
  AdamState all;
  all.updates = own.updates;
  if (own.m.empty()) return all;
  gather(own.m, all.m);
  gather(own.v, all.v);
  return all;
}

AdamState GradientSync::own_moments(AdamState all) const {
  if (!sharded_ || all.m.empty()) return all;
  AdamState own;
  own.updates = all.updates;
  own.m = own_part(all.m);
  own.v = own_part(all.v);
  return own;
}

void GradientSync::gather(const Buffer<float>& own, Buffer<float>& all) {
  if (ranks_.leads()) all.resize(flat_size_);
  Buffer<float> whole;
  for (const Bucket& bucket : buckets_) {
    whole.resize(bucket.range.size());
    const FlatRange shard{bucket.place, bucket.place + bucket.part.size()};
    ranks_.wait(ranks_.start_all_gather(part(own.span(), shard), whole.span()));
    if (ranks_.leads()) {
      std::copy_n(whole.data(), whole.size(), part(all.span(), bucket.range).begin());
    }
  }
}

Buffer<float> GradientSync::own_part(const Buffer<float>& all) const {
  Buffer<float> own(shard_size_);
  for (const Bucket& bucket : buckets_) {
    std::copy_n(all.data() + bucket.part.begin, bucket.part.size(), own.data() + bucket.place);
  }
  return own;
}

std::span<float> GradientSync::shard_part(Buffer<float>& shard, const Bucket& bucket) const {
  return part(shard.span(), {bucket.place, bucket.place + bucket.part.size()});
}

void GradientSync::wait(Ticket ticket) {
  const Timer timer;
  ranks_.wait(ticket);
  exposed_seconds_ += timer.seconds();
}

}  // namespace dsf
