// A limit of this process's address space, for as long as a test needs it.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace waco {

/// Lets this process, and the children that it starts meanwhile, take so many bytes more of address space
/// than it has now (ulimit -Sv), or what it could if that is less; in the end what it could before.
class ScopedAddressLimit {
 public:
  explicit ScopedAddressLimit(int64_t more_bytes) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    bytes_ = pages * ::sysconf(_SC_PAGESIZE) + more_bytes;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit limit{std::min(static_cast<rlim_t>(bytes_), before_.rlim_cur), before_.rlim_max};
    bytes_ = ::setrlimit(RLIMIT_AS, &limit) == 0 ? static_cast<int64_t>(limit.rlim_cur) : 0;
  }
  ~ScopedAddressLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  ScopedAddressLimit(const ScopedAddressLimit&) = delete;
  ScopedAddressLimit& operator=(const ScopedAddressLimit&) = delete;
  /// The limit; 0 where it could not be set.
  int64_t bytes() const { return bytes_; }

 private:
  rlimit before_{};
  int64_t bytes_ = 0;
};

}  // namespace waco
