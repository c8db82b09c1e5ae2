// A folder in which emitted kernels are compiled as their users do it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "waco/base/files.hpp"
#include "waco/base/process.hpp"

namespace waco::codegen::testing {

struct Folder {
  TemporaryFolder temporary{"waco-standalone-"};
  std::filesystem::path file(const std::string& name) const { return temporary.path() / name; }

  RunResult compile(const std::string& source, const std::vector<std::string>& flags,
                    const std::string& output, const std::string& compiler = "g++") {
    std::ofstream(file("kernel.cpp")) << source;
    std::vector<std::string> arguments{compiler,           "-std=c++17", "-O1",
                                       "-march=native",    "-Wall",      "-Wextra",
                                       "-Werror",          "-Wno-psabi", "-Wno-unknown-pragmas",
                                       file("kernel.cpp"), "-o",         file(output)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_process(arguments);
  }
};

}  // namespace waco::codegen::testing
