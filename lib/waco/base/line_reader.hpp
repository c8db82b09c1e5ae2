// Reading JSON Lines files, plain or gzipped: one rule of what is forgiven for all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"

namespace waco {

/// One document of a file, and how to refuse it.
struct JsonLine {
  const nlohmann::json& document;
  int64_t number;  ///< from 1
  const std::filesystem::path& file;
  std::string_view kind;  ///< what it should be, such as "a record of waco-bench"

  /// Throws InputError: "<file>:<number>: is not <kind>: <why>".
  [[noreturn]] void refuse(std::string_view why) const;

  /// parse(document); json::exception and UsageError of it become refusals.
  template <typename Parse>
  auto as(Parse&& parse) const {
    try {
      return parse(document);
    } catch (const nlohmann::json::exception& fault) {
      refuse(fault_text(fault));
    } catch (const UsageError& fault) {
      refuse(fault.what());
    }
  }
};

/// What was found besides the documents.
struct LinesFound {
  int64_t valid_bytes = 0;  ///< of the content (inflated), to the end of the last whole line
  bool torn = false;        ///< an incomplete last line was left out
  bool unended = false;     ///< the last line lacks its newline, and is whole all the same
  bool gzipped = false;
};

/// Hands over the documents of a file in their order. Blank lines are passed over. A last line that is no
/// JSON, as a run leaves it that is killed while it writes, is left out with a warning; a first line only if
/// it begins as an object does and has no end, or any text would pass for such a file. Throws InputError when
/// the file can't be read or is stdin ("-"), and when another line is no JSON.
LinesFound read_json_lines(const std::filesystem::path& file, std::string_view kind,
                           const std::function<void(const JsonLine&)>& take);

/// Hands over the first document alone, of which nothing is forgiven; false where there is none. What is
/// behind it is not looked at.
bool read_first_json_line(const std::filesystem::path& file, std::string_view kind,
                          const std::function<void(const JsonLine&)>& take);

}  // namespace waco
