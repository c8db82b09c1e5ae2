// Inputs that can't be read, and whose fault that is.
#include "waco/base/byte_source.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

using namespace waco;

TEST_CASE("byte source: a file that is not there, or a folder, is a fault of the input", "[base]") {
  const TemporaryFolder folder;
  const std::string absent = (folder.path() / "absent").string();
  CHECK_THROWS_AS(FileSource(absent), InputError);
  CHECK_THROWS_WITH(FileSource(absent), Catch::Contains(absent));
  CHECK_THROWS_AS(FileSource(folder.path().string()), InputError);
}

TEST_CASE("byte source: a file system that fails is no fault of the input", "[base]") {
  FileSource memory("/proc/self/mem");  // may be opened, and reading its start is an I/O error
  std::array<char, 16> bytes{};
  CHECK_THROWS_AS(memory.read(bytes.data(), bytes.size()), EnvironmentError);
  CHECK_THROWS_WITH(memory.read(bytes.data(), bytes.size()),
                    Catch::Contains("/proc/self/mem: can't be read"));
}
