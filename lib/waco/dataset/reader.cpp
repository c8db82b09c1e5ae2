// Reading a dataset line by line, plain or gzipped.
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/dataset/dataset_file.hpp"

namespace waco::dataset {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

/// The lines of a file; zlib passes plain files through.
class LineReader {
 public:
  explicit LineReader(const fs::path& file) : file_(file) {
    std::error_code error;
    if (fs::is_directory(file, error)) throw InputError(file.string(), 0, "is a folder, not a dataset");
    gz_ = ::gzopen(file.c_str(), "rbe");
    if (gz_ == nullptr)
      throw InputError(file.string(), 0, fmt::format("can't be opened: {}", std::strerror(errno)));
    ::gzbuffer(gz_, 1 << 18);
  }
  ~LineReader() { ::gzclose(gz_); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool gzipped() { return ::gzdirect(gz_) == 0; }

  /// False at the end. `complete`: the line ended with a newline, which is not part of it.
  bool next(std::string& line, bool& complete) {
    line.clear();
    for (;;) {
      const size_t newline = buffer_.find('\n', begin_);
      if (newline != std::string::npos) {
        line.append(buffer_, begin_, newline - begin_);
        begin_ = newline + 1;
        complete = true;
        return true;
      }
      line.append(buffer_, begin_);
      begin_ = 0;
      if (!fill()) break;
    }
    complete = false;
    return !line.empty();
  }

 private:
  bool fill() {
    buffer_.resize(size_t{1} << 16);
    const int count = ::gzread(gz_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (count < 0) {
      int code = 0;
      const char* what = ::gzerror(gz_, &code);
      throw InputError(file_.string(), 0, fmt::format("can't be read: {}", what));
    }
    buffer_.resize(static_cast<size_t>(count));
    return count > 0;
  }

  const fs::path file_;
  gzFile gz_ = nullptr;
  std::string buffer_;
  size_t begin_ = 0;
};

Header parse_header(const fs::path& file, const std::string& line) {
  json document = json::parse(line, nullptr, false);
  check_artifact(document, file, kDatasetFormat, kDatasetVersion);
  Header header;
  try {
    header.created_by = nlohmann::ordered_json::parse(document.value("created_by", json()).dump());
    header.machine = document.at("machine").get<Machine>();
    header.machines = document.value("machines", std::vector<Machine>());
    header.collection = nlohmann::ordered_json::parse(document.value("collection", json()).dump());
  } catch (const json::exception& error) {
    throw InputError(file.string(), 1, fmt::format("the header is damaged: {}", error.what()));
  }
  return header;
}

/// Why a line is no record; empty when it is one.
std::string parse_record(const std::string& line, Record& record) {
  try {
    record = record_from_json(json::parse(line));
    return {};
  } catch (const json::exception& error) {
    return error.what();
  } catch (const UsageError& error) {
    return error.what();
  }
}

}  // namespace

ReadSummary read_dataset(const fs::path& file, const std::function<void(Record&&)>& on_record) {
  LineReader reader(file);
  ReadSummary summary;
  std::string line;
  std::string next;
  bool complete = false;
  bool next_complete = false;
  if (!reader.next(line, complete)) throw InputError(file.string(), 0, "is empty, not a dataset");
  summary.gzipped = reader.gzipped();
  summary.header = parse_header(file, line);
  if (!complete) throw InputError(file.string(), 1, "the header is incomplete");
  summary.valid_bytes = static_cast<int64_t>(line.size()) + 1;

  bool more = reader.next(line, complete);
  for (int64_t number = 2; more; ++number) {
    more = reader.next(next, next_complete);
    Record record;
    const std::string fault = complete ? parse_record(line, record) : "it does not end";
    if (fault.empty()) {
      on_record(std::move(record));
      ++summary.num_records;
      summary.valid_bytes += static_cast<int64_t>(line.size()) + 1;
    } else if (more) {
      throw InputError(file.string(), number, fmt::format("is not a record: {}", fault));
    } else {
      summary.torn = true;
      spdlog::warn("{}:{}: the last line is incomplete and was left out", file.string(), number);
    }
    std::swap(line, next);
    std::swap(complete, next_complete);
  }
  return summary;
}

}  // namespace waco::dataset
