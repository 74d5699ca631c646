#pragma once

// What a fuzz target is: a function that takes any bytes. It must return; an exception that is not
// one the reader promises, a crash, a leak, or more than a second is a fault of the reader.
//
// The same function is linked with libFuzzer (CMake option DSF_BUILD_FUZZERS, scripts/fuzz.sh) and,
// for `make test`, with replay.cc.

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// What a target makes once, before the clock runs; not every target has it.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace dsf {

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Stops the target if a promise is broken.
inline void require(bool kept, const char* promise) {
  if (!kept) throw std::logic_error(promise);
}

/// Ends the process if an input takes more than a second, of this thread's own time: by the
/// clock it depends on what else the machine does.
class SecondLimit {
 public:
  SecondLimit() : begin_(now()) {}
  ~SecondLimit() {
    if (now() - begin_ <= 1.0) return;
    std::fputs("an input took more than a second\n", stderr);
    std::abort();
  }
  SecondLimit(const SecondLimit&) = delete;
  SecondLimit& operator=(const SecondLimit&) = delete;

 private:
  static double now() {
    struct timespec time {};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  double begin_;
};

}  // namespace dsf
