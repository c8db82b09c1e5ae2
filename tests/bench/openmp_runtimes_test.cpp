// Which OpenMP runtimes meet in one process.
#include "apps/bench/peers/openmp_runtimes.hpp"

#include <catch2/catch.hpp>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/kernel_cache.hpp"

using namespace waco;
using namespace waco::bench;

TEST_CASE("openmp_runtimes: that of a kernel is found beside the program's", "[bench]") {
  const TemporaryFolder folder("waco-runtimes-");
  const measure::KernelCache cache(measure::Compiler::find(), folder.path());
  const std::set<std::string> usual = openmp_runtimes_with(cache.require_openmp());
  CHECK_FALSE(usual.empty());
  const auto other = cache.get({"extern \"C\" int omp_get_max_threads() { return 1; }\n", "-O1"}, 60).library;
  CHECK(openmp_runtimes_with(other).contains(other.string()));
  CHECK_FALSE(usual.contains(other.string()));
}

TEST_CASE("openmp_runtimes: several are refused with what to do", "[bench]") {
  CHECK_NOTHROW(require_one_runtime({"/lib/libgomp.so.1"}));
  CHECK_THROWS_WITH(
      require_one_runtime({"/lib/libgomp.so.1", "/lib/libomp.so.5"}),
      Catch::Contains("libomp.so.5") && Catch::Contains("--compiler") && Catch::Contains("--peers none"));
}
