// Settings of the allocator around a packing.
#include "waco/measure/fresh_memory.hpp"

#include <malloc.h>

namespace waco::measure {
namespace {

constexpr int kInitialThreshold = 1 << 17;  // glibc's own, before blocks are freed
constexpr int kLargestThreshold = 1 << 25;  // where freeing large blocks takes it
constexpr int kLargestTrim = 2 * kLargestThreshold;

}  // namespace

FreshMemory::FreshMemory() {
  ::malloc_trim(0);  // pages of free blocks in the heap, which a packing may be given, go back
  ::mallopt(M_MMAP_THRESHOLD, kInitialThreshold);
}

FreshMemory::~FreshMemory() {
  ::mallopt(M_MMAP_THRESHOLD, kLargestThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kLargestTrim);
}

}  // namespace waco::measure
