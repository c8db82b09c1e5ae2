// Names of efforts and what follows from a result.
#include "waco/tune/result.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace waco::tune {
namespace {
constexpr std::array<std::string_view, 4> kEfforts = {"none", "quick", "normal", "full"};
}

std::string_view name(Effort effort) {
  return kEfforts[static_cast<size_t>(effort)];
}

std::optional<Effort> parse_effort(std::string_view text) {
  const auto at = std::find(kEfforts.begin(), kEfforts.end(), text);
  if (at == kEfforts.end()) return std::nullopt;
  return static_cast<Effort>(at - kEfforts.begin());
}

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
