// Inflating: streamed, several members, and errors that name the file.
#include "waco/matrix/gzip.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

#include "waco/base/error.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

std::string compressed(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string result(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string inflated(const std::string& bytes) {
  MemorySource source(bytes);
  GzipSource gzip("a.gz", source);
  std::string text;
  for (std::string part = read_up_to(gzip, 777); !part.empty(); part = read_up_to(gzip, 777)) text += part;
  return text;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919 % 100003) + '\n';
  return text;
}

}  // namespace

TEST_CASE("gzip: long data, several members and zero padding come out whole", "[matrix]") {
  const std::string text = long_text();
  CHECK(inflated(compressed(text)) == text);
  CHECK(inflated(compressed(text) + compressed("") + compressed("end") + std::string(1000, '\0')) ==
        text + "end");
  CHECK(inflated(compressed("")).empty());
}

TEST_CASE("gzip: data cut off anywhere is an input error", "[matrix]") {
  const std::string bytes = compressed("some text that is not so short");
  for (size_t size = 2; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(inflated(bytes.substr(0, size)), InputError);
  }
}

TEST_CASE("gzip: damage is reported as such even where the text is faulty first", "[matrix]") {
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 50001\n";
  for (int i = 0; i < 50000; ++i) text += "1 1 " + std::to_string(i) + "\n";
  std::string faulty = compressed(text + "x\n");
  CHECK_THROWS_WITH(read_tensor_bytes(faulty, "a.gz", {1, 100}), Catch::StartsWith("a.gz:50003:"));
  faulty[faulty.size() - 5] = static_cast<char>(faulty[faulty.size() - 5] ^ 1);
  CHECK_THROWS_WITH(read_tensor_bytes(faulty, "a.gz", {1, 100}), Catch::Contains("gzip file is damaged"));
}
