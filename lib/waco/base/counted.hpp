// Numbers of things in what programs say to people.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace waco {

/// "1 thread", "2 threads"; of a word whose plural is not made by an s, that plural is named: "0 matrices".
std::string counted(std::integral auto count, std::string_view singular, std::string_view plural = {}) {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular) : fmt::format("{} {}", count, plural);
}

}  // namespace waco
