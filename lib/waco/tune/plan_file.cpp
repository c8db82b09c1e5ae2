// Plans as files.
#include "waco/tune/plan_file.hpp"

#include <nlohmann/json.hpp>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/version.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

json parse_json(const std::filesystem::path& file) {
  std::string content;
  try {
    content = read_file(file);
  } catch (const EnvironmentError& error) {
    throw InputError(file.string(), 0, error.what());
  }
  json document = json::parse(content, nullptr, false);
  if (document.is_discarded() || !document.is_object())
    throw InputError(file.string(), 0, "is not a JSON document; give a plan that waco-tune -o wrote");
  return document;
}

void check_header(const std::filesystem::path& file, const json& document) {
  const json format = document.value("format", json());
  if (format != std::string(kPlanFormat))
    throw InputError(file.string(), 0,
                     fmt::format("is not a plan: its format is {}, not \"{}\"", format.dump(), kPlanFormat));
  const json version = document.value("version", json());
  if (!version.is_number_integer()) throw InputError(file.string(), 0, "the plan has no version number");
  if (version.get<int64_t>() > kPlanVersion)
    throw InputError(
        file.string(), 0,
        fmt::format("the plan has version {}, this program reads up to version {}: use a newer one",
                    version.get<int64_t>(), kPlanVersion));
}

}  // namespace

nlohmann::ordered_json plan_document(const TuneResult& result, std::string_view program,
                                     const std::string& command) {
  nlohmann::ordered_json document;
  document["format"] = kPlanFormat;
  document["version"] = kPlanVersion;
  document["created_by"] = {
      {"program", program}, {"version", version()}, {"commit", commit()}, {"command", command}};
  document["machine"] = json(result.machine);
  const json body = to_json(result);
  for (const char* first : {"complete", "matrix", "op", "type", "rhs", "threads", "best"})
    document[first] = body.at(first);
  document.update(nlohmann::ordered_json(body));
  return document;
}

Plan read_plan(const std::filesystem::path& file) {
  const json document = parse_json(file);
  check_header(file, document);
  Plan plan;
  try {
    for (const json& part : document.at("parts"))
      plan.parts.push_back(schedule::parse(part.at("plan").get<std::string>()));
    const json matrix = document.value("matrix", json::object());
    plan.matrix = matrix.value("name", "");
    plan.matrix_hash = matrix.value("hash", "");
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
