// Files in memory: all kinds, and what happens to them meanwhile.
#include "waco/base/mapped_file.hpp"

#include <catch2/catch.hpp>
#include <memory>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using waco::MappedFile;
using waco::TemporaryFolder;

TEST_CASE("mapped_file: the content is that of the file, whatever its size", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  for (const size_t size : {0, 1, 4095, 4096, 4097, 100000}) {
    std::string content(size, 'x');
    if (size > 0) content.back() = 'y';
    waco::write_file_atomically(file, content);
    const MappedFile mapped(file);
    CHECK(mapped.content() == content);
    CHECK(reinterpret_cast<uintptr_t>(mapped.content().data()) % 8 == 0);
  }
  CHECK(MappedFile().content().empty());
}

TEST_CASE("mapped_file: a file that is replaced or removed keeps its content for who opened it", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  const std::string content(50000, 'a');
  waco::write_file_atomically(file, content);
  auto mapped = std::make_unique<MappedFile>(file);
  const MappedFile copy = *mapped;
  mapped.reset();
  waco::write_file_atomically(file, "b");
  CHECK(copy.content() == content);
  std::filesystem::remove(file);
  CHECK(copy.content() == content);
}

TEST_CASE("mapped_file: what can't be mapped is read", "[base]") {
  const MappedFile version("/proc/version");
  CHECK(version.content() == waco::read_file("/proc/version"));
  CHECK(version.content().starts_with("Linux"));
}

TEST_CASE("mapped_file: one that can't be read is an error that names it", "[base]") {
  const TemporaryFolder folder;
  const auto absent = folder.path() / "absent";
  CHECK_THROWS_WITH(MappedFile(absent), Catch::Contains(absent.string()));
  CHECK_THROWS_AS(MappedFile(absent), waco::EnvironmentError);
  CHECK_THROWS_AS(MappedFile(folder.path()), waco::EnvironmentError);
}
