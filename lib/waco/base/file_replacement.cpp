// Files are written beside their places and renamed; what a name leads to is found first.
#include "waco/base/file_replacement.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <system_error>

#include "waco/base/awaited.hpp"
#include "waco/base/error.hpp"

namespace waco {
namespace fs = std::filesystem;
namespace {

constexpr int kMaxLinks = 40;  // as many as Linux follows

/// What is written to by a name.
struct Target {
  fs::path file;                  ///< at the end of links; need not be there
  std::optional<int> descriptor;  ///< that the name stands for, as /dev/stdout does
  std::optional<mode_t> mode;     ///< of what is there

  bool is_stream() const { return descriptor || (mode && !S_ISREG(*mode) && !S_ISDIR(*mode)); }
};

/// Of this process, when the file is its entry in /proc/self/fd. What that leads to may be a file: opened by
/// its name it would be written from its start, and replaced it would not be what the descriptor writes to.
std::optional<int> descriptor_at(const fs::path& file) {
  std::error_code error, absent;
  const fs::path folder = fs::canonical(file.parent_path(), error);
  const bool own = folder == fs::canonical("/proc/self/fd", absent) ||
                   folder == fs::canonical("/proc/thread-self/fd", absent);
  if (error || !own) return std::nullopt;
  const std::string name = file.filename();
  int number = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
  return fault == std::errc() ? std::optional(number) : std::nullopt;
}

bool same_entry(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Whether `link` leads where its text says. In /proc, links to pipes of other processes have a text that is
/// no name.
bool leads_to(const fs::path& link, const fs::path& next) {
  struct stat reached {};
  struct stat named {};
  if (::stat(link.c_str(), &reached) != 0) return true;  // there is nothing yet
  return ::stat(next.c_str(), &named) == 0 && same_entry(reached, named);
}

/// None where links have no end.
std::optional<Target> find_target(const fs::path& file) {
  if (file == "-") return Target{file, STDOUT_FILENO, std::nullopt};
  Target target{file, std::nullopt, std::nullopt};
  for (int num_links = 0;; ++num_links) {
    target.descriptor = descriptor_at(target.file);
    if (target.descriptor) return target;
    std::error_code none;
    const fs::path next = target.file.parent_path() / fs::read_symlink(target.file, none);
    if (none || !leads_to(target.file, next)) break;
    if (num_links == kMaxLinks) return std::nullopt;
    target.file = next;
  }
  struct stat status {};
  if (::stat(target.file.c_str(), &status) == 0) target.mode = status.st_mode;
  return target;
}

/// Throws EnvironmentError where links have no end.
Target target_of(const fs::path& file) {
  const std::optional<Target> target = find_target(file);
  if (!target) throw EnvironmentError(fmt::format("{}: too many links", file.string()));
  return *target;
}

/// For the same file the same, whether it is there or not.
fs::path place_of(const fs::path& file) {
  const std::optional<Target> target = find_target(file);
  std::error_code error;
  const fs::path whole = fs::absolute(target ? target->file : file, error);
  const fs::path folder = fs::weakly_canonical(whole.parent_path(), error);
  return (error ? whole.parent_path() : folder) / whole.filename();
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// Whether a byte is one of a character of UTF-8 behind its first.
bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

}  // namespace

fs::path temporary_name(const fs::path& file) {
  // Numbers of processes are not enough: containers and machines that share a folder have the same.
  static const uint64_t process = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<int> counter{0};
  const std::string end = fmt::format(".tmp.{:016x}.{}", process, counter++);
  std::string name = file.filename();
  if (name.size() + end.size() > NAME_MAX) {
    size_t kept = NAME_MAX - end.size();
    while (kept > 0 && continues_character(name[kept]))
      --kept;  // some file systems take whole characters only
    name.resize(kept);
  }
  return file.parent_path() / (name + end);
}

bool is_temporary_name(std::string_view name) {
  const size_t number = name.find_last_not_of("0123456789");
  if (number == std::string_view::npos || number + 1 == name.size() || name[number] != '.') return false;
  name = name.substr(0, number);
  constexpr size_t kDigits = 16;
  if (name.size() < kDigits) return false;
  const std::string_view process = name.substr(name.size() - kDigits);
  return process.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         name.substr(0, name.size() - kDigits).ends_with(".tmp.");
}

bool reaches_disk(int descriptor) {
  // Pipes, terminals and devices have nothing to wait for, and say so.
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

bool is_stream(const fs::path& file) {
  const std::optional<Target> target = find_target(file);
  return target && target->is_stream();
}

bool same_file(const fs::path& a, const fs::path& b) {
  if (is_stream(a) || is_stream(b)) return false;
  std::error_code error;
  return fs::equivalent(a, b, error) || place_of(a) == place_of(b);
}

bool takes_place_of_input(const fs::path& output, const fs::path& input) {
  if (is_stream(output)) return false;
  struct stat read {};
  struct stat written {};
  const bool both = (input == "-" ? ::fstat(STDIN_FILENO, &read) : ::stat(input.c_str(), &read)) == 0 &&
                    ::stat(output.c_str(), &written) == 0;
  if (both && S_ISREG(read.st_mode) && same_entry(read, written)) return true;
  return same_file(output, input);
}

bool same_descriptor(const fs::path& a, const fs::path& b) {
  const std::optional<Target> first = find_target(a), second = find_target(b);
  return first && second && first->descriptor && first->descriptor == second->descriptor;
}

FileReplacement::FileReplacement(const fs::path& file) : file_(file == "-" ? "stdout" : file) {
  const Target target = target_of(file);
  target_ = target.file;
  if (target.mode && S_ISDIR(*target.mode))
    throw EnvironmentError(fmt::format("{}: is a folder", file.string()));
  if (target.descriptor) {
    to_ = Descriptor(::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0));
  } else if (target.is_stream()) {
    to_ = open_awaited(target_);
  } else {
    temporary_ = temporary_name(target_);
    to_ = Descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  }
  if (!to_) throw os_error(file_, "can't be written");
  if (target.mode && !temporary_.empty()) (void)::fchmod(fd(), *target.mode & 07777);
}

FileReplacement::~FileReplacement() {
  to_.close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileReplacement::write(std::string_view content) {
  if (write_all(fd(), content)) return;
  if (errno == EPIPE) throw ReaderGone();
  throw os_error(file_, "can't be written");
}

void FileReplacement::sync() {
  if (!reaches_disk(fd())) throw os_error(file_, "can't be written");
}

void FileReplacement::commit() {
  sync();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) == 0) return temporary_.clear();
  // A file that is mounted by itself, as into a container, can only be written in place.
  if (errno != EBUSY && errno != EXDEV) throw os_error(file_, "can't be replaced");
  // What was there is gone as soon as this begins: until it is on the disk, the temporary file is the only
  // one.
  const fs::path whole = std::exchange(temporary_, {});
  std::error_code error;
  fs::copy_file(whole, target_, fs::copy_options::overwrite_existing, error);
  const Descriptor copied(error ? -1 : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!error && (!copied || ::fsync(copied.get()) != 0)) error.assign(errno, std::generic_category());
  if (error)
    throw EnvironmentError(fmt::format("{}: can't be written: {}; what was to be in it is in {}",
                                       file_.string(), error.message(), whole.string()));
  ::unlink(whole.c_str());
}

void check_can_be_written(const fs::path& file) {
  if (file.extension() == ".gz")
    throw UsageError(fmt::format(
        "{}: would hold text that is not gzipped; leave .gz out and gzip it afterwards", file.string()));
  const Target target = target_of(file);
  // Whoever reads a pipe takes its being closed for the end.
  if (target.descriptor || !target.is_stream()) const FileReplacement opened(file);
}

void write_file_atomically(const fs::path& file, std::string_view content) {
  FileReplacement replacement(file);
  replacement.write(content);
  replacement.commit();
}

void replace_folder(const fs::path& fresh, const fs::path& folder) {
  std::error_code error;
  fs::path target = fs::canonical(folder, error);
  if (error) target = folder;                                // nothing there
  if (::rename(fresh.c_str(), target.c_str()) == 0) return;  // or an empty folder
  if (errno != ENOTEMPTY && errno != EEXIST) throw os_error(folder, "can't be replaced");
  fs::path old = fresh;
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    // Not every file system can exchange names: for a moment there is no folder, never a half one.
    if (errno != EINVAL && errno != ENOSYS) throw os_error(folder, "can't be replaced");
    old = temporary_name(target);
    if (::rename(target.c_str(), old.c_str()) != 0) throw os_error(folder, "can't be replaced");
    if (::rename(fresh.c_str(), target.c_str()) != 0) {
      const int cause = errno;
      const bool is_back = ::rename(old.c_str(), target.c_str()) == 0;
      errno = cause;
      throw os_error(is_back ? folder : old,
                     is_back ? "can't be replaced" : "could be neither replaced nor put back");
    }
  }
  fs::remove_all(old, error);  // the old content; what stays behind does no harm
}

}  // namespace waco
