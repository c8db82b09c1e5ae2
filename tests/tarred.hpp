// Files as tar archives hold them.
#pragma once

#include <fmt/format.h>

#include <numeric>
#include <string>

namespace waco {

/// With the checksum that its header must have.
inline std::string with_checksum(std::string member) {
  member.replace(148, 8, "        ");
  const int sum = std::accumulate(member.begin(), member.begin() + 512, 0, [](int total, char byte) {
    return total + static_cast<unsigned char>(byte);
  });
  return member.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
}

/// A member: its header and its content, padded. `type` is '0' for a file, '5' for a folder.
inline std::string tar_member(const std::string& path, const std::string& content, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, path.size(), path);
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header[156] = type;
  header.replace(257, 5, "ustar");
  return with_checksum(header + content + std::string((512 - content.size() % 512) % 512, '\0'));
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace waco
