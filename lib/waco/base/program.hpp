// The running program on disk.
#pragma once

#include <filesystem>

namespace waco {

/// The running program, symbolic links followed; empty where the system does not tell.
std::filesystem::path program_file();

/// Its folder, or empty.
std::filesystem::path program_folder();

/// What is installed beside the programs, or lies beside them in a build folder: data (share/waco), and
/// programs that only other programs start (libexec/waco). Where a program is elsewhere, WACO_BIN names the
/// folder of those. Empty where program_folder() is, and WACO_BIN.
std::filesystem::path installed_data_folder();
std::filesystem::path installed_libexec_folder();

}  // namespace waco
