// Reading and growing a JSON Lines file.
#include "apps/bench/record_file.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::bench {
namespace {

using nlohmann::json;

struct Lines {
  std::vector<Record> records;
  size_t complete_bytes = 0;  ///< up to the last newline
};

Record parse_line(const std::string& text, const std::filesystem::path& file, int64_t number) {
  try {
    const json line = json::parse(text);
    check_artifact(line, file, kBenchFormat, kBenchVersion);
    return record_from_json(line);
  } catch (const json::exception&) {
    throw InputError(file.string(), number, "is not a record of waco-bench");
  } catch (const std::bad_optional_access&) {
    throw InputError(file.string(), number, "names an op or type that is not known here");
  }
}

Lines read_lines(const std::filesystem::path& file) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const EnvironmentError& unreadable) {
    throw Error(ExitCode::kInput, unreadable.what());
  }
  Lines lines;
  int64_t number = 1;
  for (size_t end; (end = text.find('\n', lines.complete_bytes)) != std::string::npos; ++number) {
    const std::string line = text.substr(lines.complete_bytes, end - lines.complete_bytes);
    if (!line.empty()) lines.records.push_back(parse_line(line, file, number));
    lines.complete_bytes = end + 1;
    if (!lines.records.empty() && !same_hardware(lines.records[0].machine, lines.records.back().machine))
      throw InputError(file.string(), number, "is of another machine than the lines before it");
  }
  if (lines.complete_bytes < text.size())
    spdlog::warn("{}:{}: the last line is torn and is left out", file.string(), number);
  return lines;
}

}  // namespace

std::vector<Record> read_records(const std::vector<std::string>& files) {
  std::vector<Record> records;
  for (const std::string& file : files) {
    for (Record& record : read_lines(file).records) records.push_back(std::move(record));
    if (!records.empty() && !same_hardware(records.front().machine, records.back().machine))
      throw InputError(file, 0,
                       fmt::format("holds times of {}, and the files before it of {}",
                                   records.back().machine.cpu_model, records.front().machine.cpu_model));
  }
  return records;
}

RecordFile::RecordFile(const std::filesystem::path& file, const Machine& machine) : appender_(file) {
  Lines lines = read_lines(file);
  records_ = std::move(lines.records);
  if (!records_.empty() && !same_hardware(records_[0].machine, machine))
    throw InputError(file.string(), 0,
                     fmt::format("holds times of {}, and this is {}; name another file",
                                 records_[0].machine.cpu_model, machine.cpu_model));
  appender_.cut(static_cast<int64_t>(lines.complete_bytes));
}

bool RecordFile::holds(const std::string& matrix_hash, const std::string& matrix_name,
                       const schedule::Problem& problem, int threads) const {
  for (const Record& record : records_)
    if (record.matrix.hash == matrix_hash && record.matrix.name == matrix_name && record.problem == problem &&
        record.threads == threads)
      return true;
  return false;
}

void RecordFile::append(const nlohmann::ordered_json& line, Record record) {
  appender_.append(line);
  appender_.sync();
  records_.push_back(std::move(record));
}

}  // namespace waco::bench
