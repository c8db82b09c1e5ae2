// What a text of a SuperSchedule is refused for.
#pragma once

#include <string>

#include "waco/base/error.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule::testing {

/// Empty when it parses.
inline std::string parse_error(const std::string& text) {
  try {
    parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace waco::schedule::testing
