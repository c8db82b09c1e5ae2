// The other programs of the project, for steps that this one leaves to them.
#pragma once

#include <string>
#include <vector>

#include "waco/base/process.hpp"
#include "waco/base/signals.hpp"

namespace waco::tune {

/// Path of a program in one of program_folders(). Throws EnvironmentError when it is in none.
std::string sibling_program(const std::string& name);

/// Runs a step to its end and returns what it printed. Throws EnvironmentError with the last line of its
/// stderr when it fails, when it takes over two hours, and when `stop` ended it.
std::string run_silently(const std::vector<std::string>& arguments, const StopToken& stop);

/// Runs a program that tells of its work on stderr. When `stop` asks for it, the program is asked to end,
/// which it does with its work kept.
ProcessEnd run_in_view(const std::vector<std::string>& arguments, const StopToken& stop);

}  // namespace waco::tune
