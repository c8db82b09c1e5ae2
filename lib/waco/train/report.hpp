// Reports of training and evaluation for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace waco::train {

/// The metrics of all models side by side, and the worst pairs; `report` as run_training and run_evaluation
/// return it.
std::string to_table(const nlohmann::ordered_json& report);

/// Loss, pairwise accuracy and regret by epoch: a self-contained HTML page with inline drawings. `report` as
/// run_training returns it.
std::string curves_page(const nlohmann::ordered_json& report);

}  // namespace waco::train
