// Plans as files.
#include "waco/tune/plan_file.hpp"

#include <nlohmann/json.hpp>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

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

bool holds_plan(const std::filesystem::path& file) {
  std::error_code error;
  if (is_stream(file) || !std::filesystem::is_regular_file(file, error)) return false;
  try {
    const json document = json::parse(read_file(file), nullptr, false);
    return document.is_object() && document.value("format", json()) == kPlanFormat &&
           document.value("best", json()).is_object();
  } catch (const EnvironmentError&) {
    return false;
  }
}

}  // namespace waco::tune
