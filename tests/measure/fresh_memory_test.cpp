// Memory of packings: fresh each time, and kept again afterwards.
#include "waco/measure/fresh_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>

#if !defined(__SANITIZE_ADDRESS__)  // which has an allocator of its own

using namespace waco::measure;

namespace {

/// Share of the pages of a block that had to be brought in.
double faults_of_block() {
  const auto faults = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = 256 * page;
  const long before = faults();
  const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(size), &std::free);
  auto* bytes = static_cast<volatile char*>(block.get());
  for (size_t n = 0; n < size; n += page) bytes[n] = 1;
  return static_cast<double>(faults() - before) / 256;
}

}  // namespace

TEST_CASE("fresh_memory: no packing is given pages that an earlier one brought in", "[measure][timing]") {
  { const FreshMemory once; }
  faults_of_block();
  CHECK(faults_of_block() < 0.4);  // kept, as by any program that has freed such blocks
  for (int n = 0; n < 2; ++n) {
    const FreshMemory fresh;
    CHECK(faults_of_block() > 0.8);
    CHECK(faults_of_block() > 0.8);
  }
}

#endif
