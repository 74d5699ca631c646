#pragma once

// Two network namespaces, joined by a wire with a delay and a limited bandwidth.
//
// The wire is a pair of TUN devices and a thread each way that carries the packets: it needs no
// traffic shaping of the kernel, which not every kernel has, but root and /dev/net/tun.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace dsf {

struct WireSpeed {
  double bytes_per_second = 0.0;
  std::chrono::microseconds delay{0};  ///< one way
};

class SlowWire {
 public:
  /// Why there can be none here, or "".
  static std::string why_not();

  explicit SlowWire(WireSpeed speed);
  ~SlowWire();
  SlowWire(const SlowWire&) = delete;
  SlowWire& operator=(const SlowWire&) = delete;

  const std::string& near_space() const { return near_; }  ///< has the address near_address
  const std::string& far_space() const { return far_; }
  static constexpr const char* kNearAddress = "10.99.0.1";
  static constexpr const char* kFarAddress = "10.99.0.2";
  static constexpr const char* kNetwork = "10.99.0.0/24";

  /// Bytes that have gone through it, both ways together.
  long bytes() const { return bytes_.load(); }

 private:
  void carry(int from, int to);

  WireSpeed speed_;
  std::string near_;
  std::string far_;
  int near_device_ = -1;
  int far_device_ = -1;
  std::atomic<bool> cut_{false};
  std::atomic<long> bytes_{0};
  std::thread forth_;
  std::thread back_;
};

}  // namespace dsf
