// Drives the real programs: arguments in, exit code and streams out.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../compiler_script.hpp"
#include "waco/base/clock.hpp"
#include "waco/base/files.hpp"
#include "waco/base/process.hpp"
#include "waco/base/random.hpp"

namespace waco::cli {

/// A run of one program, built argument by argument.
class Program {
 public:
  explicit Program(const std::string& name) : arguments_{std::string(WACO_BIN_DIR) + "/" + name} {}

  template <class... Texts>
  Program& with(const Texts&... texts) {
    (arguments_.push_back(std::string(texts)), ...);
    return *this;
  }
  Program& environment(const std::string& name, const std::string& value) {
    environment_[name] = value;
    return *this;
  }
  /// With a stand-in that write_compiler() makes for the compiler, and an empty cache, both in `folder`. For
  /// its lines `$NOTE` names a file there, `note`.
  Program& use_compiler(const std::filesystem::path& folder, const std::string& before_exec) {
    write_compiler(folder / "bin", "odd-c++", before_exec);
    return with("--compiler", "odd-c++")
        .environment("PATH", (folder / "bin").string() + ":" + std::getenv("PATH"))
        .environment("XDG_CACHE_HOME", (folder / "cache").string())
        .environment("NOTE", (folder / "note").string());
  }
  /// The same run of a copy in `folder`, beside which no other program lies.
  Program copied_to(const std::filesystem::path& folder) const {
    Program copy = *this;
    copy.arguments_[0] = (folder / std::filesystem::path(arguments_[0]).filename()).string();
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(arguments_[0], copy.arguments_[0]);
    return copy;
  }
  std::vector<std::string> arguments() const { return arguments_; }
  const std::map<std::string, std::string>& environment() const { return environment_; }
  RunResult run(double timeout_s = 300) const {
    RunOptions options;
    options.timeout_s = timeout_s;
    options.environment = environment_;
    return run_process(arguments_, options);
  }

 private:
  std::vector<std::string> arguments_;
  std::map<std::string, std::string> environment_;
};

inline Program waco_tune() {
  return Program("waco-tune").with("--threads", "2");
}
inline Program waco_codegen() {
  return Program("waco-codegen");
}
inline Program waco_index() {
  return Program("waco-index").with("--threads", "2");
}

/// A run that has to succeed.
inline RunResult run_well(const Program& program) {
  RunResult result = program.run();
  INFO(fmt::format("{}", fmt::join(program.arguments(), " ")) << "\n" << result.err);
  REQUIRE(result.ok());
  return result;
}

/// What a run that has to succeed writes to stdout.
inline nlohmann::json document_of(const Program& program) {
  return nlohmann::json::parse(run_well(program).out);
}

/// The documents of a text of JSON Lines, all of which have ends.
inline std::vector<nlohmann::json> documents_of(const std::string& text) {
  CHECK((text.empty() || text.back() == '\n'));
  std::vector<nlohmann::json> documents;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) documents.push_back(nlohmann::json::parse(line));
  return documents;
}

/// The documents of a file of JSON Lines; none where there is no file.
inline std::vector<nlohmann::json> lines_of(const std::string& file) {
  return std::filesystem::exists(file) ? documents_of(read_file(file)) : std::vector<nlohmann::json>();
}

/// Gives a model an index of so many vertices.
inline void make_index(const std::string& model, const std::string& index, int vertices) {
  run_well(waco_index().with(model, "--vertices", std::to_string(vertices), "-o", index));
}

/// A run that was sent a signal.
struct SignalledRun {
  bool in_time = false;  ///< it was still running
  ProcessEnd end;
  std::string err;
};

/// Starts the program and sends it `signal` as soon as `ready` holds of what it has written to stderr so far.
inline SignalledRun signal_when(const Program& program, int signal,
                                const std::function<bool(const std::string&)>& ready) {
  const TemporaryFolder folder;
  const std::string messages = (folder.path() / "stderr").string();
  const int file = ::open(messages.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  ChildProcess child(program.arguments(), {{{file, 2}}, program.environment()});
  ::close(file);
  const auto start = std::chrono::steady_clock::now();
  auto end = child.try_wait();
  for (; !end && !ready(read_file(messages)); end = child.wait(0.002)) REQUIRE(seconds_since(start) < 120);
  SignalledRun run;
  run.in_time = !end.has_value();
  if (run.in_time) {
    ::kill(child.pid(), signal);
    end = child.wait(120);
  }
  run.err = read_file(messages);
  INFO(run.err);
  REQUIRE(end.has_value());
  run.end = *end;
  return run;
}

/// For signal_when: stderr holds `text`.
inline std::function<bool(const std::string&)> says(const std::string& text) {
  return [text](const std::string& err) { return err.find(text) != std::string::npos; };
}

/// Of an error of the program itself: from its name to the end of the line, which has one.
inline std::string only_error_line(const Program& program, const std::string& err) {
  const std::string label = std::filesystem::path(program.arguments()[0]).filename().string() + ": error: ";
  const size_t begin = err.find(label);
  REQUIRE(begin != std::string::npos);
  CHECK(err.rfind(label) == begin);
  const size_t end = err.find('\n', begin);
  CHECK(end != std::string::npos);
  return err.substr(begin, end - begin);
}

/// One error line on stderr, which holds `text` and may stand among notes; nothing on stdout.
inline void check_refused(const Program& program, int code, const std::string& text) {
  const RunResult result = program.run();
  INFO(fmt::format("{}", fmt::join(program.arguments(), " ")) << "\n" << result.err);
  CHECK(result.end.code == code);
  CHECK(result.out.empty());
  CHECK_THAT(only_error_line(program, result.err), Catch::Contains(text));
}

/// A run that a line of shell starts, in which "$@" is the program with its arguments.
inline RunResult run_by_shell(const Program& program, const std::string& line) {
  std::vector<std::string> arguments{"sh", "-c", line, "sh"};
  for (const std::string& argument : program.arguments()) arguments.push_back(argument);
  RunOptions options;
  options.environment = program.environment();
  return run_process(arguments, options);
}

/// A run whose stdout, or another stream, is full.
inline RunResult run_into_full(const Program& program, int stream = 1) {
  return run_by_shell(program, fmt::format("exec \"$@\" {}> /dev/full", stream));
}

/// How a program ends whose stdout, or another stream, is a pipe that nobody reads.
inline ProcessEnd run_into_closed(const Program& program, int stream = 1) {
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  ::close(pipe[0]);
  ChildProcess child(program.arguments(), {{{pipe[1], stream}}, program.environment()});
  ::close(pipe[1]);
  const auto end = child.wait(120);
  REQUIRE(end.has_value());
  return *end;
}

/// What every program says of itself, on stdout.
inline void check_help_and_version(const std::string& name) {
  const RunResult help = Program(name).with("--help").run();
  INFO(help.out);
  CHECK(help.ok());
  CHECK(help.out.find("Examples:") != std::string::npos);
  const RunResult version = Program(name).with("--version").run();
  CHECK(version.ok());
  CHECK(version.out.find(name + " ") == 0);
  CHECK(version.out.find("commit ") != std::string::npos);
}

/// A folder with inputs and room for outputs.
class Workspace {
 public:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  std::string matrix(int rows = 200, int cols = 160, double density = 0.03) const {
    Random random(11);
    std::string entries;
    int count = 0;
    for (int r = 1; r <= rows; ++r)
      for (int c = 1; c <= cols; ++c)
        if (random.chance(density))
          entries += fmt::format("{} {} {:.6f}\n", r, c, random.uniform() - 0.5), ++count;
    return write("matrix.mtx", fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n{}",
                                           rows, cols, count, entries));
  }
  std::string tensor() const {
    Random random(12);
    std::string entries;
    for (int i = 1; i <= 40; ++i)
      for (int k = 1; k <= 30; ++k)
        for (int l = 1; l <= 20; ++l)
          if (random.chance(0.02)) entries += fmt::format("{} {} {} {:.6f}\n", i, k, l, random.uniform());
    return write("tensor.tns", entries);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }

 private:
  TemporaryFolder folder_{"waco-cli-"};
};

/// Compiles kernels of SpMV ahead, into a cache in the workspace.
inline Program prepare(const Workspace& work, const std::string& count) {
  return waco_tune()
      .with("--prepare", count, "--op", "spmv", "--model", "none")
      .environment("XDG_CACHE_HOME", work.path("cache"));
}

inline nlohmann::json parse_file(const std::string& path) {
  return nlohmann::json::parse(read_file(path));
}

}  // namespace waco::cli
