// One write call a line, under a lock.
#include "waco/base/line_appender.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

namespace waco {

void LineAppender::fail() const {
  throw os_error(fmt::format("{}: can't be written", file_.string()));
}

LineAppender::LineAppender(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.extension() == ".gz")
    throw UsageError(fmt::format(
        "{}: grows line by line, which a gzipped file can't; leave .gz out and gzip it afterwards",
        file_.string()));
  if (is_stream(file_))
    throw UsageError(fmt::format("{}: is no file that a run could continue; name one", file_.string()));
  constexpr int kHow = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;
  to_ = Descriptor(::open(file_.c_str(), kHow | O_EXCL, 0644));
  is_new_ = to_.get() >= 0;
  if (!to_) to_ = Descriptor(::open(file_.c_str(), kHow, 0644));
  if (!to_) fail();
  lock_or_warn(to_.get(), file_, fmt::format("{}: another run is writing to it", file_.string()),
               "writes to it");
}

LineAppender::~LineAppender() {
  struct stat status {};
  if (is_new_ && ::fstat(to_.get(), &status) == 0 && status.st_size == 0) ::unlink(file_.c_str());
}

void LineAppender::continue_after(const LinesFound& found) {
  if (found.gzipped)
    throw UsageError(
        fmt::format("{}: is gzipped, which can't be continued; unpack it with gunzip, or write to "
                    "another file",
                    file_.string()));
  if (found.torn && ::ftruncate(to_.get(), found.valid_bytes) != 0) fail();
  if (found.unended) write("\n");
}

void LineAppender::append(const nlohmann::ordered_json& document) {
  write(line_text(document) + '\n');
}

void LineAppender::write(std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(to_.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    written += static_cast<size_t>(count);  // fewer: the next call tells why
  }
  if (written == text.size()) return;
  const int cause = errno;
  struct stat status {};
  if (written > 0 && ::fstat(to_.get(), &status) == 0) {
    [[maybe_unused]] const int cut = ::ftruncate(to_.get(), status.st_size - static_cast<off_t>(written));
  }
  errno = cause;
  fail();
}

void LineAppender::sync() {
  if (!reaches_disk(to_.get())) fail();
}

}  // namespace waco
