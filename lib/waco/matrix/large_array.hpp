// Large pages for large arrays.
#pragma once

#include <cstddef>

namespace waco::matrix {

/// Asks for large pages where [array, array + bytes) covers whole ones: faulting in small ones takes a good
/// part of the time of filling an array once. A hint; nothing changes where the system offers none.
void prefer_large_pages(void* array, size_t bytes);

}  // namespace waco::matrix
