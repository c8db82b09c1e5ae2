// Hashes that tell contents apart.
#pragma once

#include <string>
#include <string_view>

namespace waco {

/// 128-bit FNV-1a-style hash as 32 hex digits: tells contents apart and finds corruption; not cryptographic.
std::string content_hash(std::string_view content);

/// The same task at the speed of memory, for large files. "x-" and 32 hex digits.
std::string fast_content_hash(std::string_view content);

/// Whether `hash` is that of `content`; its form says which of the two it is.
bool has_hash(std::string_view content, std::string_view hash);

}  // namespace waco
