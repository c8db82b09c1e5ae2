// Memory for the operands of a measurement: aligned, on huge pages where the system has them, the same for
// all.
#pragma once

#include <cstddef>

namespace waco {

/// Zeroed anonymous memory. `data()` is 64-byte aligned; buffers of different `slot` start at different
/// offsets in their pages, so that equal row strides of several buffers do not fall on the same cache sets.
class Buffer {
 public:
  Buffer() = default;
  /// Throws std::bad_alloc.
  explicit Buffer(size_t bytes, int slot = 0);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  /// Sets all bits of a page before the data, if it has that slot's offset, and of one behind: NaN, whose
  /// reader shows.
  void poison_surroundings();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace waco
