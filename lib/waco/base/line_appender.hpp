// A JSON Lines file that may be continued after any interruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace waco {

/// Appends whole lines to a file that this process alone writes to. A run that is killed leaves at most one
/// incomplete line, at the end, which whoever reads the file finds and has cut off before appending.
class LineAppender {
 public:
  /// Opens the file, which is created when missing. Throws EnvironmentError when it can't be written, or
  /// another run holds it.
  explicit LineAppender(std::filesystem::path file);
  ~LineAppender();
  LineAppender(const LineAppender&) = delete;
  LineAppender& operator=(const LineAppender&) = delete;

  /// Leaves the first `bytes` of the file.
  void cut(int64_t bytes);
  /// Hands one line, in which what is not UTF-8 (names of files need not be) is replaced, to the operating
  /// system in one call. Throws EnvironmentError, with the file as it was.
  void append(const nlohmann::ordered_json& document);
  /// Waits until everything is on the disk.
  void sync();

  const std::filesystem::path& file() const { return file_; }

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  int fd_ = -1;
};

}  // namespace waco
