// The reader of lines and blocks, and the sources below it.
#include "waco/matrix/text_reader.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace waco;
using namespace waco::matrix;

namespace {

/// Gives one byte at a time.
class SlowSource : public ByteSource {
 public:
  explicit SlowSource(std::string_view content) : memory_(content) {}
  size_t read(char* to, size_t size) override { return memory_.read(to, size > 0 ? 1 : 0); }

 private:
  MemorySource memory_;
};

std::vector<std::string> all_lines(TextReader& reader) {
  std::vector<std::string> lines;
  while (const auto line = reader.next_line()) lines.emplace_back(*line);
  return lines;
}

}  // namespace

TEST_CASE("text_reader: blocks joined are the text, whatever their size", "[matrix]") {
  const std::string text = "first\n\nthird line\nx\n" + std::string(50, 'y') + "\nlast without end";
  for (const size_t block_bytes : {1, 2, 7, 64, 1000}) {
    for (const bool read_ahead : {false, true}) {
      CAPTURE(block_bytes, read_ahead);
      SlowSource source(text);
      TextReader reader("t", source, block_bytes, read_ahead);
      std::string joined;
      for (auto block = reader.next_block(); !block.empty(); block = reader.next_block()) {
        CHECK(block.back() == '\n');
        joined += block;
      }
      CHECK(joined == text + '\n');
      CHECK(reader.next_block().empty());
    }
  }
}

TEST_CASE("text_reader: lines come without their ends, counted, and can be read again", "[matrix]") {
  MemorySource source("a\r\nb\n\nc");
  TextReader reader("t", source, 3, true);
  CHECK(reader.next_line() == "a");
  CHECK(reader.next_line() == "b");
  CHECK(reader.line_number() == 2);
  reader.unread_line();
  CHECK(reader.line_number() == 1);
  CHECK(reader.next_line() == "b");
  CHECK(reader.next_line() == "");
  CHECK(reader.next_line() == "c");
  CHECK(reader.line_number() == 4);
  CHECK_FALSE(reader.next_line().has_value());
}

TEST_CASE("text_reader: lines, then blocks, hand out everything once", "[matrix]") {
  MemorySource source("1\n2\n3\n4\n");
  TextReader reader("t", source, 4, false);
  CHECK(reader.next_line() == "1");
  std::string rest;
  for (auto block = reader.next_block(); !block.empty(); block = reader.next_block()) rest += block;
  CHECK(rest == "2\n3\n4\n");
}

TEST_CASE("text_reader: pieces joined are the text, whatever their size", "[matrix]") {
  const std::string text = "first\n\nthird line\nx\n" + std::string(50, 'y') + "\nlast without end";
  for (const size_t bytes : {1, 2, 7, 64, 1000}) {
    for (const bool read_ahead : {false, true}) {
      CAPTURE(bytes, read_ahead);
      SlowSource source(text);
      TextReader reader("t", source, 8, read_ahead);
      CHECK(reader.next_line() == "first");
      TextPiece pieces[2];
      std::string joined;
      for (int i = 0; !reader.next_piece(pieces[i % 2], bytes).empty(); ++i) joined += pieces[i % 2].text();
      CHECK("first\n" + joined == text + '\n');
      CHECK(reader.next_piece(pieces[0], bytes).empty());
    }
  }
}

TEST_CASE("text_reader: an empty source has no lines", "[matrix]") {
  MemorySource source("");
  TextReader reader("t", source, 16, true);
  CHECK(all_lines(reader).empty());
}

TEST_CASE("byte_source: the size of a file is known, that of one the kernel makes is not", "[matrix]") {
  CHECK(FileSource(WACO_TEST_DATA_DIR "/valid/crlf.mtx").num_bytes() > 0);
  CHECK(FileSource("/proc/self/status").num_bytes() == -1);
}

TEST_CASE("byte_source: what was looked at is replayed", "[matrix]") {
  MemorySource rest("cdef");
  ReplaySource source("ab", rest);
  CHECK(read_up_to(source, 3) == "abc");
  CHECK(read_up_to(source, 100) == "def");
  CHECK(read_up_to(source, 1).empty());
}
