// A JSON Lines file that may be continued after any interruption.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "waco/base/descriptor.hpp"
#include "waco/base/line_reader.hpp"

namespace waco {

/// Appends whole lines to a file that this process alone writes to. A run that is killed leaves at most one
/// incomplete line, at the end, which read_json_lines finds and continue_after cuts off.
class LineAppender {
 public:
  /// Opens the file, which is created when missing. Throws EnvironmentError when it can't be written, or
  /// another run holds it, and UsageError when it is a stream, which can't be read to its end first, or its
  /// name ends in ".gz".
  explicit LineAppender(std::filesystem::path file);
  /// Removes a file that it created and that nothing came into.
  ~LineAppender();
  LineAppender(const LineAppender&) = delete;
  LineAppender& operator=(const LineAppender&) = delete;

  /// Makes the file, which was read to its end, one of whole lines. Throws UsageError when it is gzipped:
  /// readers would never see what follows.
  void continue_after(const LinesFound& found);
  /// Hands one line, in which what is not UTF-8 (names of files need not be) is replaced, to the operating
  /// system in one call. Throws EnvironmentError, with the file as it was.
  void append(const nlohmann::ordered_json& document);
  /// Waits until everything is on the disk.
  void sync();

  const std::filesystem::path& file() const { return file_; }
  /// Whether it created the file.
  bool is_new() const { return is_new_; }

 private:
  void write(std::string_view text);
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  Descriptor to_;
  bool is_new_ = false;
};

}  // namespace waco
