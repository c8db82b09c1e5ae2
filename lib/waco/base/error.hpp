// The errors a user can meet, and the assertion that stops a bug.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace waco {

/// What a program returns to its caller (documented in docs/command-line.md).
enum class ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kInput = 3,
  kVerification = 4,
  kCompiler = 5,
  kPartial = 6,
  kStopped = 7,  ///< by a signal, before all items were done
};

/// A fault of the user's input or environment: one line that says where, what, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// An unreadable or unsupported input file; `line` is 1-based, 0 when no line applies.
class InputError : public Error {
 public:
  InputError(const std::string& file, int64_t line, const std::string& message)
      : Error(ExitCode::kInput, line > 0 ? fmt::format("{}:{}: {}", file, line, message)
                                         : fmt::format("{}: {}", file, message)) {}
};

/// A wrong option or a combination of options that makes no sense.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// Something of the machine that is missing or broken: the compiler, a folder, memory.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message, ExitCode code = ExitCode::kFailed)
      : Error(code, message) {}
};

/// Of a system call that failed: "<what>: <the system's reason>".
inline EnvironmentError os_error(const std::string& what, int cause = errno) {
  return EnvironmentError(fmt::format("{}: {}", what, std::strerror(cause)));
}

/// Of one about a file: "<file>: <what>: <the system's reason>".
inline EnvironmentError os_error(const std::filesystem::path& file, const char* what) {
  const int cause = errno;
  return os_error(fmt::format("{}: {}", file.string(), what), cause);
}

/// An input that needs more memory than this machine has for it.
class TooLargeError : public EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

/// Whoever read what is written to a pipe has gone, which is no fault: a program ends, and says nothing.
class ReaderGone {};

/// A bug of ours. Thrown by WACO_ASSERT, which stays on in release builds.
class AssertionError : public std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace waco

#define WACO_ASSERT(condition)                                                       \
  do {                                                                               \
    if (!(condition))                                                                \
      throw ::waco::AssertionError(                                                  \
          fmt::format("{}:{}: internal error: {}", __FILE__, __LINE__, #condition)); \
  } while (false)
