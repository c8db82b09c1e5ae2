// Asking a run to stop: the handler only stores the number of the first signal, and when it came.
#include "waco/base/signals.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace waco {
namespace {

std::atomic<int> received_signal{0};
std::atomic<int64_t> asked_to_end_ns{0};  // by the first SIGINT or SIGTERM
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "the handler may only touch lock-free atomics");
/// timeout(1) and job schedulers signal a process, and its group a moment later: that is one request.
constexpr int64_t kSameRequest_ns = 100'000'000;

extern "C" void on_stop_signal(int number) {
  int none = 0;
  received_signal.compare_exchange_strong(none, number);
  if (number != SIGINT && number != SIGTERM) return;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now_ns = int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  int64_t first_ns = 0;
  if (!asked_to_end_ns.compare_exchange_strong(first_ns, now_ns) && now_ns - first_ns > kSameRequest_ns) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

std::string_view signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "";
  }
}

}  // namespace

bool StopToken::stop_requested() const {
  return !reason().empty();
}

std::string_view StopToken::reason() const {
  if (listens_to_signals_ && received_signal.load() != 0) return signal_name(received_signal.load());
  if (deadline_ && Clock::now() >= *deadline_) return "the time budget is spent";
  return "";
}

StopToken StopToken::with_budget(double seconds) const {
  StopToken limited = *this;
  const double bounded = std::clamp(seconds, 0.0, 1e9);
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(bounded));
  limited.deadline_ = deadline_ ? std::min(*deadline_, end) : end;
  return limited;
}

std::optional<double> StopToken::seconds_left() const {
  if (!deadline_) return std::nullopt;
  return std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
}

StopToken stop_on_signals() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU}) sigaction(number, &action, nullptr);
  struct sigaction before = {};
  // nohup has it ignored.
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  return token_of_signals();
}

StopToken token_of_signals() {
  StopToken token;
  token.listens_to_signals_ = true;
  return token;
}

}  // namespace waco
