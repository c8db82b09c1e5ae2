// Results of a list of inputs as JSON Lines, so that a batch can be continued.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "waco/base/command_line.hpp"
#include "waco/base/line_appender.hpp"
#include "waco/base/machine.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

/// What became of one input of a list.
struct ListedResult {
  std::string input;  ///< as the list names it
  Outcome outcome;
  nlohmann::ordered_json document;  ///< plan document; null when there is none
};

/// One line: the plan document, or without one an artifact header, with `asked` (the options), `input` (its
/// stored_text), `status` ("done" or "failed"), `exit_code` and `error`.
nlohmann::ordered_json listed_document(const ListedResult& result, const TuneOptions& options,
                                       std::string_view program, const std::string& command);

/// Whether a line is the result of its input: one that failed, or that a fault of the machine cut short, is
/// to be done again.
bool is_result(const nlohmann::json& line);

/// Whether there is such a file, with a line at least; false for all else, whatever it is.
bool holds_results_of_list(const std::filesystem::path& file);

/// A file that grows by a line for each input.
class ResultFile {
 public:
  /// Reads what is there; a torn last line is cut off. Throws InputError when the file holds something else,
  /// or results of another machine.
  ResultFile(const std::filesystem::path& file, const Machine& machine);

  /// Whether there is a result of the input with the same options.
  bool holds(const std::string& input, const TuneOptions& options) const;
  /// Writes one line and brings it to the disk. Throws EnvironmentError.
  void append(const nlohmann::ordered_json& line);

 private:
  void note(const nlohmann::json& line);

  LineAppender lines_;
  std::set<std::string> done_;
};

}  // namespace waco::tune
