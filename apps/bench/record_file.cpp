// Reading and growing a JSON Lines file.
#include "apps/bench/record_file.hpp"

#include <spdlog/spdlog.h>

#include <map>
#include <tuple>
#include <utility>

#include "apps/bench/report/table.hpp"
#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

struct Found {
  std::vector<Record> records;
  LinesFound lines;
};

Found read_file_of_records(const std::filesystem::path& file) {
  Found found;
  std::vector<Record>& records = found.records;
  found.lines = read_json_lines(file, "a record of waco-bench", [&](const JsonLine& line) {
    check_artifact(line.document, file, kBenchFormat, kBenchVersion, line.number);
    records.push_back(line.as(record_from_json));
    if (!same_hardware(records[0].machine, records.back().machine))
      throw InputError(file.string(), line.number, "is of another machine than the lines before it");
  });
  return found;
}

/// Records of several reads: of those of one matrix, problem and number of threads the last counts.
class LastOfEach {
 public:
  /// Warns where some of the records, which are from `file`, take the place of others.
  void add(std::vector<Record> records, const std::string& file) {
    size_t num_repeated = 0;
    for (Record& record : records) {
      const auto [entry, is_new] = places_.try_emplace(
          {record.matrix.hash, record.matrix.name, schedule::to_text(record.problem), record.threads},
          records_.size());
      if (is_new) {
        records_.push_back(std::move(record));
      } else {
        records_[entry->second] = std::move(record);
        ++num_repeated;
      }
    }
    if (num_repeated > 0)
      spdlog::warn("{}: {} of its records take the place of earlier ones of the same matrix and problem",
                   file, num_repeated);
  }
  std::vector<Record>& records() { return records_; }

 private:
  std::vector<Record> records_;
  std::map<std::tuple<std::string, std::string, std::string, int>, size_t> places_;
};

bool is_of(const Record& record, const std::string& matrix_hash, const std::string& matrix_name,
           const schedule::Problem& problem, int threads) {
  return record.matrix.hash == matrix_hash && record.matrix.name == matrix_name &&
         record.problem == problem && record.threads == threads;
}

}  // namespace

std::vector<Record> read_records(const std::vector<std::string>& files) {
  LastOfEach all;
  for (const std::string& file : files) {
    std::vector<Record> own = read_file_of_records(file).records;
    const std::vector<Record>& records = all.records();
    if (!records.empty() && !own.empty() && !same_hardware(records[0].machine, own[0].machine))
      throw InputError(file, 0,
                       fmt::format("holds times of {}, and the files before it of {}",
                                   own[0].machine.cpu_model, records[0].machine.cpu_model));
    all.add(std::move(own), file);
  }
  return std::move(all.records());
}

RecordFile::RecordFile(const std::filesystem::path& file, const Machine& machine) : appender_(file) {
  Found found = read_file_of_records(file);
  LastOfEach all;
  all.add(std::move(found.records), file.string());
  records_ = std::move(all.records());
  if (!records_.empty() && !same_hardware(records_[0].machine, machine))
    throw InputError(file.string(), 0,
                     fmt::format("holds times of {}, and this is {}; name another file",
                                 records_[0].machine.cpu_model, machine.cpu_model));
  appender_.continue_after(found.lines);
}

const Record* RecordFile::find(const std::string& matrix_hash, const std::string& matrix_name,
                               const schedule::Problem& problem, int threads) const {
  const std::string name = stored_text(matrix_name);
  for (const Record& record : records_)
    if (is_of(record, matrix_hash, name, problem, threads)) return &record;
  return nullptr;
}

void RecordFile::append(const nlohmann::ordered_json& line, Record record) {
  appender_.append(line);
  appender_.sync();
  record.matrix.name = stored_text(record.matrix.name);
  records_.push_back(std::move(record));
}

}  // namespace waco::bench
