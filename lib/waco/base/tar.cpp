// One member of a tar archive as a stream. The format: POSIX.1-1988 (ustar), with GNU's sizes of 8 GB and
// more, and long paths as GNU and POSIX.1-2001 (pax) have them, pax sizes too: in a member of its own before
// the other.
#include "waco/base/tar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "waco/base/error.hpp"

namespace waco {
namespace {

struct Field {
  size_t begin, size;
};
constexpr Field kPath{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kType{156, 1}, kMagic{257, 5},
    kPrefix{345, 155};

constexpr char kGnuPath = 'L', kPax = 'x';  // types of members

std::string_view bytes_of(std::string_view header, Field field) {
  return header.substr(field.begin, field.size);
}

std::string_view text_of(std::string_view header, Field field) {
  const std::string_view bytes = bytes_of(header, field);
  return bytes.substr(0, bytes.find('\0'));
}

std::optional<int64_t> octal(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  int64_t value = 0;
  for (const char digit : text.substr(begin, text.find_first_of(std::string_view(" \0", 2), begin) - begin)) {
    if (digit < '0' || digit > '7') return std::nullopt;
    value = value * 8 + (digit - '0');
  }
  return value;
}

/// Octal text, or a big-endian number behind a byte of 0x80.
std::optional<int64_t> size_of_member(std::string_view header) {
  const std::string_view bytes = bytes_of(header, kSize);
  if (bytes[0] != '\x80') return octal(bytes);
  int64_t size = 0;
  for (const char byte : bytes.substr(1)) {
    if (size > std::numeric_limits<int64_t>::max() >> 8) return std::nullopt;
    size = size << 8 | static_cast<unsigned char>(byte);
  }
  return size;
}

std::optional<int64_t> decimal(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

/// The sum of all bytes of a header, those of the sum itself taken as spaces.
bool has_right_checksum(std::string_view header) {
  int64_t sum = static_cast<int64_t>(kChecksum.size) * ' ';
  for (size_t n = 0; n < header.size(); ++n)
    if (n < kChecksum.begin || n >= kChecksum.begin + kChecksum.size)
      sum += static_cast<unsigned char>(header[n]);
  return octal(bytes_of(header, kChecksum)) == sum;
}

/// What members in front of another say of it, where its own header has no room.
struct Described {
  std::string path;  ///< empty: as in the header
  std::optional<int64_t> size;
};

/// What the records of a pax header, "<bytes> <key>=<value>\n" each, say.
void read_pax(std::string_view records, Described& next) {
  while (!records.empty()) {
    const size_t blank = records.find(' ');
    size_t bytes = 0;
    const char* end = records.data() + std::min(blank, records.size());
    if (std::from_chars(records.data(), end, bytes).ptr != end || bytes <= blank || bytes > records.size())
      break;
    const std::string_view record = records.substr(blank + 1, bytes - blank - 2);
    constexpr std::string_view kPathKey = "path=", kSizeKey = "size=";
    if (record.starts_with(kPathKey)) next.path = record.substr(kPathKey.size());
    if (record.starts_with(kSizeKey)) next.size = decimal(record.substr(kSizeKey.size()));
    records.remove_prefix(bytes);
  }
}

int64_t padding_of(int64_t size) {
  constexpr auto kBlock = static_cast<int64_t>(kTarBlock);
  return (kBlock - size % kBlock) % kBlock;
}

}  // namespace

bool is_tar(std::string_view head) {
  return head.size() == kTarBlock && text_of(head, kMagic).starts_with("ustar") && has_right_checksum(head);
}

TarMember::TarMember(std::string name, ByteSource& archive, const IsWanted& is_wanted,
                     std::string_view remedy)
    : name_(std::move(name)), archive_(archive) {
  Described next;
  for (;;) {
    const std::string header = read_up_to(archive_, kTarBlock);
    if (header.empty() || header == std::string(kTarBlock, '\0'))
      throw InputError(name_, 0, std::string(remedy));
    if (header.size() < kTarBlock) fail_cut_off();
    const std::optional<int64_t> size = size_of_member(header);
    if (!size || !has_right_checksum(header))
      throw InputError(name_, 0, "the tar archive is damaged; fetch or make it again");
    const char type = header[kType.begin];
    if (type == kGnuPath || type == kPax) {
      const std::string content = read_small(*size);
      if (type == kGnuPath) next.path = content.substr(0, content.find('\0'));
      if (type == kPax) read_pax(content, next);
      continue;
    }
    auto [path, long_size] = std::exchange(next, {});
    const int64_t num_bytes = long_size.value_or(*size);
    if (path.empty()) {
      path = text_of(header, kPrefix);
      if (!path.empty()) path += '/';
      path += text_of(header, kPath);
    }
    if ((type == '0' || type == '\0') && is_wanted(path)) {
      num_bytes_ = left_ = num_bytes;
      return;
    }
    skip(num_bytes);
    skip(padding_of(num_bytes));
  }
}

size_t TarMember::read(char* to, size_t size) {
  if (left_ == 0) return 0;
  const size_t count = archive_.read(to, static_cast<size_t>(std::min(left_, static_cast<int64_t>(size))));
  if (count == 0) fail_cut_off();
  left_ -= static_cast<int64_t>(count);
  if (left_ == 0) {
    std::array<char, 1 << 14> rest;
    while (archive_.read(rest.data(), rest.size()) > 0) {
    }
  }
  return count;
}

/// A whole member that describes the next one.
std::string TarMember::read_small(int64_t size) {
  constexpr int64_t kMost = 1 << 20;
  if (size > kMost) throw InputError(name_, 0, "the tar archive is damaged; fetch or make it again");
  std::string content = read_up_to(archive_, static_cast<size_t>(size));
  if (std::ssize(content) < size) fail_cut_off();
  skip(padding_of(size));
  return content;
}

void TarMember::skip(int64_t size) {
  std::array<char, 1 << 14> skipped;
  while (size > 0) {
    const size_t count =
        archive_.read(skipped.data(), static_cast<size_t>(std::min<int64_t>(size, skipped.size())));
    if (count == 0) fail_cut_off();
    size -= static_cast<int64_t>(count);
  }
}

void TarMember::fail_cut_off() const {
  throw InputError(name_, 0, "the tar archive is cut off; fetch or make it again");
}

}  // namespace waco
