// Records as aligned text for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/bench/peers/peer.hpp"
#include "apps/bench/record.hpp"
#include "apps/bench/report/summary.hpp"

namespace waco::bench {

/// The machine's ceilings, a few lines.
std::string to_table(const model::Ceilings& ceilings);

/// One matrix: its contestants, fastest first.
std::string to_table(const Record& record);

/// Geometric means over all matrices of one problem.
std::string to_table(const Summary& summary);

/// The answer to --list-peers.
std::string to_table(const std::vector<Library>& libraries);

/// Where the plan of a record is from: "tuned in 1.5 s by the closed-form model with effort normal".
std::string origin_text(const Record& record);

/// A speedup, "1.25" and its unit, or `none` where there is none.
std::string factor(double value, std::string_view none = "", std::string_view unit = "");
/// Our speedup over the best peer of a record, as factor(); ">1.25" where that peer got a few calls only.
std::string over_best_peer(const Record& record, std::string_view none = "", std::string_view unit = "");
/// "71 %", or nothing for 0.
std::string percent(double share);

}  // namespace waco::bench
