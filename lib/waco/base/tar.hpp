// One member of a tar archive as a stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "waco/base/byte_source.hpp"

namespace waco {

/// Bytes of a header; members are padded to a multiple of it.
inline constexpr size_t kTarBlock = 512;

/// Whether the first kTarBlock bytes of a file are those of a tar archive (POSIX ustar, pax or GNU).
bool is_tar(std::string_view head);

/// The content of the first member whose path is wanted. What comes before is skipped; what comes behind is
/// read as well, so that whatever checks the archive as a whole has seen all of it.
class TarMember : public ByteSource {
 public:
  using IsWanted = std::function<bool(std::string_view path)>;
  /// `name` is what errors call the file; `archive` must outlive this source. Throws InputError when the
  /// archive ends or is damaged before such a member; `remedy` is for when it holds none.
  TarMember(std::string name, ByteSource& archive, const IsWanted& is_wanted, std::string_view remedy);

  /// Throws InputError where the archive ends within the member.
  size_t read(char* to, size_t size) override;
  int64_t num_bytes() const { return num_bytes_; }

 private:
  std::string read_small(int64_t size);
  void skip(int64_t size);
  [[noreturn]] void fail_cut_off() const;

  std::string name_;
  ByteSource& archive_;
  int64_t num_bytes_ = 0;
  int64_t left_ = 0;
};

}  // namespace waco
