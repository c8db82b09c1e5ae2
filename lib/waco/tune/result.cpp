// What follows from a result.
#include "waco/tune/result.hpp"

#include <algorithm>
#include <cmath>

namespace waco::tune {
std::optional<int64_t> TuneResult::break_even_calls(double extra_ns) const {
  if (!best || best->is_baseline || !baseline || best->speedup.median <= 1) return std::nullopt;
  // The ratio is measured in common rounds, which two separate medians are not.
  const double saved_ns = best->time_ns.median * (best->speedup.median - 1);
  const double spent_ns = static_cast<double>(best->pack_ns - baseline->pack_ns) + extra_ns;
  const double calls = std::ceil(spent_ns / saved_ns);
  if (!(calls < 1e18)) return std::nullopt;
  return std::max<int64_t>(0, static_cast<int64_t>(calls));
}

}  // namespace waco::tune
