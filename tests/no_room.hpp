// Files that can't grow, as where a disk is full.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace waco {

/// No file of this process, or of the children that it starts meanwhile, grows beyond so many bytes as long
/// as it lives.
class NoRoom {
 public:
  explicit NoRoom(rlim_t bytes = 0) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~NoRoom() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  NoRoom(const NoRoom&) = delete;
  NoRoom& operator=(const NoRoom&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace waco
