// By Linux's link to the program of a process.
#include "waco/base/program.hpp"

namespace waco {

std::filesystem::path program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace waco
