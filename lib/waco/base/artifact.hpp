// The first lines of every file the toolchain writes, and the check of them when it is read back.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace waco {

/// What made a file: the program, its version and the command line.
nlohmann::ordered_json created_by(std::string_view program, std::string_view command);

/// The keys every artifact begins with: `format` (such as "waco-plan"), `version` of that format,
/// `created_by` and `machine` (as JSON of describe_machine).
nlohmann::ordered_json artifact_header(std::string_view format, int version, std::string_view program,
                                       std::string_view command, const nlohmann::json& machine);

/// What is wrong with a document, as nlohmann-json's exceptions say it behind their numbers.
std::string_view fault_text(const nlohmann::json::exception& fault);

/// Checks the header of a parsed artifact: throws InputError naming `file` when it isn't an object, is of
/// another format, or newer than `max_version` (both versions are named). Unknown keys are ignored. Returns
/// its version. `line` (0: none) is named in errors.
int check_artifact(const nlohmann::json& artifact, const std::filesystem::path& file, std::string_view format,
                   int max_version, int64_t line = 0);

/// Reads a whole JSON artifact and checks its header. Throws InputError.
nlohmann::json read_artifact(const std::filesystem::path& file, std::string_view format, int max_version);
/// The same of the text of a file that was read already.
nlohmann::json parse_artifact(const std::string& text, const std::filesystem::path& file,
                              std::string_view format, int max_version);

/// Whether a file is a JSON artifact of `format`, of whatever version.
bool is_artifact(const std::filesystem::path& file, std::string_view format);

/// A text as files hold it: bytes that are not UTF-8 (names of files need not be) are written as \xNN, so
/// that different names stay different. What is read again is found by such texts only.
std::string stored_text(const std::string& text);

/// Indented, as files hold it, with stored_text of every text.
std::string artifact_text(const nlohmann::ordered_json& artifact);

/// The same on one line, without its end.
std::string line_text(const nlohmann::json& document);
std::string line_text(const nlohmann::ordered_json& document);

/// Writes artifact_text(artifact) in one step (see write_file_atomically). Throws EnvironmentError.
void write_artifact(const std::filesystem::path& file, const nlohmann::ordered_json& artifact);

}  // namespace waco
