// The header line, and appending to a dataset that may have been torn.
#include "waco/dataset/dataset_file.hpp"

#include <spdlog/spdlog.h>

#include <fstream>
#include <system_error>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"

namespace waco::dataset {
namespace fs = std::filesystem;
namespace {

nlohmann::ordered_json header_document(const Header& header) {
  nlohmann::ordered_json document;
  document["format"] = kDatasetFormat;
  document["version"] = kDatasetVersion;
  document["created_by"] = header.created_by;
  document["machine"] = nlohmann::json(header.machine);
  if (!header.machines.empty()) document["machines"] = nlohmann::json(header.machines);
  if (!header.ceilings.empty()) document["ceilings"] = header.ceilings;
  document["collection"] = header.collection;
  return document;
}

/// Options and machine must be those the file was begun with.
void check_continues(const fs::path& file, const Header& found, const Header& wanted) {
  if (!found.machines.empty() || found.collection.is_null())
    throw UsageError(fmt::format("{}: is the result of a merge, which can't be continued", file.string()));
  for (const nlohmann::ordered_json* options : {&wanted.collection, &found.collection})
    for (const auto& item : options->items()) {
      const auto before = found.collection.value(item.key(), nlohmann::ordered_json());
      const auto now = wanted.collection.value(item.key(), nlohmann::ordered_json());
      // Datasets begun before the index was written down do not say which it was.
      const bool unknown = item.key() == "index" && before.is_null() && found.collection.contains("model");
      if (before != now && !unknown)
        throw UsageError(fmt::format("{}: was collected with {} {}, not {}; write to another file",
                                     file.string(), item.key(), before.dump(), now.dump()));
    }
  if (!same_machine(found.machine, wanted.machine))
    throw UsageError(fmt::format(
        "{}: was collected on another machine or with another compiler ({}; {}); write to another file",
        file.string(), found.machine.cpu_model, found.machine.compiler.version));
  const auto version_of = [](const Header& header) {
    return header.created_by.is_object() ? header.created_by.value("version", "") : std::string();
  };
  if (!version_of(found).empty() && version_of(found) != version_of(wanted))
    spdlog::warn("{}: was begun by version {}, whose kernels and points may be others than those of {}",
                 file.string(), version_of(found), version_of(wanted));
}

/// Writes the header in the place of what is there, or removes the file.
void begin(LineAppender& lines, const Header& header) {
  try {
    lines.continue_after({.torn = true});
    lines.append(header_document(header));
    lines.sync();
  } catch (const EnvironmentError&) {
    std::error_code ignored;
    fs::remove(lines.file(), ignored);
    throw;
  }
}

}  // namespace

bool is_torn_header(const fs::path& file) {
  const std::string begin = fmt::format(R"({{"format":"{}")", kDatasetFormat);
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  if (!stream.eof()) return false;  // the line has its end
  return line.size() < begin.size() ? begin.starts_with(line)
                                    : line.starts_with(begin) && !nlohmann::json::accept(line);
}

std::string header_line(const Header& header) {
  return line_text(header_document(header));
}

std::vector<Machine> machines_of(const Header& header) {
  return header.machines.empty() ? std::vector<Machine>{header.machine} : header.machines;
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

DatasetAppender::DatasetAppender(fs::path file, Header header, const std::function<void(Record&&)>& on_record,
                                 const std::function<void(Header&)>& complete) {
  lines_.emplace(std::move(file));  // from here on this run alone writes to it
  if (is_torn_header(lines_->file())) {
    if (complete) complete(header);
    begin(*lines_, header);
  }
  ReadSummary found = read_dataset(lines_->file(), on_record);
  check_continues(lines_->file(), found.header, header);
  lines_->continue_after(found.lines);
  header_ = std::move(found.header);
}

void DatasetAppender::append(const Record& record) {
  lines_->append(to_json(record));
}

void DatasetAppender::sync() {
  lines_->sync();
}

void DatasetAppender::discard() {
  std::error_code ignored;
  if (lines_->is_new()) fs::remove(lines_->file(), ignored);
}

}  // namespace waco::dataset
