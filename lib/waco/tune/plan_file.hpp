// Plans as files: the document of a tuned result with its header, and the points of a plan read back.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "waco/tune/result.hpp"

namespace waco::tune {

inline constexpr std::string_view kPlanFormat = "waco-plan";
inline constexpr int kPlanVersion = 1;

/// The whole document: header, then to_json(result).
nlohmann::ordered_json plan_document(const TuneResult& result, std::string_view program,
                                     const std::string& command);

/// What other programs need of a plan.
struct Plan {
  std::vector<schedule::SuperSchedule> parts;
  bool is_baseline = false;  ///< the answer was fixed_csr itself, whose kernel is its own
};

/// Throws InputError when the file is not a plan, is of a newer version, or holds no part.
Plan read_plan(const std::filesystem::path& file);

}  // namespace waco::tune
