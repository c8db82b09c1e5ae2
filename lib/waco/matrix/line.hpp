// Parts of a text: its words, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace waco::matrix {

/// What separates words; '\r' because files come with both kinds of line ends.
inline constexpr std::string_view kBlanks = " \t\r";

/// Of UTF-8, which some editors put in front of a text.
inline void drop_byte_order_mark(std::string& text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

/// The first character that isn't blank, '\0' for a blank line.
inline char first_character(std::string_view line) {
  const size_t at = line.find_first_not_of(kBlanks);
  return at == std::string_view::npos ? '\0' : line[at];
}

/// `line` without blanks at its ends.
inline std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

/// Words in `line`, at most `limit` of them.
inline std::vector<std::string_view> words_of(std::string_view line, size_t limit = 64) {
  std::vector<std::string_view> words;
  size_t at = line.find_first_not_of(kBlanks);
  while (at != std::string_view::npos && words.size() < limit) {
    const size_t end = line.find_first_of(kBlanks, at);
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace waco::matrix
