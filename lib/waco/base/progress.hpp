// How far a long piece of work is: a bar on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace waco {

/// Reports on one piece of work. Every member may be called by any thread.
class Progress {
 public:
  struct Style {
    bool quiet = false;  ///< show nothing
    bool bar = false;    ///< redraw one line
    bool color = false;
    double interval_s = 10;  ///< least time between two reports
    bool rates = false;      ///< tell steps per second and the share of failed ones
  };
  /// A bar ten times a second when `stream` is a terminal, otherwise a line every 10 s, or nothing where only
  /// warnings are to be told (set_up_log); color unless NO_COLOR is set.
  static Style style_for(std::FILE* stream);

  /// `what` names the work ("measuring"), `total` its steps. Nothing is shown before the first report is due.
  Progress(std::string what, int64_t total, std::FILE* stream = stderr);
  Progress(std::string what, int64_t total, std::FILE* stream, const Style& style);
  /// Removes the bar. The work's result is for its owner to tell.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `steps` more are done.
  void advance(int64_t steps = 1);
  /// The same for steps that failed.
  void fail(int64_t steps = 1);
  /// The same for steps that took no time, such as those done by an earlier run.
  void skip(int64_t steps);
  int64_t done() const;

 private:
  using Clock = std::chrono::steady_clock;
  void add(int64_t done, int64_t failed, int64_t skipped);
  void report(Clock::time_point now);

  const std::string what_;
  const int64_t total_;
  std::FILE* const stream_;
  const Style style_;
  const Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  int64_t done_ = 0;
  int64_t failed_ = 0;
  int64_t skipped_ = 0;
  Clock::time_point last_report_ = start_;
  bool bar_shown_ = false;
};

/// "measuring 3/10 (30 %), 12 s, about 28 s left".
std::string progress_line(const std::string& what, int64_t done, int64_t total, double seconds);

/// "measuring 130/200 (65 %), 2 s, 15.0/s, 3.3 % failed, about 5 s left": of the steps that are done,
/// `failed` failed and `skipped` took no time.
std::string progress_line_with_rates(const std::string& what, int64_t done, int64_t total, int64_t failed,
                                     int64_t skipped, double seconds);

}  // namespace waco
