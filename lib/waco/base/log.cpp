// What programs say to people: spdlog's default logger on stderr.
#include "waco/base/log.hpp"

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace waco {
namespace {

/// "warning: " and the like before messages that are not plain talk.
class SeverityFlag : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    if (message.level < spdlog::level::warn) return;
    const bool error = message.level >= spdlog::level::err;
    const std::string_view text = error ? "error: " : "warning: ";
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SeverityFlag>(); }
};

}  // namespace

bool stderr_has_colours() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

void set_up_log(std::string_view program, Verbosity verbosity) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
      stderr_has_colours() ? spdlog::color_mode::always : spdlog::color_mode::never);
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<SeverityFlag>('*').set_pattern(fmt::format("{}: %^%*%$%v", program));
  sink->set_formatter(std::move(formatter));
  auto logger = std::make_shared<spdlog::logger>(std::string(program), std::move(sink));
  logger->set_level(verbosity == Verbosity::kQuiet    ? spdlog::level::warn
                    : verbosity == Verbosity::kNormal ? spdlog::level::info
                                                      : spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace waco
