// The first lines of every file the toolchain writes, and the check of them when it is read back.
#include "waco/base/artifact.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/version.hpp"

namespace waco {
namespace {

/// How many bytes of `text` at `at` are a character of UTF-8; 0 where none begins there.
size_t character_bytes(std::string_view text, size_t at) {
  const auto byte = [&](size_t n) {
    return static_cast<unsigned char>(at + n < text.size() ? text[at + n] : 0);
  };
  const unsigned char first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  const size_t size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // No longer forms of smaller numbers, no halves of pairs of UTF-16, nothing beyond the last character.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  for (size_t n = 1; n < size; ++n)
    if ((byte(n) & 0xc0) != 0x80) return 0;
  return size;
}

/// With stored_text of every text in it.
template <typename Json>
Json stored_document(Json document) {
  if (document.is_string()) return stored_text(document.template get<std::string>());
  if (document.is_structured())
    for (auto& element : document) element = stored_document(std::move(element));
  return document;
}

/// Names of files need not be UTF-8, but nearly always are.
template <typename Json>
std::string text_of(const Json& document, int indent) {
  try {
    return document.dump(indent);
  } catch (const nlohmann::json::type_error&) {
    return stored_document(document).dump(indent, ' ', false, Json::error_handler_t::replace);
  }
}

/// 1-based line of a byte offset.
int64_t line_of(const std::string& text, size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + std::count(text.begin(), end, '\n');
}

}  // namespace

nlohmann::ordered_json created_by(std::string_view program, std::string_view command) {
  return {{"program", program}, {"version", version()}, {"command", command}};
}

nlohmann::ordered_json artifact_header(std::string_view format, int version, std::string_view program,
                                       std::string_view command, const nlohmann::json& machine) {
  nlohmann::ordered_json header;
  header["format"] = format;
  header["version"] = version;
  header["created_by"] = created_by(program, command);
  header["machine"] = machine;
  return header;
}

std::string_view fault_text(const nlohmann::json::exception& fault) {
  const std::string_view text = fault.what();
  const size_t end = text.find("] ");
  return end == std::string_view::npos ? text : text.substr(end + 2);
}

int check_artifact(const nlohmann::json& artifact, const std::filesystem::path& file, std::string_view format,
                   int max_version, int64_t line) {
  const auto fail = [&](const std::string& message) { throw InputError(file.string(), line, message); };
  const auto kind = artifact.is_object() ? artifact.find("format") : artifact.end();
  if (!artifact.is_object() || kind == artifact.end() || !kind->is_string()) {
    fail(fmt::format("has no \"format\" key; expected a file of format {}", format));
  }
  if (kind->get<std::string>() != format) {
    fail(fmt::format("is of format {}; expected one of format {}", kind->get<std::string>(), format));
  }
  const auto version = artifact.find("version");
  if (version == artifact.end() || !version->is_number_integer() || version->get<int64_t>() < 1) {
    fail(fmt::format("has no valid \"version\" key; write the {} file again", format));
  }
  const auto found = version->get<int64_t>();
  if (found > max_version) {
    fail(fmt::format(
        "is version {} of format {}; this program reads up to version {}: use a newer program, or "
        "write the file again with this one",
        found, format, max_version));
  }
  return static_cast<int>(found);
}

nlohmann::json read_artifact(const std::filesystem::path& file, std::string_view format, int max_version) {
  return parse_artifact(read_input_file(file), file, format, max_version);
}

nlohmann::json parse_artifact(const std::string& text, const std::filesystem::path& file,
                              std::string_view format, int max_version) {
  nlohmann::json artifact;
  const auto fail = [&](int64_t line) {
    throw InputError(file.string(), line,
                     fmt::format("is not complete, valid JSON; expected a file of format {}", format));
  };
  try {
    artifact = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    fail(line_of(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const nlohmann::json::exception&) {  // a number that no double holds, which has no place
    fail(0);
  }
  check_artifact(artifact, file, format, max_version);
  return artifact;
}

bool is_artifact(const std::filesystem::path& file, std::string_view format) {
  try {
    read_artifact(file, format, std::numeric_limits<int>::max());
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string stored_text(const std::string& text) {
  std::string stored;
  for (size_t at = 0; at < text.size();) {
    const size_t size = character_bytes(text, at);
    if (size > 0)
      stored.append(text, at, size);
    else
      stored += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    at += std::max<size_t>(size, 1);
  }
  return stored;
}

std::string artifact_text(const nlohmann::ordered_json& artifact) {
  return text_of(artifact, 2) + '\n';
}

std::string line_text(const nlohmann::json& document) {
  return text_of(document, -1);
}

std::string line_text(const nlohmann::ordered_json& document) {
  return text_of(document, -1);
}

void write_artifact(const std::filesystem::path& file, const nlohmann::ordered_json& artifact) {
  write_file_atomically(file, artifact_text(artifact));
}

}  // namespace waco
