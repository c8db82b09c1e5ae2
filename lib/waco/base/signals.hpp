// Asking a run to stop: by a signal, or because its time is over.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "waco/base/error.hpp"

namespace waco {

/// A stop request came before there was a result.
class Stopped : public EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

/// Asked between pieces of work. A default token never stops; copies ask the same question.
class StopToken {
 public:
  StopToken() = default;

  /// Whether to start no more work, finish what is begun, and report what there is.
  bool stop_requested() const;
  bool operator()() const { return stop_requested(); }
  /// Why: "SIGTERM", "the time budget is spent", or "" when no stop was requested.
  std::string_view reason() const;

  /// The same token that also stops `seconds` from now.
  StopToken with_budget(double seconds) const;
  /// Time left until the budget ends; nullopt without one.
  std::optional<double> seconds_left() const;

 private:
  friend StopToken token_of_signals();
  using Clock = std::chrono::steady_clock;

  bool listens_to_signals_ = false;
  std::optional<Clock::time_point> deadline_;
};

/// From now on SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, and SIGHUP unless it is ignored, ask the returned
/// token to stop. A second SIGINT or SIGTERM, not at the same moment, ends the process at once. Call once, at
/// the start of a program.
StopToken stop_on_signals();

/// The token that stop_on_signals() returns, for what waits without being handed one. Where that was not
/// called it never stops: signals then end the process.
StopToken token_of_signals();

}  // namespace waco
