#include "tests/support/slow_wire.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace dsf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDevice = "wire0";
constexpr int kMtu = 9000;

// True if the command ended well. Its words are ours, without blanks.
bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void require(const std::string& command) {
  if (!run(command)) throw std::runtime_error("failed: " + command);
}

int open_tun_here() {
  const int device = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  if (device < 0) return -1;
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, kDevice, IFNAMSIZ - 1);
  if (::ioctl(device, TUNSETIFF, &request) < 0) {
    ::close(device);
    return -1;
  }
  return device;
}

// A thread can look into another namespace without taking the process with it.
int open_tun(const std::string& space) {
  int device = -1;
  std::thread([&] {
    const int handle = ::open(("/run/netns/" + space).c_str(), O_RDONLY);
    if (handle < 0) return;
    if (::setns(handle, CLONE_NEWNET) == 0) device = open_tun_here();
    ::close(handle);
  }).join();
  if (device < 0) throw std::runtime_error("no TUN device in " + space);
  return device;
}

void bring_up(const std::string& space, const std::string& address) {
  const std::string ip = "ip -n " + space + " ";
  require(ip + "addr add " + address + "/24 dev " + kDevice);
  require(ip + "link set " + kDevice + " mtu " + std::to_string(kMtu) + " up");
  require(ip + "link set lo up");
}

struct Packet {
  Clock::time_point due;
  std::vector<char> bytes;
};

}  // namespace

std::string SlowWire::why_not() {
  if (::geteuid() != 0) return "network namespaces need root";
  if (!std::filesystem::exists("/dev/net/tun")) return "there is no /dev/net/tun";
  const std::string space = "dsf" + std::to_string(::getpid()) + "try";
  if (!run("ip netns add " + space)) return "network namespaces are not permitted (ip netns add)";
  std::string why;
  try {
    require("ip -n " + space + " link set lo up");
    ::close(open_tun(space));
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  run("ip netns del " + space);
  return why;
}

SlowWire::SlowWire(WireSpeed speed)
    : speed_(speed),
      near_("dsf" + std::to_string(::getpid()) + "near"),
      far_("dsf" + std::to_string(::getpid()) + "far") {
  require("ip netns add " + near_);
  require("ip netns add " + far_);
  near_device_ = open_tun(near_);
  far_device_ = open_tun(far_);
  bring_up(near_, kNearAddress);
  bring_up(far_, kFarAddress);
  forth_ = std::thread([this] { carry(near_device_, far_device_); });
  back_ = std::thread([this] { carry(far_device_, near_device_); });
}

SlowWire::~SlowWire() {
  cut_ = true;
  forth_.join();
  back_.join();
  ::close(near_device_);
  ::close(far_device_);
  run("ip netns del " + near_);
  run("ip netns del " + far_);
}

// A packet leaves when those before it have left, at the wire's speed, and arrives `delay` later.
void SlowWire::carry(int from, int to) {
  constexpr std::size_t kMostWaiting = 256;
  std::deque<Packet> on_the_way;
  std::vector<char> buffer(kMtu + 1);
  Clock::time_point free = Clock::now();
  while (!cut_) {
    while (!on_the_way.empty() && on_the_way.front().due <= Clock::now()) {
      const std::vector<char>& bytes = on_the_way.front().bytes;
      if (::write(to, bytes.data(), bytes.size()) > 0) bytes_ += static_cast<long>(bytes.size());
      on_the_way.pop_front();
    }
    timespec wait{0, 20'000'000};
    if (!on_the_way.empty()) {
      const auto left = std::max(on_the_way.front().due - Clock::now(), Clock::duration::zero());
      wait = {0, std::min<long>(std::chrono::nanoseconds(left).count(), wait.tv_nsec)};
    }
    pollfd ready{from, static_cast<short>(on_the_way.size() < kMostWaiting ? POLLIN : 0), 0};
    if (::ppoll(&ready, 1, &wait, nullptr) <= 0) continue;
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got <= 0) continue;
    const std::chrono::duration<double> takes(static_cast<double>(got) / speed_.bytes_per_second);
    free = std::max(free, Clock::now()) + std::chrono::duration_cast<Clock::duration>(takes);
    on_the_way.push_back({free + speed_.delay, {buffer.data(), buffer.data() + got}});
  }
}

}  // namespace dsf
