// Reading and growing a file of results.
#include "waco/tune/result_file.hpp"

#include <fstream>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/tune/plan_file.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

/// What was asked for: two runs on one input that were asked the same are the same.
nlohmann::ordered_json asked_json(const TuneOptions& options) {
  const bool by_calls = options.effort_by_calls;
  nlohmann::ordered_json asked = {{"op", schedule::name(options.problem.op)},
                                  {"type", schedule::name(options.problem.type)},
                                  {"rhs", options.problem.rhs},
                                  {"threads", options.num_threads()},
                                  {"effort", by_calls ? json(nullptr) : json(name(options.effort))},
                                  {"calls", options.calls ? json(*options.calls) : json(nullptr)},
                                  {"cost_model", options.cost_model()},
                                  {"search", options.search}};
  // Lines that were written before there was a choice stay valid.
  if (options.learned && options.learned->index)
    asked["index"] = fast_content_hash(options.learned->index->vertices().plain());
  if (options.subspace != schedule::Subspace::kAll) asked["space"] = schedule::name(options.subspace);
  if (options.no_compile) asked["no_compile"] = true;
  if (options.check) asked["check"] = true;
  for (const schedule::SuperSchedule& point : options.points)
    asked["points"].push_back(schedule::to_text(point));
  return asked;
}

std::string key(const json& input, const json& asked) {
  return line_text(asked) + " " + line_text(input);
}

}  // namespace

nlohmann::ordered_json listed_document(const ListedResult& result, const TuneOptions& options,
                                       std::string_view program, const std::string& command) {
  nlohmann::ordered_json line = result.document;
  if (line.is_null()) {
    line = artifact_header(kPlanFormat, kPlanVersion, program, command, options.machine());
  }
  line["asked"] = asked_json(options);
  line["input"] = stored_text(result.input);
  line["status"] = result.outcome.code == ExitCode::kDone ? "done" : "failed";
  line["exit_code"] = static_cast<int>(result.outcome.code);
  line["error"] = result.outcome.error;
  return line;
}

bool is_result(const json& line) {
  return line.value("status", "") == "done" && !line.value("machine_failed", false);
}

bool holds_results_of_list(const std::filesystem::path& file) {
  std::error_code error;
  if (is_stream(file) || !std::filesystem::is_regular_file(file, error)) return false;
  std::string line;
  std::getline(std::ifstream(file), line);
  const json document = json::parse(line, nullptr, false);
  return document.is_object() && document.contains("input") && document.contains("asked");
}

ResultFile::ResultFile(const std::filesystem::path& file, const Machine& machine) : lines_(file) {
  lines_.continue_after(read_json_lines(file, "a result of waco-tune", [&](const JsonLine& line) {
    check_artifact(line.document, file, kPlanFormat, kPlanVersion, line.number);
    const auto on = line.as([&](const json& document) {
      note(document);
      return document.value("machine", json::object()).get<Machine>();
    });
    if (!same_hardware(on, machine))
      throw InputError(file.string(), line.number, "is a result of another machine; name another file");
  }));
}

void ResultFile::note(const json& line) {
  if (!is_result(line)) return;
  done_.insert(key(line.value("input", json()), line.value("asked", json())));
}

bool ResultFile::holds(const std::string& input, const TuneOptions& options) const {
  const std::string place = stored_text(input);
  json asked = asked_json(options);
  if (done_.contains(key(place, asked))) return true;
  return asked.erase("index") > 0 && done_.contains(key(place, asked));  // of before it was noted
}

void ResultFile::append(const nlohmann::ordered_json& line) {
  lines_.append(line);
  lines_.sync();
  note(line);
}

}  // namespace waco::tune
