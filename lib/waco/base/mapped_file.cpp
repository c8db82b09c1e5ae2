// mmap where it is safe, read_file elsewhere.
#include "waco/base/mapped_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "waco/base/descriptor.hpp"
#include "waco/base/files.hpp"

namespace waco {
namespace {

constexpr int64_t kZfs = 0x2fc12fc1;  // the only one that the header lacks

/// Whether what is on this file system stays readable while it is mapped.
bool is_local(int64_t magic) {
  switch (magic) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case SQUASHFS_MAGIC:
    case XFS_SUPER_MAGIC:
    case kZfs:
    case F2FS_SUPER_MAGIC:
      return true;
    default:
      return false;
  }
}

/// The size of a file that can be mapped.
std::optional<size_t> size_to_map(int fd) {
  struct stat status {};
  struct statfs system {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) return std::nullopt;
  if (::fstatfs(fd, &system) != 0 || !is_local(static_cast<int64_t>(system.f_type))) return std::nullopt;
  return static_cast<size_t>(status.st_size);
}

struct Unmap {
  size_t size;
  void operator()(void* begin) const { ::munmap(begin, size); }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& file) {
  if (const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)); fd) {
    const std::optional<size_t> size = size_to_map(fd.get());
    // All pages at once: whoever opens a file reads it whole.
    void* begin =
        size ? ::mmap(nullptr, *size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0) : MAP_FAILED;
    if (begin != MAP_FAILED) {
      owner_ = std::shared_ptr<void>(begin, Unmap{*size});
      content_ = {static_cast<const char*>(begin), *size};
      return;
    }
  }
  auto content = std::make_shared<const std::string>(read_file(file));
  content_ = *content;
  owner_ = std::move(content);
}

}  // namespace waco
