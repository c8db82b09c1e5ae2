// Datasets as files: JSON Lines that start with an artifact header and are only ever appended to. The
// interface of this folder; the keys are in docs/file-formats.md.
//
// A run may be killed at any moment. Every line is written by one call, so that at most the last one can be
// incomplete: readers drop it with a warning, and it is cut off before anything is appended
// (base/line_reader.hpp).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/line_appender.hpp"
#include "waco/base/machine.hpp"
#include "waco/dataset/record.hpp"

namespace waco::dataset {

inline constexpr const char* kDatasetFormat = "waco-dataset";
inline constexpr int kDatasetVersion = 1;

/// The first line of a dataset.
struct Header {
  nlohmann::ordered_json created_by;
  Machine machine;                ///< of every record that does not name another
  std::vector<Machine> machines;  ///< of a file that mixes them: what records' `machine` counts
  /// What each of `machines`, or the only one, can do at most (model::Ceilings), null where that is not
  /// known; none when nothing is.
  std::vector<nlohmann::json> ceilings;
  nlohmann::ordered_json
      collection;  ///< the options it was collected with; null after a merge of unlike ones
};

/// The header as one line of JSON, without a newline.
std::string header_line(const Header& header);

/// What the `machine` of a file's records counts.
std::vector<Machine> machines_of(const Header& header);

/// Whether times of both may be compared: the same hardware, instruction
/// sets and compilers. Threads are in each record.
bool same_machine(const Machine& a, const Machine& b);

/// What reading found besides the records.
struct ReadSummary {
  Header header;
  int64_t num_records = 0;
  LinesFound lines;
};

/// Whether the file holds nothing, or a part of a header without its end: the run that began it was ended
/// there. A text that could be anything is no such part.
bool is_torn_header(const std::filesystem::path& file);

/// The header alone. Throws InputError when the file is no dataset.
Header read_header(const std::filesystem::path& file);

/// Hands over every record of a dataset, plain or gzipped, in file order. Throws InputError when the file is
/// none, or a line is damaged.
ReadSummary read_dataset(const std::filesystem::path& file, const std::function<void(Record&&)>& on_record);

/// A dataset in memory.
struct Dataset {
  Header header;
  std::vector<Record> records;
};
/// Warns about a torn line.
Dataset load_dataset(const std::filesystem::path& file);

/// A dataset that this process alone appends to.
class DatasetAppender {
 public:
  /// Creates the file with `header`, to which `complete` first adds what takes time to find out, or continues
  /// one that is there: cuts a torn line off, hands its records over, and leaves its header as it is, unless
  /// that is the torn line. Throws InputError when the file is no dataset, UsageError when it is gzipped or
  /// was collected with other options or on another machine, and EnvironmentError when another process
  /// appends to it or it can't be written; one whose header can't be written is removed.
  DatasetAppender(std::filesystem::path file, Header header, const std::function<void(Record&&)>& on_record,
                  const std::function<void(Header&)>& complete = {});

  /// That of the file, which may be older than this run.
  const Header& header() const { return header_; }
  /// Writes one line and hands it to the operating system. Throws EnvironmentError, with the file as it was.
  void append(const Record& record);
  /// Waits until everything is on the disk.
  void sync();
  /// Removes a file that it created: nothing came into it but the header.
  void discard();

 private:
  std::optional<LineAppender> lines_;
  Header header_;
};

}  // namespace waco::dataset
