// Archives: the member that is wanted, and errors that name the file.
#include "waco/base/tar.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "../tarred.hpp"
#include "waco/base/error.hpp"

using namespace waco;

namespace {

std::string member_of(const std::string& archive, const std::string& path, size_t step = 777) {
  MemorySource source(archive);
  TarMember member(
      "a.tar", source, [&](std::string_view at) { return at == path; }, "holds no " + path);
  std::string content;
  for (std::string part = read_up_to(member, step); !part.empty(); part = read_up_to(member, step))
    content += part;
  CHECK(static_cast<int64_t>(content.size()) == member.num_bytes());
  CHECK(read_up_to(source, 1).empty());  // all of the archive has been read
  return content;
}

}  // namespace

TEST_CASE("tar: the wanted member is read, whatever stands before and behind it", "[tar]") {
  const std::string big(100'000, 'x');
  const std::string archive = tar_member("b/", "", '5') + tar_member("b/other", big) +
                              tar_member("b/wanted", "text\n") + tar_member("b/empty", "") +
                              tar_member("b/full", std::string(512, 'y')) + tar_end();
  CHECK(is_tar(archive.substr(0, 512)));
  CHECK(member_of(archive, "b/wanted") == "text\n");
  CHECK(member_of(archive, "b/full") == std::string(512, 'y'));
  CHECK(member_of(archive, "b/other", 13) == big);
  CHECK_THROWS_WITH(member_of(archive, "b/"), "a.tar: holds no b/");  // a folder has no content
  CHECK_THROWS_WITH(member_of(archive, "b/missing"), "a.tar: holds no b/missing");
}

TEST_CASE("tar: sizes of 8 GB and more are a binary number", "[tar]") {
  std::string member = tar_member("a", "hello");
  member.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\x05", 12));
  CHECK(member_of(with_checksum(member) + tar_end(), "a") == "hello");
  member.replace(124, 12, std::string("\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12));
  CHECK_THROWS_WITH(member_of(with_checksum(member), "b"), Catch::Contains("is damaged"));
}

TEST_CASE("tar: long paths are in two fields", "[tar]") {
  const std::string folder = "some/folder";
  const std::string member = tar_member("name", "hello").replace(345, folder.size(), folder);
  CHECK(member_of(with_checksum(member) + tar_end(), "some/folder/name") == "hello");
}

TEST_CASE("tar: what is cut off or damaged is told", "[tar]") {
  const std::string archive =
      tar_member("first", std::string(2000, 'x')) + tar_member("a", "hello") + tar_end();
  for (const size_t size : {600, 2560, 2561, 2600, 3000, 3072, 3075})
    CHECK_THROWS_WITH(member_of(archive.substr(0, size), "a"),
                      Catch::Contains(size == 2560 ? "holds no a" : "cut off"));
  std::string damaged = archive;
  damaged[2560] = 'b';
  CHECK_THROWS_WITH(member_of(damaged, "a"), Catch::Contains("a.tar: the tar archive is damaged"));
  CHECK_FALSE(is_tar(damaged.substr(2560, 512)));
  CHECK_FALSE(is_tar("%%MatrixMarket"));
}

TEST_CASE("tar: longer paths are in a member before, as GNU and pax have it", "[tar]") {
  const std::string path = "some/" + std::string(200, 'f') + "/name";
  const std::string member = tar_member(path.substr(0, 100), "hello"), other = tar_member("b", "other");
  const std::string gnu = tar_member("././@LongLink", path + '\0', 'L');
  CHECK(member_of(gnu + member + other + tar_end(), path) == "hello");
  CHECK(member_of(gnu + other + member + tar_end(), path.substr(0, 100)) == "hello");  // of the next alone
  const std::string record = " path=" + path + "\n";
  const std::string size = std::to_string(record.size() + 3);
  REQUIRE(size.size() == 3);
  const std::string pax = tar_member("PaxHeaders/name", "20 mtime=1700000000\n" + size + record, 'x');
  CHECK(member_of(pax + member + other + tar_end(), path) == "hello");
  CHECK(member_of(pax + member + other + tar_end(), "b") == "other");
  // 8 GB and more: the header has no room for the size.
  std::string large = tar_member("large", "hello").replace(124, 12, "00000000000\0", 12);
  large = tar_member("PaxHeaders/large", "10 size=5\n", 'x') + with_checksum(large);
  CHECK(member_of(large + other + tar_end(), "large") == "hello");
  CHECK(member_of(large + other + tar_end(), "b") == "other");
  const std::string broken = tar_member("PaxHeaders/name", "9999999 path=a\n", 'x');
  CHECK(member_of(broken + other + tar_end(), "b") == "other");
  CHECK_THROWS_WITH(member_of(gnu.substr(0, 600), path), Catch::Contains("cut off"));
}
