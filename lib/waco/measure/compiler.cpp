// Finding and running the system's C++ compiler.
#include "waco/measure/compiler.hpp"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/process.hpp"
#include "waco/measure/compiler_program.hpp"

namespace waco::measure {
namespace fs = std::filesystem;

fs::path find_program(const std::string& program) {
  if (program.find('/') != std::string::npos)
    return ::access(program.c_str(), X_OK) == 0 ? fs::path(program) : fs::path();
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / program;
    if (::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
    rest.erase(0, colon + 1);
  }
  return {};
}

std::string choose_command(const std::string& command) {
  if (!command.empty()) return command;
  const char* variable = std::getenv("CXX");
  if (variable != nullptr && !command_words(variable).empty()) return variable;
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (!find_program(name).empty()) return name;
  }
  throw EnvironmentError(
      "no C++ compiler found (c++, g++, clang++): install g++, or name one with --compiler or CXX",
      ExitCode::kCompiler);
}

void require_compiler_program(const std::string& command) {
  const std::string chosen = choose_command(command);
  const std::vector<std::string> words = command_words(chosen);
  if (words.empty() || find_program(words[0]).empty())
    throw EnvironmentError(
        fmt::format("compiler '{}': no program of that name can be run; name a working C++ compiler "
                    "with --compiler or CXX",
                    chosen),
        ExitCode::kCompiler);
  for (const std::string& word : words)
    if (word.starts_with("-march=") || word.starts_with("-mtune=") || word.starts_with("-O"))
      spdlog::warn(
          "compiler '{}': kernels are compiled with -O3 -march=native, which comes after {} and wins", chosen,
          word);
}

std::string describe_programs(const std::string& command) {
  std::string text;
  for (const std::string& word : command_words(command)) {
    std::error_code error;
    const fs::path path = fs::canonical(find_program(word), error);
    if (error) {
      text += word + '\n';
      continue;
    }
    const auto date = fs::last_write_time(path, error).time_since_epoch().count();
    text += fmt::format("{} {} {}\n", path.string(), fs::file_size(path, error), date);
  }
  return text;
}

namespace {

/// In which compilers report a full disk.
constexpr std::array kDiskFull = {"No space left on device", "Disk quota exceeded"};

/// The first few lines around the first error, or around what tells of a full disk: what a person needs, not
/// a page of notes.
std::string shorten(const std::string& err) {
  size_t error = err.find("error:");
  for (const char* words : kDiskFull) error = std::min(error, err.find(words));
  size_t begin = error == std::string::npos ? 0 : err.rfind('\n', error);
  begin = begin == std::string::npos ? 0 : begin;
  while (begin < err.size() && err[begin] == '\n') ++begin;
  std::string text = err.substr(begin, 600);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool says_one_of(const RunResult& run, std::span<const char* const> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* some) { return run.err.find(some) != std::string::npos; });
}

bool found_disk_full(const RunResult& run) {
  return says_one_of(run, kDiskFull);
}

/// Whether the machine, not the source, ended the compiler. Drivers report what became of the processes that
/// they start: a killed one in these words, but a crashed one, which is a fault of source and compiler, too.
bool failed_for_the_machine(const RunResult& run) {
  constexpr std::array kCrashes = {SIGSEGV, SIGABRT, SIGILL, SIGFPE, SIGBUS};
  if (!run.end.exited) return std::find(kCrashes.begin(), kCrashes.end(), run.end.code) == kCrashes.end();
  constexpr std::array kOthers = {"Cannot allocate memory",
                                  "out of memory allocating",
                                  "memory exhausted",
                                  "Resource temporarily unavailable",
                                  "Too many open files",
                                  "Input/output error",
                                  "Stale file handle",
                                  "Read-only file system",
                                  "Killed signal terminated program",
                                  "Terminated signal terminated program",
                                  "unable to execute command: Killed",
                                  "unable to execute command: Terminated"};
  return found_disk_full(run) || says_one_of(run, kOthers);
}

}  // namespace

Compiler Compiler::find(const std::string& command, const StopToken& stop) {
  Compiler compiler;
  compiler.target_ = remembered_target(command, stop);
  compiler.identity_ = fmt::format("{}{}\n{}", describe_programs(compiler.target_.command),
                                   compiler.target_.version, compiler.target_.fingerprint);
  return compiler;
}

Compiler Compiler::noted(CompilerTarget target, std::string identity) {
  Compiler compiler;
  compiler.target_ = std::move(target);
  compiler.identity_ = std::move(identity);
  return compiler;
}

CompiledKernel Compiler::compile(const std::string& source, const std::string& flags, const fs::path& folder,
                                 double timeout_s, const StopToken& stop) const {
  const fs::path input = folder / "kernel.cpp";
  write_file_atomically(input, source);
  std::vector<std::string> arguments = command_words(target_.command);
  for (const std::string& flag : command_words(flags)) arguments.push_back(flag);
  for (const char* flag : {"-std=c++17", "-fopenmp", "-fPIC", "-shared", "-w", "-o"})
    arguments.emplace_back(flag);
  arguments.push_back((folder / "kernel.so").string());
  arguments.push_back(input.string());

  RunOptions options;
  options.timeout_s = timeout_s;
  options.stop = stop;
  options.environment = {{"TMPDIR", folder.string()}, {"LC_ALL", "C"}};
  const auto start = std::chrono::steady_clock::now();
  const RunResult run = run_process(arguments, options);
  CompiledKernel kernel;
  kernel.compile_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  std::error_code missing;
  if (run.ok() && fs::exists(folder / "kernel.so", missing)) kernel.library = folder / "kernel.so";
  kernel.stopped = run.stopped || (!kernel.ok() && !run.timed_out && stop());  // a signal may reach both
  if (run.timed_out) {
    kernel.diagnostic = fmt::format("the compiler did not finish within {:.0f} s", timeout_s);
  } else if (run.ok()) {
    if (!kernel.ok()) kernel.diagnostic = "the compiler wrote nothing";
  } else {
    kernel.diagnostic = shorten(run.err);
    if (kernel.diagnostic.empty())
      kernel.diagnostic = fmt::format("the compiler ended with {}", run.end.describe());
    kernel.machine_failed = !kernel.stopped && failed_for_the_machine(run);
    kernel.disk_full = kernel.machine_failed && found_disk_full(run);
  }
  return kernel;
}

}  // namespace waco::measure
