// What compilers said about their targets, kept for a day in the cache folder: asking takes as long as
// ranking does.
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/note.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/compiler_program.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "waco-target";
constexpr int kVersion = 1;
/// Then it is asked again: not everything that a compiler goes by can be seen from outside.
constexpr auto kKept = std::chrono::hours(24);

/// Wrapper scripts may call one compiler today and another tomorrow: they are always asked.
bool is_binary(const fs::path& program) {
  std::ifstream file(program, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, sizeof magic) && std::string_view(magic, 4) ==
                                               "\x7f"
                                               "ELF";
}

bool can_be_remembered(const std::string& command) {
  bool any = false;
  for (const std::string& word : command_words(command)) {
    const fs::path program = find_program(word);
    if (program.empty()) continue;
    if (!is_binary(program)) return false;
    any = true;
  }
  return any;
}

std::string file_name_of(const std::string& command) {
  std::string key = command + '\n' + describe_programs(command) + native_cpu();
  for (const char* name : {"GCC_EXEC_PREFIX", "COMPILER_PATH", "CPATH", "CPLUS_INCLUDE_PATH"}) {
    const char* value = std::getenv(name);
    key += fmt::format("{}={}\n", name, value != nullptr ? value : "");
  }
  return fmt::format("target-{}.json", content_hash(key).substr(0, 16));
}

std::optional<CompilerTarget> read_target(const fs::path& file, const std::string& command) {
  std::error_code error;
  const auto date = fs::last_write_time(file, error);
  const auto now = fs::file_time_type::clock::now();
  if (error || date < now - kKept || date > now) return std::nullopt;
  return read_note(file, kFormat, kVersion, [&](const nlohmann::json& json) -> std::optional<CompilerTarget> {
    CompilerTarget target = json.at("target").get<CompilerTarget>();
    if (target.command != command || target.fingerprint.empty()) return std::nullopt;
    return target;
  });
}

}  // namespace

std::string native_cpu() {
  std::ifstream info("/proc/cpuinfo");
  std::string text;
  for (std::string line; std::getline(info, line) && !line.empty();)
    for (const char* name : {"vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU "})
      if (line.starts_with(name)) text += line + '\n';
  return text;
}

CompilerTarget remembered_target(const std::string& asked_for, const StopToken& stop) {
  const std::string command = choose_command(asked_for);
  const fs::path cache = cache_folder_if_any();
  if (cache.empty() || !can_be_remembered(command)) return compiler_target(command, stop);
  const fs::path file = cache / file_name_of(command);
  if (auto target = read_target(file, command)) return *target;
  const CompilerTarget target = compiler_target(command, stop);
  try {
    const nlohmann::json json = {{"format", kFormat}, {"version", kVersion}, {"target", target}};
    write_file_atomically(file, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } catch (const EnvironmentError& error) {
    spdlog::debug("{}; the compiler is asked again next time", error.what());
  }
  return target;
}

}  // namespace waco::measure
