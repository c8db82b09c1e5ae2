// What all programs' command lines share, on top of CLI11.
#include "waco/base/command_line.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/log.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/thread_places.hpp"
#include "waco/base/version.hpp"

namespace waco {

namespace {

/// CLI11 takes what is beyond the largest number for that, -1 too.
CLI::Validator seed_number() {
  const auto check = [](const std::string& text) {
    uint64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool accepted = fault == std::errc() && end == text.data() + text.size();
    return accepted ? std::string() : fmt::format("{} is no whole number from 0 to 2^64 - 1", text);
  };
  return {check, ""};
}

/// What a shell makes of a variable that is not set: an output that is asked for would be lost.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty() && option->get_expected_max() > 0)
        throw UsageError(fmt::format("{}: its value is empty", option->get_name()));
  for (const CLI::App* command : app.get_subcommands()) refuse_empty_values(*command);
}

}  // namespace

void add_common_options(CLI::App& app, std::string_view program, CommonOptions& options) {
  app.add_option("--threads", options.threads, "Threads (default: all this process may use)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--compiler", options.compiler,
                 "C++ compiler with OpenMP (default: $CXX, then c++, g++ or clang++)");
  app.add_option("--seed", options.seed, "Seed of every random choice")
      ->check(seed_number())
      ->capture_default_str();
  app.add_flag("-q,--quiet", options.quiet, "Only warnings and errors on stderr");
  app.add_flag("-v,--verbose", options.verbose, "Say more on stderr")->excludes("--quiet");
  app.set_version_flag("--version", version_line(program), "Print version, commit and compiler");
}

namespace {

CLI::Validator number_that(const std::function<bool(double)>& fits, const std::string& wanted,
                           const std::string& type) {
  const auto check = [fits, wanted](std::string& text) {
    double number = 0;
    const bool accepted = CLI::detail::lexical_cast(text, number) && std::isfinite(number) && fits(number);
    return accepted ? std::string() : fmt::format("{} is not {}", text, wanted);
  };
  return {check, type};
}

}  // namespace

CLI::Validator positive_number() {
  return number_that([](double number) { return number > 0; }, "a positive number", "POSITIVE");
}

CLI::Validator positive_number_to(double most) {
  return number_that([=](double number) { return 0 < number && number <= most; },
                     fmt::format("a positive number up to {}", most), fmt::format("in (0 - {}]", most));
}

CLI::Validator number_from(double least, double most) {
  return number_that([=](double number) { return least <= number && number <= most; },
                     fmt::format("a number from {} to {}", least, most),
                     fmt::format("in [{} - {}]", least, most));
}

bool parse_command_line(CLI::App& app, int argc, const char* const* argv, const CommonOptions& options) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answered) {
    app.exit(answered);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{} (see {} --help)", error.what(), app.get_name()));
  }
  refuse_empty_values(app);
  set_up_log(app.get_name(), options.quiet     ? Verbosity::kQuiet
                             : options.verbose ? Verbosity::kVerbose
                                               : Verbosity::kNormal);
  limit_parallel_regions(options.threads);
  return true;
}

void refuse_options_before_command(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0) continue;
      const std::string name = option->get_name();
      const CLI::Option* own = command->get_option_no_throw(name);
      if (own == nullptr)
        throw UsageError(
            fmt::format("{0} takes no {1} (see {2} {0} --help)", command->get_name(), name, app.get_name()));
      if (own->count() > 0 && option->get_expected_max() > 0)
        throw UsageError(
            fmt::format("{0} is given before and after {1}; name it once", name, command->get_name()));
    }
  }
}

void refuse_same_files(const std::vector<std::string>& inputs, const std::vector<NamedOutput>& outputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->file.empty()) continue;
    for (auto other = outputs.begin(); other != output; ++other) {
      if (other->file.empty()) continue;
      if (same_file(other->file, output->file))
        throw UsageError(
            fmt::format("{} and {} name the same file, {}", other->option, output->option, output->file));
      if (same_descriptor(other->file, output->file))
        throw UsageError(
            fmt::format("{} and {} would mix what they write to one stream", other->option, output->option));
    }
    for (const std::string& input : inputs)
      if (takes_place_of_input(output->file, input))
        throw UsageError(
            fmt::format("{} is an input; name another file for {}", output->file, output->option));
  }
}

void print_to_stdout(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  // On network file systems a full disk shows only then.
  if (written && reaches_disk(STDOUT_FILENO)) return;
  if (errno == EPIPE) throw ReaderGone();
  throw EnvironmentError(fmt::format("stdout can't be written: {}", std::strerror(errno)));
}

void log_written(const std::string& output, std::string_view more) {
  if (output != "-") spdlog::info("wrote {}{}", output, more);
}

void print_to_stderr(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

void do_all(std::initializer_list<std::function<void()>> outputs) {
  std::exception_ptr first;
  for (const auto& output : outputs) {
    try {
      output();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

std::string shell_word(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$|&;<>()*?[]#~`{}!") == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_text(int argc, const char* const* argv) {
  std::string text;
  for (int n = 0; n < argc; ++n) text += (n > 0 ? " " : "") + shell_word(argv[n]);
  return text;
}

Outcome guarded(std::string_view program, const std::function<ExitCode()>& body) {
  const auto failed = [&](ExitCode code, const std::string& what) {
    std::fflush(stdout);
    print_to_stderr(fmt::format("{}: error: {}\n", program, what));
    return Outcome{code, what};
  };
  try {
    return {body(), {}};
  } catch (const Error& error) {
    return failed(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return failed(ExitCode::kFailed, "out of memory");
  } catch (const std::exception& error) {
    return failed(ExitCode::kFailed, error.what());
  }
}

namespace {

/// The next file that is opened would take the place of a closed standard stream, and get its text. Talk is
/// lost then; reading stdin and writing stdout fail as they do on a closed one.
void open_closed_streams() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int stream = 0; stream < 3; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", kModes[stream]);
}

}  // namespace

int guarded_main(std::string_view program, const std::function<ExitCode()>& body) {
  open_closed_streams();
  // hwloc's plugins know of graphics and other devices, which play no part here; loading them and the
  // libraries that they need takes longer than all else that hwloc does. Before there are threads.
  ::setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0);
  release_this_thread();
  ::signal(SIGCHLD, SIG_DFL);  // whoever started us may ignore it, and then no end of a child is kept
  ::signal(SIGPIPE, SIG_IGN);  // whoever reads stderr may go: files are written all the same
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the call that writes
  try {
    return static_cast<int>(guarded(program, body).code);
  } catch (const ReaderGone&) {
    remove_temporary_folders();
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
    return static_cast<int>(ExitCode::kFailed);  // where SIGPIPE is blocked
  }
}

}  // namespace waco
