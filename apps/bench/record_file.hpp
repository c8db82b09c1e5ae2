// Records kept in a JSON Lines file, so that a long run can be continued.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/bench/record.hpp"
#include "waco/base/line_appender.hpp"

namespace waco::bench {

/// All records of the files, in order. Of several of one matrix, problem and number of threads the last
/// counts, with a warning. A torn last line (of a run that was killed) is dropped with a warning.
/// Throws InputError when a file can't be read, holds something else, is of a newer version, or when machines
/// are mixed.
std::vector<Record> read_records(const std::vector<std::string>& files);

/// A file that grows by a line for each record.
class RecordFile {
 public:
  /// Reads what is there, as read_records does; a torn last line is cut off. Throws InputError as
  /// read_records does, and when the records are of another machine than `machine`.
  RecordFile(const std::filesystem::path& file, const Machine& machine);

  const std::vector<Record>& records() const { return records_; }
  /// The record of this matrix with this problem on so many threads, or null.
  const Record* find(const std::string& matrix_hash, const std::string& matrix_name,
                     const schedule::Problem& problem, int threads) const;
  /// Writes one line and brings it to the disk. Throws EnvironmentError.
  void append(const nlohmann::ordered_json& line, Record record);

 private:
  LineAppender appender_;
  std::vector<Record> records_;
};

}  // namespace waco::bench
