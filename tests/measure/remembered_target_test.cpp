// What compilers said is kept for a day, and not for wrapper scripts.
#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "small_kernels.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/measure/compiler.hpp"

using namespace waco;
using namespace waco::measure;
namespace fs = std::filesystem;

namespace {

/// A cache folder of its own for as long as it lives.
struct OwnCache {
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(folder.path() / "waco"))
      if (entry.path().filename().string().starts_with("target-")) found.push_back(entry.path());
    return found;
  }
  TemporaryFolder folder;
  ScopedVariable variable{"XDG_CACHE_HOME", folder.path()};
};

}  // namespace

TEST_CASE("remembered_target: a compiler is asked once a day", "[measure]") {
  const OwnCache cache;
  const CompilerTarget asked = compiler_target("g++");
  CHECK(remembered_target("g++") == asked);
  REQUIRE(cache.files().size() == 1);
  const fs::path file = cache.files()[0];
  auto json = nlohmann::json::parse(read_file(file));
  json["target"]["compiler"] = "as remembered";
  write_file_atomically(file, json.dump());
  CHECK(remembered_target("g++").version == "as remembered");
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(25));
  CHECK(remembered_target("g++") == asked);
  write_file_atomically(file, "{torn");
  CHECK(remembered_target("g++") == asked);
}

TEST_CASE("remembered_target: scripts around compilers are always asked", "[measure]") {
  const OwnCache cache;
  const testing::CompilerScript script("my-c++", "exec g++ \"$@\"");
  CHECK(remembered_target("my-c++").fingerprint == compiler_target("g++").fingerprint);
  fs::create_directories(cache.folder.path() / "waco");
  CHECK(cache.files().empty());
}

TEST_CASE("remembered_target: a compiler that is not there is an error", "[measure]") {
  const OwnCache cache;
  CHECK_THROWS_AS(remembered_target("/no/such/compiler"), EnvironmentError);
}
