// Plans as files: the document of a tuned result with its header. tuned_plans.hpp reads them back.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "waco/tune/result.hpp"

namespace waco::tune {

inline constexpr std::string_view kPlanFormat = "waco-plan";
inline constexpr int kPlanVersion = 1;

/// The whole document: header, then to_json(result).
nlohmann::ordered_json plan_document(const TuneResult& result, std::string_view program,
                                     const std::string& command);

/// Whether there is such a file, and the document in it has a best plan; false for all else, whatever it is.
bool holds_plan(const std::filesystem::path& file);

}  // namespace waco::tune
