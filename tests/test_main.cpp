// The entry point of every test program: no test sees what the caller's environment asks of programs, nor the
// caller's own models, kernels and measurements.
#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

/// Names of variables that change what our programs, or OpenMP, do: CXX names the compiler of kernels.
/// WACO_KILLS is for tests.
std::vector<std::string> leaking_variables() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    for (const char* prefix : {"SLURM_", "OMP_", "GOMP_", "KMP_", "WACO_"})
      if (name.starts_with(prefix) && name != "WACO_KILLS") names.push_back(name);
    if (name == "CXX") names.push_back(name);
  }
  return names;
}

/// Kernels and ceilings are kept between tests of one build.
void set_folder(const char* variable, const char* name) {
  const std::filesystem::path folder = std::filesystem::path(WACO_TEST_BUILD_DIR) / name;
  std::filesystem::create_directories(folder);
  ::setenv(variable, folder.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  set_folder("XDG_CACHE_HOME", "test-cache");
  set_folder("XDG_DATA_HOME", "test-data");
  const std::vector<std::string> names = leaking_variables();
  for (const std::string& name : names) ::unsetenv(name.c_str());
  if (!names.empty()) ::execv("/proc/self/exe", argv);  // OpenMP has read its variables before main
  return Catch::Session().run(argc, argv);
}
