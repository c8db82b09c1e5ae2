// Reading and growing a file of results.
#include "waco/tune/result_file.hpp"

#include <spdlog/spdlog.h>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/tune/plan_file.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

constexpr auto kReplace = json::error_handler_t::replace;  // file names need not be UTF-8

/// What was asked for: two runs on one input that were asked the same are the same.
nlohmann::ordered_json asked_json(const TuneOptions& options) {
  const bool by_calls = options.effort_by_calls;
  nlohmann::ordered_json asked = {{"op", schedule::name(options.problem.op)},
                                  {"type", schedule::name(options.problem.type)},
                                  {"rhs", options.problem.rhs},
                                  {"threads", options.threads > 0 ? options.threads : usable_threads()},
                                  {"effort", by_calls ? json(nullptr) : json(name(options.effort))},
                                  {"calls", options.calls ? json(*options.calls) : json(nullptr)},
                                  {"cost_model", options.cost_model()},
                                  {"search", options.search}};
  // Lines that were written before there was a choice stay valid.
  if (options.subspace != schedule::Subspace::kAll) asked["space"] = schedule::name(options.subspace);
  return asked;
}

std::string key(const json& input, const json& asked) {
  return asked.dump(-1, ' ', false, kReplace) + " " + input.dump(-1, ' ', false, kReplace);
}

}  // namespace

nlohmann::ordered_json listed_document(const ListedResult& result, const TuneOptions& options,
                                       std::string_view program, const std::string& command) {
  nlohmann::ordered_json line = result.document;
  if (line.is_null()) {
    line = artifact_header(kPlanFormat, kPlanVersion, program, command, describe_machine(options.compiler));
  }
  line["asked"] = asked_json(options);
  line["input"] = result.input;
  line["status"] = result.outcome.code == ExitCode::kDone ? "done" : "failed";
  line["exit_code"] = static_cast<int>(result.outcome.code);
  line["error"] = result.outcome.error;
  return line;
}

ResultFile::ResultFile(const std::filesystem::path& file, const Machine& machine) : lines_(file) {
  const std::string text = read_file(file);
  size_t complete = 0;
  int64_t number = 1;
  for (size_t end; (end = text.find('\n', complete)) != std::string::npos; ++number) {
    const json line = json::parse(text.begin() + static_cast<ptrdiff_t>(complete),
                                  text.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
    if (line.is_discarded()) throw InputError(file.string(), number, "is not a result of waco-tune");
    check_artifact(line, file, kPlanFormat, kPlanVersion);
    if (!same_hardware(line.value("machine", json::object()).get<Machine>(), machine))
      throw InputError(file.string(), number, "is a result of another machine; name another file");
    note(line);
    complete = end + 1;
  }
  if (complete == text.size()) return;
  spdlog::warn("{}:{}: the last line is torn and is left out", file.string(), number);
  lines_.cut(static_cast<int64_t>(complete));
}

void ResultFile::note(const json& line) {
  if (line.value("status", "") != "done" || !line.value("complete", false)) return;
  done_.insert(key(line.value("input", json()), line.value("asked", json())));
}

bool ResultFile::holds(const std::string& input, const TuneOptions& options) const {
  return done_.contains(key(input, json(asked_json(options))));
}

void ResultFile::append(const nlohmann::ordered_json& line) {
  lines_.append(line);
  lines_.sync();
  note(line);
}

}  // namespace waco::tune
