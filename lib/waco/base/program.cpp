// By Linux's link to the program of a process.
#include "waco/base/program.hpp"

namespace waco {

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path program_folder() {
  return program_file().parent_path();
}

}  // namespace waco
