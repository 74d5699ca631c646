#include "dsf/dist/mpi_engine.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "dsf/base/error.h"
#include "dsf/base/log.h"

namespace dsf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kLookInterval{100};
constexpr double kPulseSeconds = 0.1;
constexpr int kEagerTests = 20;  // before the thread begins to sleep between two calls
constexpr microseconds kSleep{20};
// MPI_Abort asks the launcher to end everybody; if that takes longer, ending this process makes
// it do so.
constexpr std::chrono::seconds kAbortPatience{5};
constexpr int kPulseTag = 1;

// The system rounds sleeps up by 50 us unless asked not to.
void sleep_precisely() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace

MpiEngine::MpiEngine() {
  queue_ = std::make_unique<OperationQueue>([this] { look_around(); }, kLookInterval);
  run([this] {
    sleep_precisely();
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) throw Error("this MPI knows no threads");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm_dup(MPI_COMM_WORLD, &pulses_);
  });
}

MpiEngine::~MpiEngine() {
  run([this] { finalize(); });
}

void MpiEngine::run(std::function<void()> operation) {
  queue_->wait(queue_->submit(std::move(operation)));
}

void MpiEngine::complete(MPI_Request& request) {
  int done = 0;
  for (int tests = 0;; ++tests) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    look_around();
    // Not yield(): on a busy machine it gives away a whole time slice, a sleeper is woken in time.
    if (tests >= kEagerTests) std::this_thread::sleep_for(kSleep);
  }
}

void MpiEngine::abort(int exit_code) {
  abort_code_.store(exit_code, std::memory_order_relaxed);
  std::this_thread::sleep_for(kAbortPatience);
  ::_exit(exit_code);
}

void MpiEngine::watch(double seconds) {
  run([this, seconds] {
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
    complete(all_here);
    since_look_.restart();
    watchdog_.emplace(rank_, size_, seconds);
    if (hearing_ != MPI_REQUEST_NULL) return;
    MPI_Irecv(&heard_, sizeof(Pulse), MPI_BYTE, (rank_ + size_ - 1) % size_, kPulseTag, pulses_,
              &hearing_);
  });
}

void MpiEngine::look_around() {
  const int code = abort_code_.load(std::memory_order_relaxed);
  if (code != kNoAbort) MPI_Abort(MPI_COMM_WORLD, code);
  if (!watchdog_ || since_look_.seconds() < kPulseSeconds) return;
  exchange_pulses();
  const auto verdict = watchdog_->look(
      since_look_.seconds(), {queue_->submitted(), excused_.load(std::memory_order_relaxed)});
  since_look_.restart();
  if (!verdict) return;
  log_error(*verdict + "; the last checkpoint is whole");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void MpiEngine::exchange_pulses() {
  int done = 0;
  MPI_Test(&sending_, &done, MPI_STATUS_IGNORE);
  if (done != 0) send_pulse(0);
  for (;;) {
    MPI_Test(&hearing_, &done, MPI_STATUS_IGNORE);
    if (done == 0 || heard_.last != 0) return;
    watchdog_->hear(heard_);
    MPI_Irecv(&heard_, sizeof(Pulse), MPI_BYTE, (rank_ + size_ - 1) % size_, kPulseTag, pulses_,
              &hearing_);
  }
}

void MpiEngine::send_pulse(std::int64_t last) {
  sent_ = {queue_->begun(), last};
  MPI_Isend(&sent_, sizeof(Pulse), MPI_BYTE, (rank_ + 1) % size_, kPulseTag, pulses_, &sending_);
}

// All ranks live and are here: each sends its last pulse and hears the other's.
void MpiEngine::end_pulses() {
  if (!watchdog_) return;
  watchdog_.reset();
  complete(sending_);
  send_pulse(1);
  for (complete(hearing_); heard_.last == 0; complete(hearing_)) {
    MPI_Irecv(&heard_, sizeof(Pulse), MPI_BYTE, (rank_ + size_ - 1) % size_, kPulseTag, pulses_,
              &hearing_);
  }
  complete(sending_);
}

void MpiEngine::finalize() {
  MPI_Request all_here = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_here);
  complete(all_here);
  end_pulses();
  MPI_Comm_free(&pulses_);
  MPI_Finalize();
}

}  // namespace dsf
