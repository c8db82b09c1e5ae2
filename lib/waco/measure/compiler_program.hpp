// Which programs a compiler command stands for.
#pragma once

#include <filesystem>
#include <string>

namespace waco::measure {

/// The program behind a command word, searched in PATH; empty when there is none.
std::filesystem::path find_program(const std::string& word);

/// `command`, or $CXX, or the first of c++, g++, clang++ that is installed. Throws EnvironmentError with exit
/// code kCompiler when there is none.
std::string choose_command(const std::string& command);

/// Path, size and date of every word of the command that is a program (a wrapper may stand before the
/// compiler), a line each; other words as they are.
std::string describe_programs(const std::string& command);

/// The first CPU's lines of /proc/cpuinfo that decide what "native" means.
std::string native_cpu();

}  // namespace waco::measure
