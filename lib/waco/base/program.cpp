// By Linux's link to the program of a process.
#include "waco/base/program.hpp"

#include <cstdlib>
#include <utility>
#include <vector>

namespace waco {

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path program_folder() {
  return program_file().parent_path();
}

std::vector<std::filesystem::path> program_folders() {
  std::vector<std::filesystem::path> folders;
  if (std::filesystem::path own = program_folder(); !own.empty()) folders.push_back(std::move(own));
  std::error_code error;
  if (const char* named = std::getenv("WACO_BIN"); named != nullptr && *named != '\0')
    if (std::filesystem::path other = std::filesystem::canonical(named, error); !error)
      folders.push_back(std::move(other));
  return folders;
}

namespace {

/// A build folder has the default places, whatever an installation is told to have.
std::filesystem::path beside_programs(const char* by_default, const char* as_installed) {
  const std::vector<std::filesystem::path> folders = program_folders();
  for (const std::filesystem::path& folder : folders)
    for (const std::filesystem::path& from_there :
         {std::filesystem::path(as_installed), ".." / std::filesystem::path(by_default)}) {
      std::filesystem::path place = (folder / from_there).lexically_normal();
      std::error_code error;
      if (std::filesystem::exists(place, error)) return place;
    }
  return folders.empty() ? std::filesystem::path() : folders[0].parent_path() / by_default;
}

}  // namespace

std::filesystem::path installed_data_folder() {
  return beside_programs("share/waco", WACO_DATA_FROM_BIN);
}

std::filesystem::path installed_libexec_folder() {
  return beside_programs("libexec/waco", WACO_LIBEXEC_FROM_BIN);
}

}  // namespace waco
