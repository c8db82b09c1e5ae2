// Notes: small JSON files in the cache, which a run can do without. One that is missing, torn, damaged, of
// another format or version, or not as it should be is as good as not there.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco {

/// What `take` makes of a note's document, nullopt or false where it is not as it should be; the same where
/// there is no such note.
template <typename Take>
std::invoke_result_t<Take, const nlohmann::json&> read_note(const std::filesystem::path& file,
                                                            std::string_view format, int version,
                                                            const Take& take) {
  try {
    const auto document = nlohmann::json::parse(read_file(file));
    if (document.at("format") == format && document.at("version") == version) return take(document);
  } catch (const nlohmann::json::exception&) {
  } catch (const Error&) {
  }
  return {};
}

}  // namespace waco
