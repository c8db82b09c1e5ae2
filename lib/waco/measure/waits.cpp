// What the kernel counts of each thread.
#include "waco/measure/waits.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace waco::measure {
namespace {

/// Of each thread of this process, by its number, so far. Empty where the system does not say.
std::map<std::string, double> waits_ns() {
  std::map<std::string, double> waits;
  std::error_code error;
  std::filesystem::directory_iterator thread("/proc/self/task", error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    std::ifstream file(thread->path() / "schedstat");
    double running_ns = 0;
    double waiting_ns = 0;
    // Zeros for both: this system does not count.
    if (file >> running_ns >> waiting_ns && running_ns > 0)
      waits[thread->path().filename().string()] = waiting_ns;
  }
  return waits;
}

}  // namespace

Waits::Waits() : before_ns_(waits_ns()) {}

double Waits::longest_ns() const {
  if (!known()) return 0;
  double longest = 0;
  for (const auto& [thread, ns] : waits_ns()) {
    const auto earlier = before_ns_.find(thread);
    longest = std::max(longest, earlier == before_ns_.end() ? ns : ns - earlier->second);
  }
  return longest;
}

}  // namespace waco::measure
