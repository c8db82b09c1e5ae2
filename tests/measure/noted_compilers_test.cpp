// Kernels are found again by the compiler that is noted beside them, without one to ask.
#include "waco/measure/noted_compilers.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "small_kernels.hpp"
#include "small_tensors.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/requests.hpp"

using namespace waco;
using namespace waco::measure;
namespace fs = std::filesystem;

namespace {

const schedule::Problem kProblem{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};

fs::path note_in(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder))
    if (file.path().extension() == ".compiler") return file.path();
  return {};
}

/// A folder of kernels whose compiler is noted.
struct Noted {
  TemporaryFolder folder{"waco-noted-"};
  fs::path kernels = folder.path() / "kernels";
  KernelCache cache{testing::compiler(), kernels};
  Noted() { cache.require_openmp(); }
};

}  // namespace

TEST_CASE("noted_compilers: who compiles is noted once, and reads back the same", "[measure]") {
  const Noted noted;
  noted.cache.require_openmp();
  const auto compilers = noted_compilers(noted.kernels, "");
  REQUIRE(compilers.size() == 1);
  CHECK(compilers[0].identity() == testing::compiler().identity());
  CHECK(compilers[0].target() == testing::compiler().target());
  CHECK(noted_compilers(noted.kernels, testing::compiler().target().command).size() == 1);
  CHECK(noted_compilers(noted.kernels, "another-compiler").empty());
  CHECK(noted_compilers(noted.folder.path() / "nothing-here", "").empty());
}

TEST_CASE("noted_compilers: the last used is the first", "[measure]") {
  const Noted noted;
  const Compiler older = Compiler::noted(testing::compiler().target(), "an older one");
  note_compiler(older, noted.kernels);
  CHECK(noted_compilers(noted.kernels, "").at(0).identity() == "an older one");
  noted.cache.require_openmp();
  CHECK(noted_compilers(noted.kernels, "").at(0).identity() == testing::compiler().identity());
}

TEST_CASE("noted_compilers: notes of other processors, and damaged ones, count for nothing", "[measure]") {
  const Noted noted;
  const fs::path file = note_in(noted.kernels);
  auto json = nlohmann::json::parse(read_file(file));
  const auto is_ignored = [&] { return noted_compilers(noted.kernels, "").empty(); };
  json["processor"] = "of another kind";
  write_file_atomically(file, json.dump());
  CHECK(is_ignored());
  write_file_atomically(file, "{torn");
  CHECK(is_ignored());
  noted.cache.require_openmp();
  CHECK_FALSE(is_ignored());
}

TEST_CASE("noted_compilers: a cache that never compiles gives what is there, and nothing else", "[measure]") {
  const Noted noted;
  const Compiler gone = Compiler::noted(testing::compiler().target(), testing::compiler().identity());
  const KernelCache cache(gone, noted.kernels, kernel_cache_limit(), Compiling::kNever);
  const CompiledKernel missing = cache.get(testing::answer(1), 60);
  CHECK_FALSE(missing.ok());
  CHECK_THAT(missing.diagnostic, Catch::Contains("not in the cache"));
  REQUIRE(noted.cache.get(testing::answer(1), 60).ok());
  const CompiledKernel found = cache.get(testing::answer(1), 60);
  CHECK(found.ok());
  CHECK(found.from_cache);
}

TEST_CASE("noted_compilers: kernels are those of the last compiler that made fixed_csr", "[measure]") {
  const Noted noted;
  const matrix::SparseTensor tensor = testing::random_tensor({30, 20}, 100);
  try {
    compiler_of_kernels(tensor, kProblem, "", noted.kernels);
    FAIL("no error");
  } catch (const EnvironmentError& error) {
    CHECK(error.code() == ExitCode::kCompiler);
    CHECK_THAT(error.what(), Catch::Contains("waco-tune --prepare 300 --op spmv"));
  }
  REQUIRE(noted.cache.get(baseline_request(kProblem, tensor.dims, 4), 60).ok());
  note_compiler(Compiler::noted(testing::compiler().target(), "a later one"), noted.kernels);
  CHECK(compiler_of_kernels(tensor, kProblem, "", noted.kernels).identity() ==
        testing::compiler().identity());
}
