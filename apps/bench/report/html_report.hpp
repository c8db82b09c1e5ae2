// Records as one self-contained web page.
#pragma once

#include <string>
#include <vector>

#include "apps/bench/record.hpp"

namespace waco::bench {

/// For each problem: the sorted speedup curves, the geometric means, and a table of all matrices, losers too.
/// Needs no other file and no network; follows the reader's light or dark setting.
std::string html_report(const std::vector<Record>& records);

}  // namespace waco::bench
