// Three significant digits and a unit.
#include "waco/tune/text.hpp"

#include <fmt/format.h>

namespace waco::tune {

std::string time_text(double ns) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; ns >= 999.5 && unit < 3; ++unit) ns /= 1000;
  return fmt::format("{:.{}f} {}", ns, ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2, kUnits[unit]);
}

std::string bytes_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double amount = static_cast<double>(bytes);
  int unit = 0;
  for (; amount >= 999.5 && unit < 4; ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, unit == 0 || amount >= 99.95 ? 0 : 1, kUnits[unit]);
}

}  // namespace waco::tune
