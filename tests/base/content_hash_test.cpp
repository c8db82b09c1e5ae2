// Hashes see every byte, its place and the length.
#include "waco/base/content_hash.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace waco;

TEST_CASE("content_hash: the content hash sees every byte, its place and the length", "[base]") {
  std::set<std::string> hashes;
  for (const char* text : {"", "a", "b", "ab", "ba", "aa", "aaa"}) hashes.insert(content_hash(text));
  hashes.insert(content_hash(std::string(1, '\0')));
  hashes.insert(content_hash(std::string(2, '\0')));
  CHECK(hashes.size() == 9);
  CHECK(content_hash("abc") == content_hash("abc"));
  CHECK(content_hash("abc").size() == 32);
}

TEST_CASE("content_hash: the fast hash tells contents apart", "[base]") {
  std::set<std::string> seen;
  for (const size_t size : {0, 1, 7, 63, 64, 65, 200, 100000}) {
    std::string content(size, 'a');
    CHECK(fast_content_hash(content) == fast_content_hash(std::string(size, 'a')));
    CHECK(seen.insert(fast_content_hash(content)).second);
    CHECK(seen.insert(fast_content_hash(content + std::string(1, '\0'))).second);
    for (size_t at = 0; at < size; at += 1 + size / 9) {
      std::string flipped = content;
      flipped[at] ^= 1;
      CHECK(seen.insert(fast_content_hash(flipped)).second);
    }
  }
}

TEST_CASE("content_hash: the form of a hash says which it is", "[base]") {
  const std::string content = "of a file";
  CHECK(has_hash(content, content_hash(content)));
  CHECK(has_hash(content, fast_content_hash(content)));
  CHECK_FALSE(has_hash(content + "s", content_hash(content)));
  CHECK_FALSE(has_hash(content + "s", fast_content_hash(content)));
  CHECK_FALSE(has_hash(content, fast_content_hash(content).substr(2)));
  CHECK_FALSE(has_hash(content, ""));
}
