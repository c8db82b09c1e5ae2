// How far a long piece of work is: a bar on a terminal, a plain line now and then elsewhere.
#include "waco/base/progress.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace waco {
namespace {

constexpr int kBarWidth = 24;
constexpr const char* kEraseLine = "\r\x1b[K";

std::string bar(int64_t done, int64_t total, bool color) {
  const int64_t filled = total > 0 ? std::clamp<int64_t>(kBarWidth * done / total, 0, kBarWidth) : 0;
  const std::string full(static_cast<size_t>(filled), '#');
  const std::string empty(static_cast<size_t>(kBarWidth - filled), '.');
  return color ? fmt::format("[\x1b[32m{}\x1b[0m{}]", full, empty) : fmt::format("[{}{}]", full, empty);
}

}  // namespace

std::string progress_line(const std::string& what, int64_t done, int64_t total, double seconds) {
  std::string line =
      total > 0 ? fmt::format("{} {}/{} ({} %), {:.0f} s", what, done, total, 100 * done / total, seconds)
                : fmt::format("{} {}, {:.0f} s", what, done, seconds);
  if (done > 0 && done < total) {
    line += fmt::format(", about {:.0f} s left",
                        seconds * static_cast<double>(total - done) / static_cast<double>(done));
  }
  return line;
}

std::string progress_line_with_rates(const std::string& what, int64_t done, int64_t total, int64_t failed,
                                     int64_t skipped, double seconds) {
  const auto timed = static_cast<double>(done - skipped);
  const double rate = seconds > 0 ? timed / seconds : 0;
  std::string line = fmt::format("{} {}/{} ({} %), {:.0f} s, {:.1f}/s, {:.1f} % failed", what, done, total,
                                 total > 0 ? 100 * done / total : 0, seconds, rate,
                                 timed > 0 ? 100 * static_cast<double>(failed) / timed : 0.0);
  if (rate > 0 && done < total)
    line += fmt::format(", about {:.0f} s left", static_cast<double>(total - done) / rate);
  return line;
}

Progress::Style Progress::style_for(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  Style style;
  style.quiet = !spdlog::should_log(spdlog::level::info);
  style.bar = ::isatty(::fileno(stream)) != 0 && !(terminal != nullptr && std::string(terminal) == "dumb");
  style.color = style.bar && (no_color == nullptr || *no_color == '\0');
  style.interval_s = style.bar ? 0.1 : 10;
  return style;
}

Progress::Progress(std::string what, int64_t total, std::FILE* stream)
    : Progress(std::move(what), total, stream, style_for(stream)) {}

Progress::Progress(std::string what, int64_t total, std::FILE* stream, const Style& style)
    : what_(std::move(what)), total_(total), stream_(stream), style_(style) {}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  if (!bar_shown_) return;
  std::fputs(kEraseLine, stream_);
  std::fflush(stream_);
}

void Progress::advance(int64_t steps) {
  add(steps, 0, 0);
}

void Progress::fail(int64_t steps) {
  add(steps, steps, 0);
}

void Progress::skip(int64_t steps) {
  add(steps, 0, steps);
}

void Progress::add(int64_t done, int64_t failed, int64_t skipped) {
  const std::lock_guard lock(mutex_);
  done_ += done;
  failed_ += failed;
  skipped_ += skipped;
  if (style_.quiet) return;
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - last_report_).count() < style_.interval_s) return;
  last_report_ = now;
  report(now);
}

int64_t Progress::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Progress::report(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string line = style_.rates
                               ? progress_line_with_rates(what_, done_, total_, failed_, skipped_, seconds)
                               : progress_line(what_, done_, total_, seconds);
  if (style_.bar) {
    std::fputs(fmt::format("{}{} {}", kEraseLine, bar(done_, total_, style_.color), line).c_str(), stream_);
    bar_shown_ = true;
  } else {
    std::fputs((line + "\n").c_str(), stream_);
  }
  std::fflush(stream_);
}

}  // namespace waco
