// Plans as files.
#include "waco/tune/plan_file.hpp"

#include <nlohmann/json.hpp>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"

namespace waco::tune {

using nlohmann::json;

nlohmann::ordered_json plan_document(const TuneResult& result, std::string_view program,
                                     const std::string& command) {
  nlohmann::ordered_json document =
      artifact_header(kPlanFormat, kPlanVersion, program, command, result.machine);
  const json body = to_json(result);
  for (const char* first : {"complete", "matrix", "op", "type", "rhs", "threads", "best"})
    document[first] = body.at(first);
  document.update(nlohmann::ordered_json(body));
  return document;
}

Plan read_plan(const std::filesystem::path& file) {
  const json document = read_artifact(file, kPlanFormat, kPlanVersion);
  Plan plan;
  try {
    for (const json& part : document.at("parts"))
      plan.parts.push_back(schedule::parse(part.at("plan").get<std::string>()));
    const json best = document.value("best", json());
    plan.is_baseline = best.is_object() && best.value("is_baseline", false);
  } catch (const json::exception& error) {
    throw InputError(file.string(), 0, fmt::format("the plan is damaged: {}", error.what()));
  } catch (const UsageError& error) {
    throw InputError(file.string(), 0,
                     fmt::format("the plan holds a schedule that can't be read: {}", error.what()));
  }
  if (plan.parts.empty()) throw InputError(file.string(), 0, "the plan has no parts: that run found none");
  return plan;
}

}  // namespace waco::tune
