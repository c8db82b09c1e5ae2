// Large pages for large arrays.
#include "waco/matrix/large_array.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace waco::matrix {

void prefer_large_pages(void* array, size_t bytes) {
  constexpr uintptr_t kPage = uintptr_t{1} << 21;
  const auto start = reinterpret_cast<uintptr_t>(array);
  const uintptr_t begin = (start + kPage - 1) / kPage * kPage;
  const uintptr_t end = (start + bytes) / kPage * kPage;
  if (end > begin) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace waco::matrix
