// The header line, and appending to a dataset that may have been torn.
#include "waco/dataset/dataset_file.hpp"

#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::dataset {
namespace fs = std::filesystem;
namespace {

// Names of files and matrices need not be UTF-8.
constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

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
  if (!header.ceilings.empty()) document["ceilings"] = header.ceilings;
  document["collection"] = header.collection;
  return document.dump(-1, ' ', false, kReplace);
}

bool same_machine(const Machine& a, const Machine& b) {
  return same_hardware(a, b) && a.compiler.version == b.compiler.version &&
         a.compiler.fingerprint == b.compiler.fingerprint;
}

Dataset load_dataset(const fs::path& file) {
  Dataset dataset;
  dataset.header =
      read_dataset(file, [&](Record&& record) { dataset.records.push_back(std::move(record)); }).header;
  return dataset;
}

DatasetAppender::DatasetAppender(fs::path file, const Header& header,
                                 const std::function<void(Record&&)>& on_record) {
  if (is_missing_or_empty(file)) write_file_atomically(file, header_line(header) + "\n");
  lines_.emplace(std::move(file));
  const ReadSummary found = read_dataset(lines_->file(), on_record);
  check_continues(lines_->file(), found.header, header);
  lines_->continue_after(found.lines);
}

void DatasetAppender::append(const Record& record) {
  lines_->append(to_json(record));
}

void DatasetAppender::sync() {
  lines_->sync();
}

}  // namespace waco::dataset
