// What programs say to people: on stderr, coloured only on a terminal.
#pragma once

#include <string_view>

namespace waco {

enum class Verbosity { kQuiet, kNormal, kVerbose };

/// Sends spdlog's default logger to stderr as "PROGRAM: message" (warnings and errors named as such). Colours
/// on a terminal unless NO_COLOR is set. Quiet keeps warnings and errors.
void set_up_log(std::string_view program, Verbosity verbosity);

/// Whether stderr may get colours.
bool stderr_has_colours();

}  // namespace waco
