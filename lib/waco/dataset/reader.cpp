// Reading a dataset line by line, plain or gzipped.
#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/dataset/dataset_file.hpp"

namespace waco::dataset {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kKind = "a line of a waco-dataset";

Header header_from_json(const json& document) {
  Header header;
  header.created_by = ordered_json::parse(document.value("created_by", json()).dump());
  header.machine = document.at("machine").get<Machine>();
  header.machines = document.value("machines", std::vector<Machine>());
  header.ceilings = document.value("ceilings", std::vector<json>());
  header.collection = ordered_json::parse(document.value("collection", json()).dump());
  return header;
}

Header header_of(const JsonLine& line) {
  check_artifact(line.document, line.file, kDatasetFormat, kDatasetVersion, line.number);
  return line.as(header_from_json);
}

[[noreturn]] void refuse_empty(const std::filesystem::path& file) {
  throw InputError(file.string(), 0, "is empty, not a dataset");
}

}  // namespace

Header read_header(const std::filesystem::path& file) {
  Header header;
  if (!read_first_json_line(file, kKind, [&](const JsonLine& line) { header = header_of(line); }))
    refuse_empty(file);
  return header;
}

ReadSummary read_dataset(const std::filesystem::path& file, const std::function<void(Record&&)>& on_record) {
  ReadSummary summary;
  bool has_header = false;
  summary.lines = read_json_lines(file, kKind, [&](const JsonLine& line) {
    if (has_header) {
      on_record(line.as(record_from_json));
      ++summary.num_records;
      return;
    }
    summary.header = header_of(line);
    has_header = true;
  });
  if (!has_header) refuse_empty(file);
  return summary;
}

}  // namespace waco::dataset
