// An indented text writer for C++ source.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace waco::codegen {

/// Collects lines; `open` and `close` keep the indentation and count braces.
class Writer {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> text, Args&&... args) {
    text_.append(2 * static_cast<size_t>(depth_), ' ');
    fmt::format_to(std::back_inserter(text_), text, std::forward<Args>(args)...);
    text_ += '\n';
  }
  template <class... Args>
  void open(fmt::format_string<Args...> text, Args&&... args) {
    line(text, std::forward<Args>(args)...);
    ++depth_;
  }
  void close(int braces = 1) {
    for (; braces > 0; --braces) {
      --depth_;
      line("}}");
    }
  }
  /// A line that starts at the margin (preprocessor).
  void margin(const std::string& text) { text_ += text + '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace waco::codegen
