// Small file operations, done so that a crash at any moment leaves nothing half-written behind.
#include "waco/base/files.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>

#include "waco/base/error.hpp"

namespace waco {
namespace fs = std::filesystem;
namespace {

/// A file descriptor that is closed on every way out.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw EnvironmentError(fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

}  // namespace

fs::path cache_folder() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base;
  if (xdg != nullptr && xdg[0] == '/') {  // the specification says to ignore relative paths
    base = xdg;
  } else if (home != nullptr && home[0] == '/') {
    base = fs::path(home) / ".cache";
  } else {
    throw EnvironmentError("no cache folder: set XDG_CACHE_HOME (or HOME) to an absolute path");
  }
  const fs::path folder = base / "waco";
  make_private_folder(folder);
  return folder;
}

fs::path cache_folder_if_any() {
  try {
    return cache_folder();
  } catch (const EnvironmentError& error) {
    static std::once_flag told;
    std::call_once(told, [&] { spdlog::warn("{}; nothing is kept for later runs", error.what()); });
    return {};
  }
}

void make_private_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) {
    throw EnvironmentError(
        fmt::format("{}: can't be created: {}", folder.parent_path().string(), error.message()));
  }
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail(folder, "can't be created");
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) fail(folder, "can't be examined");
  if (!S_ISDIR(status.st_mode)) throw EnvironmentError(fmt::format("{}: is not a folder", folder.string()));
  if (status.st_uid != ::geteuid()) {
    throw EnvironmentError(fmt::format(
        "{}: belongs to another user; set XDG_CACHE_HOME to a folder of your own", folder.string()));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw EnvironmentError(fmt::format(
        "{0}: others may write to it, and what it holds is executed; chmod 700 {0}", folder.string()));
  }
}

std::string read_file(const fs::path& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail(file, "can't be opened");
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail(file, "can't be read");
  // The size is only a first guess: that of pipes and of files in /proc is 0, and files grow.
  std::string content(static_cast<size_t>(std::max<off_t>(0, status.st_size)) + 1, '\0');
  size_t size = 0;
  for (;;) {
    if (size == content.size()) content.resize(2 * size);
    const ssize_t count = ::read(fd.get(), content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, "can't be read");
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  content.resize(size);
  return content;
}

std::string read_input_file(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) throw InputError(file.string(), 0, "is a folder; name a file inside it");
  try {
    return read_file(file);
  } catch (const EnvironmentError& unreadable) {
    // The message names the file already.
    throw Error(ExitCode::kInput, unreadable.what());
  }
}

fs::path temporary_name(const fs::path& file) {
  // Numbers of processes are not enough: containers and machines that share a folder have the same.
  static const uint64_t process = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<int> counter{0};
  fs::path name = file;
  name += fmt::format(".tmp.{:016x}.{}", process, counter++);
  return name;
}

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

/// Whether `link` leads where its text says. In /proc, links to pipes of other processes have a text that is
/// no name.
bool leads_to(const fs::path& link, const fs::path& next) {
  struct stat reached {};
  struct stat named {};
  if (::stat(link.c_str(), &reached) != 0) return true;  // there is nothing yet
  return ::stat(next.c_str(), &named) == 0 && reached.st_dev == named.st_dev &&
         reached.st_ino == named.st_ino;
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

}  // namespace

bool is_stream(const fs::path& file) {
  const std::optional<Target> target = find_target(file);
  return target && target->is_stream();
}

bool same_file(const fs::path& a, const fs::path& b) {
  if (is_stream(a) || is_stream(b)) return false;
  std::error_code error;
  return fs::equivalent(a, b, error) || place_of(a) == place_of(b);
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
    fd_ = ::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
  } else if (target.is_stream()) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = temporary_name(target_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) fail(file_, "can't be written");
  if (target.mode && !temporary_.empty()) (void)::fchmod(fd_, *target.mode & 07777);
}

FileReplacement::~FileReplacement() {
  ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileReplacement::write(std::string_view content) {
  if (write_all(fd_, content)) return;
  if (errno == EPIPE) throw ReaderGone();
  fail(file_, "can't be written");
}

void FileReplacement::sync() {
  if (!temporary_.empty() && ::fsync(fd_) != 0) fail(file_, "can't be written");
}

void FileReplacement::commit() {
  if (temporary_.empty()) return;
  sync();
  if (::rename(temporary_.c_str(), target_.c_str()) == 0) return temporary_.clear();
  // A file that is mounted by itself, as into a container, can only be written in place.
  if (errno != EBUSY && errno != EXDEV) fail(file_, "can't be replaced");
  std::error_code error;
  if (!fs::copy_file(temporary_, target_, fs::copy_options::overwrite_existing, error))
    throw EnvironmentError(fmt::format("{}: can't be replaced: {}", file_.string(), error.message()));
  // The temporary file has the only copy on the disk until then.
  const Descriptor copied(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
  if (copied.get() < 0 || ::fsync(copied.get()) != 0) fail(file_, "can't be written");
}

void check_can_be_written(const fs::path& file) {
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
  if (errno != ENOTEMPTY && errno != EEXIST) fail(folder, "can't be replaced");
  fs::path old = fresh;
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0) {
    // Not every file system can exchange names: for a moment there is no folder, never a half one.
    if (errno != EINVAL && errno != ENOSYS) fail(folder, "can't be replaced");
    old = temporary_name(target);
    if (::rename(target.c_str(), old.c_str()) != 0) fail(folder, "can't be replaced");
    if (::rename(fresh.c_str(), target.c_str()) != 0) {
      const int cause = errno;
      const bool is_back = ::rename(old.c_str(), target.c_str()) == 0;
      errno = cause;
      fail(is_back ? folder : old, is_back ? "can't be replaced" : "could be neither replaced nor put back");
    }
  }
  fs::remove_all(old, error);  // the old content; what stays behind does no harm
}

LockFile::LockFile(const fs::path& file, const std::string& held)
    : fd_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (fd_ < 0) fail(file, "can't be written");
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK) {
    ::close(fd_);
    throw EnvironmentError(held);
  }
  spdlog::warn("{}: can't be locked here; take care that only one run uses the folder", file.string());
}

LockFile::~LockFile() {
  ::close(fd_);
}

std::string content_hash(std::string_view content) {
  // Two 64-bit FNV-1a streams from different starts, each finished by a mixing round that spreads the last
  // bytes.
  uint64_t low = 0xcbf29ce484222325ull;
  uint64_t high = 0x84222325cbf29ce4ull;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    low = (low ^ byte) * 0x100000001b3ull;
    high = (high ^ byte) * 0x9e3779b97f4a7c15ull;
    high ^= high >> 29;
  }
  const auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  return fmt::format("{:016x}{:016x}", mix(low ^ content.size()), mix(high));
}

namespace {

constexpr std::string_view kFastPrefix = "x-";

}  // namespace

std::string fast_content_hash(std::string_view content) {
  // Eight lanes of eight bytes, each with a multiplication of its own under way; then the lanes, one by one.
  constexpr size_t kLanes = 8, kStripe = kLanes * sizeof(uint64_t);
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  uint64_t lanes[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = 0x243f6a8885a308d3ull + lane * kFactor;
  char last[kStripe] = {};
  size_t at = 0;
  const auto add = [&](const char* stripe) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint64_t word = 0;
      std::memcpy(&word, stripe + lane * sizeof word, sizeof word);
      lanes[lane] = (lanes[lane] ^ word) * kFactor;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  };
  for (; at + kStripe <= content.size(); at += kStripe) add(content.data() + at);
  if (at < content.size()) {
    std::memcpy(last, content.data() + at, content.size() - at);
    add(last);
  }
  uint64_t low = content.size(), high = ~low;
  for (const uint64_t lane : lanes) {
    low = (low ^ lane) * kFactor;
    low ^= low >> 32;
    high = (high + lane) * 0xbf58476d1ce4e5b9ull;
    high ^= high >> 31;
  }
  return fmt::format("{}{:016x}{:016x}", kFastPrefix, low, high);
}

bool has_hash(std::string_view content, std::string_view hash) {
  return (hash.starts_with(kFastPrefix) ? fast_content_hash(content) : content_hash(content)) == hash;
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  std::string name = (base / fmt::format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) fail(base, "no temporary folder can be created in it");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace waco
