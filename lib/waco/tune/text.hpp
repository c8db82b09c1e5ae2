// Amounts as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace waco::tune {

/// A time with three significant digits: "12.3 us".
std::string time_text(double ns);
std::string bytes_text(int64_t bytes);  ///< "1.2 MB"

}  // namespace waco::tune
