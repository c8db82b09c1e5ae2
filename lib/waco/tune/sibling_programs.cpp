// Found by program_folders(), run as child processes.
#include "waco/tune/sibling_programs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "waco/base/error.hpp"
#include "waco/base/program.hpp"

namespace waco::tune {
namespace fs = std::filesystem;

namespace {

constexpr int kSilentHours = 2;    ///< a silent step takes no longer
constexpr double kEnding_s = 120;  ///< a program that is asked to end takes no longer

std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == std::string::npos) return "it said nothing";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

std::string sibling_program(const std::string& name) {
  const std::vector<fs::path> folders = program_folders();
  std::vector<std::string> places;
  std::error_code error;
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, error)) return folder / name;
    places.push_back(folder.string());
  }
  throw EnvironmentError(fmt::format(
      "--calibrate needs {}, which is not in {}; {}name the folder of WACO's programs by WACO_BIN", name,
      fmt::join(places, " or "), name == "waco-train" ? "build it where libtorch is installed, or " : ""));
}

std::string run_silently(const std::vector<std::string>& arguments, const StopToken& stop) {
  RunOptions options;
  options.timeout_s = kSilentHours * 3600;
  options.max_output_bytes = size_t{1} << 26;
  options.stop = [&stop] { return stop.stop_requested(); };
  const RunResult result = run_process(arguments, options);
  if (result.stopped)
    throw EnvironmentError(
        fmt::format("calibration was stopped ({}); the same command continues", stop.reason()));
  const std::string program = fs::path(arguments[0]).filename().string();
  if (result.timed_out)
    throw EnvironmentError(fmt::format("{} took over {} hours and was ended", program, kSilentHours));
  if (!result.ok())
    throw EnvironmentError(
        fmt::format("{} failed ({}): {}", program, result.end.describe(), last_line(result.err)));
  return result.out;
}

ProcessEnd run_in_view(const std::vector<std::string>& arguments, const StopToken& stop) {
  ChildProcess child(arguments, {.descriptors = {{STDERR_FILENO, STDERR_FILENO}}});
  while (!stop.stop_requested())
    if (const auto end = child.wait(0.2)) return *end;
  ::kill(child.pid(), SIGTERM);
  const auto end = child.wait(kEnding_s);
  return end ? *end : child.kill();
}

}  // namespace waco::tune
