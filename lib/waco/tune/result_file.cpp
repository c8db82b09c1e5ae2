// Reading and growing a file of results.
#include "waco/tune/result_file.hpp"

#include <spdlog/spdlog.h>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/tune/plan_file.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

/// What makes two runs on one input the same.
std::string key(const std::string& input, std::string_view op, std::string_view type, int64_t rhs,
                int64_t threads, std::string_view effort) {
  return fmt::format("{} {} {} {} {} {}", op, type, rhs, threads, effort, input);
}

bool same_machine(const json& a, const json& b) {
  for (const char* name : {"cpu", "cores"})
    if (a.value(name, json()) != b.value(name, json())) return false;
  return true;
}

}  // namespace

nlohmann::ordered_json listed_document(const ListedResult& result, const TuneOptions& options,
                                       std::string_view program, const std::string& command) {
  nlohmann::ordered_json line = result.document;
  if (line.is_null()) {
    line = artifact_header(kPlanFormat, kPlanVersion, program, command, describe_machine(options.compiler));
    line["op"] = schedule::name(options.problem.op);
    line["type"] = schedule::name(options.problem.type);
    line["rhs"] = options.problem.rhs;
  }
  line["input"] = result.input;
  line["status"] = result.outcome.code == ExitCode::kDone ? "done" : "failed";
  line["exit_code"] = static_cast<int>(result.outcome.code);
  line["error"] = result.outcome.error;
  return line;
}

ResultFile::ResultFile(const std::filesystem::path& file, const json& machine) : lines_(file) {
  const std::string text = read_file(file);
  size_t complete = 0;
  int64_t number = 1;
  for (size_t end; (end = text.find('\n', complete)) != std::string::npos; ++number) {
    const json line = json::parse(text.begin() + static_cast<ptrdiff_t>(complete),
                                  text.begin() + static_cast<ptrdiff_t>(end), nullptr, false);
    if (line.is_discarded()) throw InputError(file.string(), number, "is not a result of waco-tune");
    check_artifact(line, file, kPlanFormat, kPlanVersion);
    if (!same_machine(line.value("machine", json::object()), machine))
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
  done_.insert(key(line.value("input", ""), line.value("op", ""), line.value("type", ""),
                   line.value("rhs", int64_t{0}), line.value("threads", int64_t{0}),
                   line.value("effort", "")));
}

bool ResultFile::holds(const std::string& input, const TuneOptions& options) const {
  const int threads = options.threads > 0 ? options.threads : usable_threads();
  return done_.contains(key(input, schedule::name(options.problem.op), schedule::name(options.problem.type),
                            options.problem.rhs, threads, name(options.effort)));
}

void ResultFile::append(const nlohmann::ordered_json& line) {
  lines_.append(line.dump(-1, ' ', false, json::error_handler_t::replace));
  lines_.sync();
  note(line);
}

}  // namespace waco::tune
