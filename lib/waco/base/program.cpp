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

namespace {

/// A build folder has the default places, whatever an installation is told to have.
std::filesystem::path beside_programs(const char* by_default, const char* as_installed) {
  const std::filesystem::path folder = program_folder();
  if (folder.empty()) return {};
  std::filesystem::path place = (folder / as_installed).lexically_normal();
  std::error_code error;
  return std::filesystem::exists(place, error) ? place : folder.parent_path() / by_default;
}

}  // namespace

std::filesystem::path installed_data_folder() {
  return beside_programs("share/waco", WACO_DATA_FROM_BIN);
}

std::filesystem::path installed_libexec_folder() {
  return beside_programs("libexec/waco", WACO_LIBEXEC_FROM_BIN);
}

}  // namespace waco
