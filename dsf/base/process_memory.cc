#include "dsf/base/process_memory.h"

#include <fstream>
#include <limits>
#include <string>

namespace dsf {
namespace {

constexpr const char* kStatus = "/proc/self/status";
constexpr const char* kMachine = "/proc/meminfo";

// A line "name: value kB" of a file of /proc.
double bytes_of(const char* file, const std::string& name) {
  constexpr double kKilobyte = 1024.0;
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    double value = 0.0;
    if (word == name + ":" && in >> value) return value * kKilobyte;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0.0;
}

}  // namespace

double resident_bytes() { return bytes_of(kStatus, "VmRSS"); }
double resident_code_bytes() { return bytes_of(kStatus, "RssFile"); }
double peak_resident_bytes() { return bytes_of(kStatus, "VmHWM"); }
void reset_peak_resident() { std::ofstream("/proc/self/clear_refs") << "5"; }
double available_bytes() { return bytes_of(kMachine, "MemAvailable"); }
double total_bytes() { return bytes_of(kMachine, "MemTotal"); }

}  // namespace dsf
