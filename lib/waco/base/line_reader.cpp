// Lines of plain text, or of what gzipped text inflates to.
#include "waco/base/line_reader.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "waco/base/byte_source.hpp"
#include "waco/base/gzip.hpp"

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

  explicit TextLines(const fs::path& name) : file_(file_name(name)), whole_(read_up_to(file_, 2), file_) {
    if (is_gzip(whole_.head())) inflated_.emplace(name.string(), whole_);
  }

  bool gzipped() const { return inflated_.has_value(); }

  /// At the end: whether gzipped content lacks its own.
  bool cut_off() const { return inflated_ && inflated_->cut_off(); }

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
  static std::string file_name(const fs::path& name) {
    if (name == "-") throw InputError("-", 0, "is stdin, and such files are read again: name a file");
    return name.string();
  }

  bool fill() {
    buffer_.resize(size_t{1} << 16);
    ByteSource& source = inflated_ ? static_cast<ByteSource&>(*inflated_) : whole_;
    try {
      buffer_.resize(source.read(buffer_.data(), buffer_.size()));
    } catch (const InputError&) {
      if (!cut_off()) throw;
      buffer_.clear();
    }
    return !buffer_.empty();
  }

  FileSource file_;
  ReplaySource whole_;
  std::optional<GzipSource> inflated_;
  std::string buffer_;
  size_t begin_ = 0;
};

/// Whether a last line that is no JSON is what a killed run leaves.
bool may_be_torn(const TextLines::Line& line, bool is_first) {
  return !is_first || (!line.ended && line.text.front() == '{');
}

/// Why the line can't be a document.
std::string_view fault_of(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  const bool opens = first == last && (line[first] == '{' || line[first] == '[');
  return opens ? "it is one document over several lines, not a document a line" : "it is no JSON";
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
        if (more || !may_be_torn(line, is_first)) handed.refuse(fault_of(line.text));
        found.torn = true;
        spdlog::warn("{}:{}: {}", file.string(), number,
                     lines.cut_off() ? "the gzipped content is cut off here, and what was behind is missing"
                                     : "the last line is incomplete and is left out");
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

bool read_first_json_line(const fs::path& file, std::string_view kind,
                          const std::function<void(const JsonLine&)>& take) {
  TextLines lines(file);
  TextLines::Line line;
  for (int64_t number = 1; lines.next(line); ++number) {
    if (line.blank()) continue;
    const nlohmann::json document = nlohmann::json::parse(line.text, nullptr, false);
    const JsonLine handed{document, number, file, kind};
    if (document.is_discarded()) handed.refuse(fault_of(line.text));
    take(handed);
    return true;
  }
  return false;
}

}  // namespace waco
