// The running program on disk.
#pragma once

#include <filesystem>
#include <vector>

namespace waco {

/// The running program, symbolic links followed; empty where the system does not tell.
std::filesystem::path program_file();

/// Its folder, or empty.
std::filesystem::path program_folder();

/// Where other programs of WACO may be, the likeliest first: its folder, and that which WACO_BIN names, for
/// programs that only use the libraries.
std::vector<std::filesystem::path> program_folders();

/// What is installed beside the programs, or lies beside them in a build folder: data (share/waco), and
/// programs that only other programs start (libexec/waco); with the first of program_folders() that has it.
/// Empty where there are none.
std::filesystem::path installed_data_folder();
std::filesystem::path installed_libexec_folder();

}  // namespace waco
