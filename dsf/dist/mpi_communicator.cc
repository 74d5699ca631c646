#include "dsf/dist/mpi_communicator.h"

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "dsf/base/buffer.h"
#include "dsf/dist/launch.h"
#include "dsf/dist/mpi_engine.h"

namespace dsf {
namespace {

int count_of(std::size_t size) { return static_cast<int>(size); }

/// How many elements go to or come from each rank, and where they lie.
struct Counts {
  std::vector<int> sizes;
  std::vector<int> offsets;
};

Counts parts_of(dim_t size, int ranks) {
  Counts counts;
  for (int rank = 0; rank < ranks; ++rank) {
    const FlatRange part = part_of(size, rank, ranks);
    counts.sizes.push_back(static_cast<int>(part.size()));
    counts.offsets.push_back(static_cast<int>(part.begin));
  }
  return counts;
}

/// `size` elements from every rank, one behind the other.
Counts equal_counts(dim_t size, int ranks) {
  Counts counts;
  for (int rank = 0; rank < ranks; ++rank) {
    counts.sizes.push_back(static_cast<int>(size));
    counts.offsets.push_back(static_cast<int>(size * rank));
  }
  return counts;
}

MPI_Datatype type_of(const float* /*values*/) { return MPI_FLOAT; }
MPI_Datatype type_of(const bf16_t* /*values*/) { return MPI_UINT16_T; }

float value_of(float x) { return x; }
float value_of(bf16_t x) { return to_float(x); }

class MpiCommunicator final : public Communicator {
 public:
  /// Engines are shared: a communicator of some ranks lives beside the one of all.
  MpiCommunicator(std::shared_ptr<MpiEngine> engine, MPI_Comm group);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_ranks() const override { return local_ranks_; }

  Ticket start_all_reduce(std::span<float> values) override;
  Ticket start_reduce_scatter(std::span<const float> values, std::span<float> part) override {
    return reduce_scatter(values, part, f32_received_);
  }
  Ticket start_reduce_scatter(std::span<const bf16_t> values, std::span<float> part) override {
    return reduce_scatter(values, part, bf16_received_);
  }
  Ticket start_all_gather(std::span<const float> part, std::span<float> values) override {
    return all_gather(part, values);
  }
  Ticket start_all_gather(std::span<const bf16_t> part, std::span<bf16_t> values) override {
    return all_gather(part, values);
  }
  Ticket start_local(std::function<void()> work) override { return submit(std::move(work)); }
  void wait(Ticket ticket) override { engine_->queue().wait(ticket); }

  void all_reduce(std::span<double> values) override;
  void broadcast(std::span<std::byte> values) override;
  void barrier() override;
  [[noreturn]] void abort(int exit_code) override { engine_->abort(exit_code); }

  void watch(double seconds) override { engine_->watch(seconds); }
  void excuse(bool busy) override { engine_->excuse(busy); }
  std::unique_ptr<Communicator> first_ranks(int count) override;
  double busy_seconds() const override { return engine_->queue().busy_seconds(); }

 private:
  Ticket submit(std::function<void()> operation) {
    return engine_->queue().submit(std::move(operation));
  }
  template <typename T>
  void sum_own_part(std::span<const T> values, Buffer<T>& received, std::span<float> part);
  template <typename T>
  Ticket reduce_scatter(std::span<const T> values, std::span<float> part, Buffer<T>& received);
  template <typename T>
  Ticket all_gather(std::span<const T> part, std::span<T> values);

  std::shared_ptr<MpiEngine> engine_;
  MPI_Comm group_;
  int rank_ = 0;
  int size_ = 1;
  int local_ranks_ = 1;
  // Other ranks' contributions to this rank's part; the communication thread's own.
  Buffer<float> f32_received_;
  Buffer<bf16_t> bf16_received_;
};

MpiCommunicator::MpiCommunicator(std::shared_ptr<MpiEngine> engine, MPI_Comm group)
    : engine_(std::move(engine)), group_(group) {
  engine_->run([this] {
    MPI_Comm_rank(group_, &rank_);
    MPI_Comm_size(group_, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(group_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &local_ranks_);
    MPI_Comm_free(&machine);
  });
}

MpiCommunicator::~MpiCommunicator() {
  if (group_ != MPI_COMM_WORLD) {
    engine_->run([this] { MPI_Comm_free(&group_); });
  }
}

// Each rank sends every other its part and sums what it receives: as few bytes as can be, and the
// order of the ranks. (Open MPI's own non-blocking sums in place send everything along a tree.)
template <typename T>
void MpiCommunicator::sum_own_part(std::span<const T> values, Buffer<T>& received,
                                   std::span<float> part) {
  const auto size = static_cast<dim_t>(part.size());
  const Counts out = parts_of(static_cast<dim_t>(values.size()), size_);
  const Counts in = equal_counts(size, size_);
  received.ensure(size * size_);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoallv(values.data(), out.sizes.data(), out.offsets.data(), type_of(values.data()),
                 received.data(), in.sizes.data(), in.offsets.data(), type_of(values.data()),
                 group_, &request);
  engine_->complete(request);
  std::fill(part.begin(), part.end(), 0.0F);
  for (int from = 0; from < size_; ++from) {
    const T* theirs = received.data() + size * from;
    for (std::size_t i = 0; i < part.size(); ++i) part[i] += value_of(theirs[i]);
  }
}

Ticket MpiCommunicator::start_all_reduce(std::span<float> values) {
  return submit([this, values] {
    const Counts parts = parts_of(static_cast<dim_t>(values.size()), size_);
    const auto own = static_cast<std::size_t>(rank_);
    sum_own_part(std::span<const float>(values), f32_received_,
                 values.subspan(static_cast<std::size_t>(parts.offsets[own]),
                                static_cast<std::size_t>(parts.sizes[own])));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values.data(), parts.sizes.data(),
                    parts.offsets.data(), MPI_FLOAT, group_, &request);
    engine_->complete(request);
  });
}

template <typename T>
Ticket MpiCommunicator::reduce_scatter(std::span<const T> values, std::span<float> part,
                                       Buffer<T>& received) {
  return submit([this, values, part, &received] { sum_own_part(values, received, part); });
}

template <typename T>
Ticket MpiCommunicator::all_gather(std::span<const T> part, std::span<T> values) {
  return submit([this, part, values] {
    const Counts in = parts_of(static_cast<dim_t>(values.size()), size_);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgatherv(part.data(), count_of(part.size()), type_of(part.data()), values.data(),
                    in.sizes.data(), in.offsets.data(), type_of(part.data()), group_, &request);
    engine_->complete(request);
  });
}

void MpiCommunicator::all_reduce(std::span<double> values) {
  engine_->run([this, values] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, values.data(), count_of(values.size()), MPI_DOUBLE, MPI_SUM,
                   group_, &request);
    engine_->complete(request);
  });
}

void MpiCommunicator::broadcast(std::span<std::byte> values) {
  engine_->run([this, values] {
    constexpr std::size_t kMost = std::size_t{1} << 26U;  // MPI counts in ints
    for (std::size_t begin = 0; begin < values.size(); begin += kMost) {
      const auto piece = values.subspan(begin, std::min(kMost, values.size() - begin));
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibcast(piece.data(), count_of(piece.size()), MPI_BYTE, 0, group_, &request);
      engine_->complete(request);
    }
  });
}

void MpiCommunicator::barrier() {
  engine_->run([this] {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(group_, &request);
    engine_->complete(request);
  });
}

std::unique_ptr<Communicator> MpiCommunicator::first_ranks(int count) {
  MPI_Comm some = MPI_COMM_NULL;
  engine_->run([&] { MPI_Comm_split(group_, rank_ < count ? 0 : MPI_UNDEFINED, rank_, &some); });
  if (some == MPI_COMM_NULL) return nullptr;
  return std::make_unique<MpiCommunicator>(engine_, some);
}

}  // namespace

bool built_with_mpi() { return true; }

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>(std::make_shared<MpiEngine>(), MPI_COMM_WORLD);
}

}  // namespace dsf
