// Lines through zlib, which passes plain files through.
#include "waco/base/line_reader.hpp"

#include <spdlog/spdlog.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace waco {
namespace fs = std::filesystem;
namespace {

/// The lines of a file as texts.
class TextLines {
 public:
  struct Line {
    std::string text;    ///< without its newline
    bool ended = false;  ///< by a newline, not by the end of the file

    bool blank() const { return text.find_first_not_of(" \t\r") == std::string::npos; }
  };

  explicit TextLines(const fs::path& file) : file_(file) {
    std::error_code error;
    if (fs::is_directory(file, error))
      throw InputError(file.string(), 0, "is a folder; name a file inside it");
    gz_ = ::gzopen(file.c_str(), "rbe");
    if (gz_ == nullptr)
      throw InputError(file.string(), 0, fmt::format("can't be opened: {}", std::strerror(errno)));
    ::gzbuffer(gz_, 1 << 18);
  }
  ~TextLines() { ::gzclose(gz_); }
  TextLines(const TextLines&) = delete;
  TextLines& operator=(const TextLines&) = delete;

  bool gzipped() { return ::gzdirect(gz_) == 0; }

  /// At the end: whether gzipped content lacks its own.
  bool cut_off() {
    int code = Z_OK;
    ::gzerror(gz_, &code);
    return code == Z_BUF_ERROR;
  }

  /// False at the end.
  bool next(Line& line) {
    line.text.clear();
    for (;;) {
      const size_t newline = buffer_.find('\n', begin_);
      line.ended = newline != std::string::npos;
      line.text.append(buffer_, begin_, line.ended ? newline - begin_ : newline);
      if (line.ended) {
        begin_ = newline + 1;
        return true;
      }
      begin_ = 0;
      if (!fill()) return !line.text.empty();
    }
  }

 private:
  bool fill() {
    buffer_.resize(size_t{1} << 16);
    const int count = ::gzread(gz_, buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (count < 0) {
      int code = 0;
      const char* what = ::gzerror(gz_, &code);
      throw InputError(file_.string(), 0, fmt::format("can't be read: {}", what));
    }
    buffer_.resize(static_cast<size_t>(count));
    return count > 0;
  }

  const fs::path& file_;
  gzFile gz_ = nullptr;
  std::string buffer_;
  size_t begin_ = 0;
};

/// Whether a last line that is no JSON is what a killed run leaves.
bool may_be_torn(const TextLines::Line& line, bool is_first) {
  return !is_first || (!line.ended && line.text.front() == '{');
}

}  // namespace

void JsonLine::refuse(std::string_view why) const {
  throw InputError(file.string(), number, fmt::format("is not {}: {}", kind, why));
}

LinesFound read_json_lines(const fs::path& file, std::string_view kind,
                           const std::function<void(const JsonLine&)>& take) {
  TextLines lines(file);
  LinesFound found;
  TextLines::Line line, next;
  bool is_first = true;
  bool more = lines.next(line);
  found.gzipped = lines.gzipped();
  for (int64_t number = 1; more; ++number, std::swap(line, next)) {
    more = lines.next(next);
    if (!line.blank()) {
      const nlohmann::json document = nlohmann::json::parse(line.text, nullptr, false);
      const JsonLine handed{document, number, file, kind};
      if (document.is_discarded()) {
        if (more || !may_be_torn(line, is_first)) handed.refuse("it is no JSON");
        found.torn = true;
        spdlog::warn("{}:{}: the last line is incomplete and is left out", file.string(), number);
        return found;
      }
      take(handed);
      is_first = false;
      found.unended = !line.ended;
    }
    found.valid_bytes += static_cast<int64_t>(line.text.size()) + (line.ended ? 1 : 0);
  }
  if (lines.cut_off())
    spdlog::warn("{}: its gzipped content is cut off, and what was behind is missing", file.string());
  return found;
}

}  // namespace waco
