// The header line, and appending to a dataset that may have been torn.
#include "waco/dataset/dataset_file.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::dataset {
namespace fs = std::filesystem;
namespace {

// Names of files and matrices need not be UTF-8.
constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

[[noreturn]] void fail(const fs::path& file, const char* what) {
  throw EnvironmentError(fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

bool is_missing_or_empty(const fs::path& file) {
  std::error_code error;
  return !fs::exists(file, error) || (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0);
}

/// Options and machine must be those the file was begun with.
void check_continues(const fs::path& file, const Header& found, const Header& wanted) {
  if (!found.machines.empty() || found.collection.is_null())
    throw UsageError(fmt::format("{}: is the result of a merge, which can't be continued", file.string()));
  for (const auto& [option, value] : wanted.collection.items()) {
    const nlohmann::ordered_json before = found.collection.value(option, nlohmann::ordered_json());
    if (before != value)
      throw UsageError(fmt::format("{}: was collected with {} {}, not {}; write to another file",
                                   file.string(), option, before.dump(), value.dump()));
  }
  if (!same_machine(found.machine, wanted.machine))
    throw UsageError(fmt::format(
        "{}: was collected on another machine or with another compiler ({}; {}); write to another file",
        file.string(), found.machine.cpu_model, found.machine.compiler.version));
}

}  // namespace

std::string header_line(const Header& header) {
  nlohmann::ordered_json document;
  document["format"] = kDatasetFormat;
  document["version"] = kDatasetVersion;
  document["created_by"] = header.created_by;
  document["machine"] = nlohmann::json(header.machine);
  if (!header.machines.empty()) document["machines"] = nlohmann::json(header.machines);
  document["collection"] = header.collection;
  return document.dump(-1, ' ', false, kReplace);
}

bool same_machine(const Machine& a, const Machine& b) {
  // Memory and the threads a process may use differ between like nodes and jobs; threads are in each record.
  return a.cpu_model == b.cpu_model && a.caches == b.caches && a.compiler.version == b.compiler.version &&
         a.compiler.fingerprint == b.compiler.fingerprint && a.num_cores == b.num_cores;
}

Dataset load_dataset(const fs::path& file) {
  Dataset dataset;
  dataset.header =
      read_dataset(file, [&](Record&& record) { dataset.records.push_back(std::move(record)); }).header;
  return dataset;
}

DatasetAppender::DatasetAppender(fs::path file, const Header& header,
                                 const std::function<void(Record&&)>& on_record)
    : file_(std::move(file)) {
  if (is_missing_or_empty(file_)) write_file_atomically(file_, header_line(header) + "\n");
  fd_ = ::open(file_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) fail(file_, "can't be written");
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        throw EnvironmentError(fmt::format("{}: another run is writing to it", file_.string()));
      spdlog::warn("{}: can't be locked here; take care that only one run writes to it", file_.string());
    }
    const ReadSummary found = read_dataset(file_, on_record);
    check_continues(file_, found.header, header);
    if (found.torn && ::ftruncate(fd_, found.valid_bytes) != 0) fail(file_, "can't be written");
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

DatasetAppender::~DatasetAppender() {
  if (fd_ >= 0) ::close(fd_);
}

void DatasetAppender::append(const Record& record) {
  const std::string line = to_json(record).dump(-1, ' ', false, kReplace) + "\n";
  ssize_t written;
  do {
    written = ::write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(line.size())) return;
  const int cause = written < 0 ? errno : ENOSPC;
  struct stat status {};
  if (written > 0 && ::fstat(fd_, &status) == 0) {
    [[maybe_unused]] const int cut = ::ftruncate(fd_, status.st_size - written);
  }
  errno = cause;
  fail(file_, "can't be written");
}

void DatasetAppender::sync() {
  if (::fsync(fd_) != 0 && errno != EINVAL) fail(file_, "can't be written");
}

}  // namespace waco::dataset
