// Operand memory by mmap, on huge pages unless it is small.
#include "waco/base/buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace waco {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Smaller buffers gain little, and all of them together leave the L2 cache room to spare.
constexpr size_t kSmall = size_t{256} << 10;
constexpr size_t kSlotOffset = 4096 + 1088;  // 17 cache lines into the next page
constexpr size_t kTail = 4096;               // beyond the end, mapped for look-ahead

}  // namespace

Buffer::Buffer(size_t bytes, int slot) : bytes_(bytes) {
  const size_t offset = static_cast<size_t>(slot) * kSlotOffset;
  // Whole pages, so that a buffer of about the size of the L2 cache does not fall on its sets by chance.
  const size_t alignment = bytes >= kSmall ? kHugePage : 4096;
  mapped_bytes_ = (bytes + offset + kTail + alignment - 1) / alignment * alignment + alignment;
  mapping_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw std::bad_alloc();
  }
  if (alignment == kHugePage) ::madvise(mapping_, mapped_bytes_, MADV_HUGEPAGE);  // a wish; failure is fine
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = reinterpret_cast<void*>((address + alignment - 1) / alignment * alignment + offset);
}

void Buffer::poison_surroundings() {
  auto* data = static_cast<unsigned char*>(data_);
  const auto before = static_cast<size_t>(data - static_cast<unsigned char*>(mapping_));
  const size_t reach = std::min(before, kTail);
  std::memset(data - reach, 0xff, reach);
  std::memset(data + bytes_, 0xff, kTail);
}

Buffer::~Buffer() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace waco
