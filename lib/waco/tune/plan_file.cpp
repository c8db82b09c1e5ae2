// Plans as files.
#include "waco/tune/plan_file.hpp"

#include <nlohmann/json.hpp>

#include "waco/base/artifact.hpp"

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

}  // namespace waco::tune
