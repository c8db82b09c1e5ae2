// Reading the files of waco-tune for their plans.
#include "waco/tune/tuned_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/line_reader.hpp"
#include "waco/tune/plan_file.hpp"

namespace waco::tune {
namespace fs = std::filesystem;

using nlohmann::json;

namespace {

/// By the measurement of the point with this text; 0 without one.
int64_t num_stored_by(const json& document, const std::string& text) {
  json measurements = document.value("candidates", json::array());
  measurements.push_back(document.value("baseline", json()));
  for (const json& measurement : measurements)
    if (measurement.is_object() && measurement.value("plan", "") == text)
      return measurement.value("num_stored", int64_t{0});
  return 0;
}

TunedPlan parse_plan(const json& document) {
  TunedPlan plan;
  plan.input = document.value("input", "");
  plan.error = document.value("error", "");
  plan.threads = document.value("threads", 0);
  plan.cost_model = document.value("cost_model", "");
  plan.search = document.value("search", "");
  plan.effort = document.value("effort", "");
  const json matrix = document.value("matrix", json::object());
  plan.matrix = {matrix.value("name", ""), matrix.value("dims", std::vector<int64_t>()),
                 matrix.value("nnz", int64_t{0}), matrix.value("hash", "")};
  if (const auto machine = document.find("machine"); machine != document.end() && machine->is_object())
    plan.machine = machine->get<Machine>();
  const json parts = document.value("parts", json::array());
  if (parts.size() > 1) throw UsageError(fmt::format("has {} parts; one is supported", parts.size()));
  if (parts.empty()) return plan;
  const auto text = parts[0].at("plan").get<std::string>();
  plan.point = schedule::parse(text);
  plan.num_stored = num_stored_by(document, text);
  const json best = document.value("best", json());
  plan.is_baseline = best.is_object() && best.value("is_baseline", false);
  if (plan.is_baseline && plan.point != schedule::csr_point(plan.point->problem, plan.point->compute.threads))
    throw UsageError(fmt::format("says that fixed_csr is the best, which \"{}\" is not", text));
  return plan;
}

constexpr const char* kKind = "a plan of waco-tune";

TunedPlan checked_plan(const JsonLine& line) {
  check_artifact(line.document, line.file, kPlanFormat, kPlanVersion, line.number);
  return line.as(parse_plan);
}

std::vector<TunedPlan> read_lines(const fs::path& file) {
  std::vector<TunedPlan> plans;
  read_json_lines(file, kKind, [&](const JsonLine& line) { plans.push_back(checked_plan(line)); });
  return plans;
}

/// Whether the text is of one document over several lines, as plans of one matrix are written.
bool begins_over_lines(const std::string& text) {
  const size_t brace = text.find_first_not_of(" \t\r\n");
  if (brace == std::string::npos || text[brace] != '{') return false;
  const size_t next = text.find_first_not_of(" \t\r", brace + 1);
  return next != std::string::npos && text[next] == '\n';
}

}  // namespace

TunedPlans TunedPlans::read(const fs::path& file) {
  TunedPlans result;
  result.file_ = file;
  const std::string text = read_input_file(file);
  const json whole = json::parse(text, nullptr, false);
  if (whole.is_discarded() && begins_over_lines(text))
    (void)parse_artifact(text, file, kPlanFormat, kPlanVersion);  // which says where it is damaged
  result.for_all_ = !whole.is_discarded() && !(whole.is_object() && whole.contains("input"));
  if (result.for_all_) {
    result.plans_.push_back(checked_plan({whole, 0, file, kKind}));
  } else if (file == "-" || is_stream(file)) {  // which can't be read again: one line of a list, or nothing
    const JsonLine line{whole, 1, file, kKind};
    if (whole.is_discarded()) line.refuse("it is no JSON, or several lines; name a file of these");
    result.plans_.push_back(checked_plan(line));
  } else {
    result.plans_ = read_lines(file);
    if (result.plans_.empty())
      throw InputError(file.string(), 0, fmt::format("is not {}: it is empty or cut off", kKind));
  }
  if (result.problems().empty()) throw InputError(file.string(), 0, "holds no plan: that run found none");
  return result;
}

std::vector<schedule::Problem> TunedPlans::problems() const {
  std::vector<schedule::Problem> problems;
  for (const TunedPlan& plan : plans_)
    if (plan.point && std::find(problems.begin(), problems.end(), plan.point->problem) == problems.end())
      problems.push_back(plan.point->problem);
  return problems;
}

schedule::Problem TunedPlans::choose_problem(const ProblemOptions& options) const {
  std::optional<schedule::Problem> chosen;
  for (const schedule::Problem& problem : problems()) {
    if (!options.op.empty() && options.op != schedule::name(problem.op)) continue;
    if (!options.type.empty() && options.type != schedule::name(problem.type)) continue;
    if (options.rhs && *options.rhs != problem.rhs) continue;
    if (chosen)
      throw UsageError(fmt::format(
          "{} holds plans for several problems; say by --op, --type and --rhs for which", file_.string()));
    chosen = problem;
  }
  if (!chosen)
    throw UsageError(
        fmt::format("--op, --type and --rhs contradict {}, which holds no plan for that", file_.string()));
  return *chosen;
}

const TunedPlan& TunedPlans::find(const std::string& input, const std::string& matrix_hash,
                                  const schedule::Problem& problem, int threads) const {
  if (for_all_) return plans_.front();
  const std::string name = stored_text(input);
  const auto preference = [&](const TunedPlan& plan) {
    return std::tuple(plan.threads == threads, plan.input == name);
  };
  const TunedPlan* best = nullptr;
  std::string why = fmt::format("holds no plan of {} for {}", schedule::to_text(problem), input);
  for (const TunedPlan& plan : plans_) {
    if (!plan.point && plan.input == name && !plan.error.empty())
      why += fmt::format("; waco-tune failed on it: {}", plan.error);
    if (!plan.point || plan.point->problem != problem) continue;
    if (plan.matrix.hash == matrix_hash) {
      if (best == nullptr || preference(plan) >= preference(*best)) best = &plan;
    } else if (plan.input == name) {
      why += "; its line of that name is for another pattern";
    }
  }
  if (best == nullptr) throw InputError(file_.string(), 0, why);
  return *best;
}

}  // namespace waco::tune
