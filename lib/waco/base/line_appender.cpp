// One write call a line, under a lock.
#include "waco/base/line_appender.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco {

void LineAppender::fail() const {
  throw EnvironmentError(fmt::format("{}: can't be written: {}", file_.string(), std::strerror(errno)));
}

LineAppender::LineAppender(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.extension() == ".gz")
    throw UsageError(fmt::format(
        "{}: grows line by line, which a gzipped file can't; leave .gz out and gzip it afterwards",
        file_.string()));
  if (is_stream(file_))
    throw UsageError(fmt::format("{}: is no file that a run could continue; name one", file_.string()));
  fd_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) fail();
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    ::close(fd_);
    throw EnvironmentError(fmt::format("{}: another run is writing to it", file_.string()));
  }
  spdlog::warn("{}: can't be locked here; take care that only one run writes to it", file_.string());
}

LineAppender::~LineAppender() {
  ::close(fd_);
}

void LineAppender::continue_after(const LinesFound& found) {
  if (found.gzipped)
    throw UsageError(
        fmt::format("{}: is gzipped, which can't be continued; unpack it with gunzip, or write to "
                    "another file",
                    file_.string()));
  if (found.torn && ::ftruncate(fd_, found.valid_bytes) != 0) fail();
  if (found.unended) write("\n");
}

void LineAppender::append(const nlohmann::ordered_json& document) {
  write(line_text(document) + '\n');
}

void LineAppender::write(std::string_view text) {
  ssize_t written;
  do {
    written = ::write(fd_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) return;
  const int cause = written < 0 ? errno : ENOSPC;
  struct stat status {};
  if (written > 0 && ::fstat(fd_, &status) == 0) {
    [[maybe_unused]] const int cut = ::ftruncate(fd_, status.st_size - written);
  }
  errno = cause;
  fail();
}

void LineAppender::sync() {
  if (::fsync(fd_) != 0 && errno != EINVAL) fail();
}

}  // namespace waco
