// What all programs' command lines share: common options, how errors end a program, --version.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/error.hpp"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace waco {

/// Options that mean the same in every program.
struct CommonOptions {
  int threads = 0;       ///< 0: all that this process may use
  std::string compiler;  ///< empty: $CXX, then what is installed
  uint64_t seed = 1;
  bool quiet = false;
  bool verbose = false;
};

/// Adds --threads, --compiler, --seed, --quiet, --verbose and --version.
void add_common_options(CLI::App& app, std::string_view program, CommonOptions& options);

/// What an option's check accepts: finite numbers only, unlike CLI11's own.
CLI::Validator positive_number();
CLI::Validator positive_number_to(double most);
CLI::Validator number_from(double least, double most);

/// Parses the command line and sets up the log. Returns false when --help or --version was asked for and has
/// been answered on stdout; throws UsageError.
bool parse_command_line(CLI::App& app, int argc, const char* const* argv, const CommonOptions& options);

/// After parsing: throws UsageError for what stands before a sub-command that does not know it, or is told
/// its value again, since it would be passed over.
void refuse_options_before_command(const CLI::App& app);

/// A file that is to be written, and the option that names it.
struct NamedOutput {
  std::string option;
  std::string file;  ///< empty: not asked for; "-": stdout
};

/// Throws UsageError when an output would take the place of an input or of another output (see same_file), or
/// be mixed with one.
void refuse_same_files(const std::vector<std::string>& inputs, const std::vector<NamedOutput>& outputs);

/// Throws ReaderGone when nobody reads it any more, and EnvironmentError when it can't all be written.
void print_to_stdout(std::string_view text);

/// Logs that an output was written, and `more` about it; nothing for "-", whose content is there to see.
void log_written(const std::string& output, std::string_view more = "");

/// For people: what can't be written is lost, and no more than that.
void print_to_stderr(std::string_view text);

/// Hands over a run's results, one output after the other, whichever of them fails: where there is no room
/// for one file, the others are what is left of the run. Files come first, as whoever reads stdout may have
/// gone. Throws what the first failure threw.
void do_all(std::initializer_list<std::function<void()>> outputs);

/// As a shell takes it for one word, in quotes where it must be.
std::string shell_word(const std::string& word);

/// The arguments as one line, for artifact headers.
std::string command_text(int argc, const char* const* argv);

/// How a piece of work ended.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string error;  ///< what was told; of guarded() empty when nothing was thrown
};

/// Runs a piece of work; an error becomes one line on stderr and its exit code. Bugs and lack of memory give
/// kFailed.
Outcome guarded(std::string_view program, const std::function<ExitCode()>& body);

/// The same for a whole program: its exit code. Called once, at the start of main, by the initial thread;
/// first sets up what the process inherits: opens /dev/null for each standard stream that is closed, and see
/// release_this_thread(). ReaderGone ends the process by SIGPIPE.
int guarded_main(std::string_view program, const std::function<ExitCode()>& body);

}  // namespace waco
