// Notes of compilers, a file each beside the kernels they made.
#include "waco/measure/noted_compilers.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/note.hpp"
#include "waco/measure/compiler_program.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/requests.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "waco-compiler";
constexpr int kVersion = 1;
/// Not .json, so that the cache's limit takes notes for no entries.
constexpr const char* kSuffix = ".compiler";

/// What "native" meant when the kernels were made: code for another processor may hold instructions that
/// this one lacks.
std::string processor() {
  return content_hash(native_cpu());
}

/// Nothing where there is no such note, or one of another processor.
std::optional<Compiler> noted_compiler(const fs::path& file) {
  return read_note(file, kFormat, kVersion, [](const nlohmann::json& json) -> std::optional<Compiler> {
    if (json.at("processor") != processor()) return std::nullopt;
    return Compiler::noted(json.at("target").get<CompilerTarget>(), json.at("identity").get<std::string>());
  });
}

/// What is asked for by name; empty when any compiler will do.
std::string asked_command(const std::string& command) {
  if (!command.empty()) return command;
  const char* variable = std::getenv("CXX");
  return variable != nullptr && !command_words(variable).empty() ? variable : "";
}

/// Compiles ahead what a run of this problem needs.
std::string repair_command(const schedule::Problem& problem, const std::string& command) {
  std::string text = fmt::format("waco-tune --prepare 300 --op {}", schedule::name(problem.op));
  if (problem.type != schedule::ValueType::kF32) text += fmt::format(" --type {}", name(problem.type));
  if (problem.rhs != schedule::default_rhs(problem.op)) text += fmt::format(" --rhs {}", problem.rhs);
  if (!command.empty()) text += fmt::format(" --compiler '{}'", command);
  return text;
}

}  // namespace

void note_compiler(const Compiler& compiler, const fs::path& folder) {
  const fs::path file = folder / (content_hash(compiler.identity() + processor()).substr(0, 16) + kSuffix);
  // A new file's date is that of the system's last tick, which may be before that of an earlier note.
  const auto set_date = [&file] {
    std::error_code error;
    fs::last_write_time(file, fs::file_time_type::clock::now(), error);
    return !error;
  };
  if (set_date() && noted_compiler(file)) return;
  const nlohmann::json json = {{"format", kFormat},
                               {"version", kVersion},
                               {"processor", processor()},
                               {"identity", compiler.identity()},
                               {"target", compiler.target()}};
  try {
    write_file_atomically(file, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    set_date();
  } catch (const EnvironmentError& fault) {
    spdlog::debug("{}; runs with --no-compile will not find this compiler's kernels", fault.what());
  }
}

std::vector<Compiler> noted_compilers(const fs::path& folder, const std::string& command) {
  std::vector<std::pair<fs::file_time_type, Compiler>> found;
  for (const fs::directory_entry& file : list_folder(folder)) {
    if (file.path().extension() != kSuffix) continue;
    std::optional<Compiler> compiler = noted_compiler(file.path());
    std::error_code gone;
    const auto date = file.last_write_time(gone);
    if (gone || !compiler || (!command.empty() && compiler->target().command != command)) continue;
    found.emplace_back(date, std::move(*compiler));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Compiler> compilers;
  for (auto& [date, compiler] : found) compilers.push_back(std::move(compiler));
  return compilers;
}

Compiler compiler_of_kernels(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                             const std::string& command, const fs::path& folder) {
  const fs::path cache = cache_folder_if_any();
  const fs::path kernels = folder.empty() && !cache.empty() ? cache / "kernels" : folder;
  const std::string asked = asked_command(command);
  const CompileRequest fixed_csr = baseline_request(problem, tensor.dims, usual_pos_bytes(tensor));
  if (!kernels.empty())
    for (Compiler& compiler : noted_compilers(kernels, asked))
      if (KernelCache(compiler, kernels, kernel_cache_limit(), Compiling::kNever).has(fixed_csr))
        return std::move(compiler);
  throw EnvironmentError(
      fmt::format("--no-compile: no kernel of fixed_csr for {} {} and this processor is in {}; run {}, with "
                  "a compiler, on a machine with the same processor",
                  schedule::name(problem.op), schedule::name(problem.type),
                  kernels.empty() ? "a cache, as there is none" : kernels.string(),
                  repair_command(problem, command)),
      ExitCode::kCompiler);
}

}  // namespace waco::measure
