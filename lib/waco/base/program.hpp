// The running program on disk.
#pragma once

#include <filesystem>

namespace waco {

/// The running program, symbolic links followed; empty where the system does not tell.
std::filesystem::path program_file();

/// Its folder, or empty.
std::filesystem::path program_folder();

}  // namespace waco
