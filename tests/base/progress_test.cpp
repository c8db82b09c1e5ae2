// Progress reports: their text, and which form goes where.
#include "waco/base/progress.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

using namespace waco;

namespace {

/// What `work` writes to a stream that isn't a terminal.
template <typename Work>
std::string written(const Work& work) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  work(file);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

}  // namespace

TEST_CASE("progress: a line tells steps, share, time and what is left", "[base]") {
  CHECK(progress_line("measuring", 3, 10, 12.0) == "measuring 3/10 (30 %), 12 s, about 28 s left");
  CHECK(progress_line("measuring", 10, 10, 12.0) == "measuring 10/10 (100 %), 12 s");
  CHECK(progress_line("measuring", 0, 10, 0.0) == "measuring 0/10 (0 %), 0 s");
  CHECK(progress_line("reading", 7, 0, 2.0) == "reading 7, 2 s");
}

TEST_CASE("progress: a line with rates leaves out steps that took no time", "[base]") {
  CHECK(progress_line_with_rates("measuring", 130, 200, 1, 100, 2.0) ==
        "measuring 130/200 (65 %), 2 s, 15.0/s, 3.3 % failed, about 5 s left");
  CHECK(progress_line_with_rates("measuring", 100, 200, 0, 100, 0.0) ==
        "measuring 100/200 (50 %), 0 s, 0.0/s, 0.0 % failed");
}

TEST_CASE("progress: elsewhere than on a terminal there are plain lines", "[base]") {
  const std::string text = written([](std::FILE* file) {
    CHECK_FALSE(Progress::style_for(file).bar);
    Progress progress("packing", 2, file, {.bar = false, .color = false, .interval_s = 0});
    progress.advance();
    progress.advance();
    CHECK(progress.done() == 2);
  });
  CHECK_THAT(text, Catch::StartsWith("packing 1/2 (50 %)"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("progress: where only warnings are told nothing is shown", "[base]") {
  const auto told = [](spdlog::level::level_enum level) {
    const auto before = spdlog::get_level();
    spdlog::set_level(level);
    const std::string text = written([](std::FILE* file) {
      Progress::Style style = Progress::style_for(file);
      style.interval_s = 0;
      Progress("packing", 1, file, style).advance();
    });
    spdlog::set_level(before);
    return text;
  };
  CHECK(told(spdlog::level::warn).empty());
  CHECK_FALSE(told(spdlog::level::info).empty());
}

TEST_CASE("progress: short work reports nothing", "[base]") {
  CHECK(written([](std::FILE* file) { Progress("packing", 1, file).advance(); }).empty());
}

TEST_CASE("progress: a stream that can't be written ends no work", "[base]") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);  // as stderr is
  for (const bool bar : {false, true}) {
    Progress progress("packing", 1, full, {.bar = bar, .color = false, .interval_s = 0});
    CHECK_NOTHROW(progress.advance());
  }
  std::fclose(full);
}

TEST_CASE("progress: a bar is redrawn in place and removed at the end", "[base]") {
  const std::string text = written([](std::FILE* file) {
    Progress progress("packing", 2, file, {.bar = true, .color = false, .interval_s = 0});
    progress.advance();
  });
  CHECK_THAT(text, Catch::Contains("[############............] packing 1/2"));
  CHECK_THAT(text, Catch::EndsWith("\r\x1b[K"));
  CHECK(text.find('\n') == std::string::npos);
}
