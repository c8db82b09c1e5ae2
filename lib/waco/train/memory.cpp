#include "waco/train/memory.hpp"

#include <malloc.h>

#include <climits>

namespace waco::train {

void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);  // blocks that are mapped one by one go back when they are freed
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

}  // namespace waco::train
