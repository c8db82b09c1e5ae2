// Memory of packings: fresh each time, and kept again afterwards.
#include "waco/measure/fresh_memory.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>

using namespace waco::measure;

namespace {

/// Pages that had to be brought in for a block of 256 pages.
long faults_of_block() {
  const auto faults = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  constexpr size_t kBytes = 1 << 20;
  const long before = faults();
  const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(kBytes), &std::free);
  auto* bytes = static_cast<volatile char*>(block.get());
  for (size_t n = 0; n < kBytes; n += 4096) bytes[n] = 1;
  return faults() - before;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__)  // which has an allocator of its own
TEST_CASE("fresh_memory: no packing is given pages that an earlier one brought in", "[measure]") {
  { const FreshMemory once; }
  faults_of_block();
  CHECK(faults_of_block() < 100);  // kept, as by any program that has freed such blocks
  for (int n = 0; n < 2; ++n) {
    const FreshMemory fresh;
    CHECK(faults_of_block() > 200);
    CHECK(faults_of_block() > 200);
  }
}
#endif
