// JSON Lines: what is forgiven, what is refused, and how files are continued.
#include "waco/base/line_reader.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "../gzipped.hpp"
#include "waco/base/files.hpp"
#include "waco/base/line_appender.hpp"

using namespace waco;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Read {
  std::vector<json> documents;
  std::vector<int64_t> numbers;
  LinesFound found;
};

Read read(const fs::path& file) {
  Read result;
  result.found = read_json_lines(file, "a test", [&](const JsonLine& line) {
    result.documents.push_back(line.document);
    result.numbers.push_back(line.number);
  });
  return result;
}

/// A file in a folder of its own.
class File {
 public:
  explicit File(const std::string& content) : path_(folder_.path() / "lines.jsonl") {
    std::ofstream(path_, std::ios::binary) << content;
  }
  const fs::path& path() const { return path_; }
  std::string content() const { return read_file(path_); }

 private:
  TemporaryFolder folder_;
  fs::path path_;
};

/// Reads the file, then appends {"n":9} to it.
void continue_file(const fs::path& file) {
  LineAppender lines(file);
  lines.continue_after(read(file).found);
  lines.append({{"n", 9}});
}

}  // namespace

TEST_CASE("line_reader: documents come in order with their numbers and blank lines are passed over",
          "[base]") {
  const File file("{\"n\":1}\n\n \t\r\n{\"n\":2}\r\n");
  const Read lines = read(file.path());
  CHECK(lines.documents == std::vector<json>{{{"n", 1}}, {{"n", 2}}});
  CHECK(lines.numbers == std::vector<int64_t>{1, 4});
  CHECK(lines.found.valid_bytes == static_cast<int64_t>(file.content().size()));
  CHECK_FALSE(lines.found.torn);
  CHECK(read(File("").path()).documents.empty());
}

TEST_CASE("line_reader: a torn last line is left out, and cut off when the file is continued", "[base]") {
  const std::string whole = "{\"n\":1}\n";
  for (const std::string& torn : {std::string("{\"n\":"), std::string("{"), std::string(9, '\0') + "\n"}) {
    const File file(whole + torn);
    const Read lines = read(file.path());
    CHECK(lines.documents.size() == 1);
    CHECK(lines.found.torn);
    CHECK(lines.found.valid_bytes == static_cast<int64_t>(whole.size()));
    continue_file(file.path());
    CHECK(file.content() == whole + "{\"n\":9}\n");
  }
  const File first("{\"n\":");  // the run was killed in its first line
  CHECK(read(first.path()).found.torn);
  continue_file(first.path());
  CHECK(first.content() == "{\"n\":9}\n");
}

TEST_CASE("line_reader: a last line that lacks only its newline counts, and gets it", "[base]") {
  const File file("{\"n\":1}\n{\"n\":2}");
  CHECK(read(file.path()).documents.size() == 2);
  continue_file(file.path());
  CHECK(file.content() == "{\"n\":1}\n{\"n\":2}\n{\"n\":9}\n");
}

TEST_CASE("line_reader: any other damage names file and line, and nothing is touched", "[base]") {
  CHECK_THROWS_WITH(read(File("{\"n\":1}\n{\"n\n{\"n\":2}\n").path()),
                    Catch::Contains("lines.jsonl:2: is not a test: it is no JSON"));
  for (const char* text : {"hello\n", "hello", "{hello\n", "%%MatrixMarket\n1 1 1\n"}) {
    const File file(text);
    CHECK_THROWS_WITH(continue_file(file.path()), Catch::Contains("lines.jsonl:1: "));
    CHECK_THROWS_AS(read(file.path()), InputError);
    CHECK(file.content() == text);
  }
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read(folder.path()), InputError);
  CHECK_THROWS_AS(read(folder.path() / "missing"), InputError);
  CHECK_THROWS_WITH(read("-"), Catch::Contains("stdin"));
}

TEST_CASE("line_reader: what a document lacks or should not have is refused by its line", "[base]") {
  const File file("{\"n\":1}\n{\"m\":2}\n");
  const auto numbers = [&](auto parse) {
    read_json_lines(file.path(), "a number", [&](const JsonLine& line) { line.as(parse); });
  };
  CHECK_THROWS_WITH(numbers([](const json& line) { return line.at("n").get<int>(); }),
                    Catch::Contains("lines.jsonl:2: is not a number: "));
  CHECK_THROWS_WITH(numbers([](const json&) -> int { throw UsageError("too small"); }),
                    Catch::EndsWith("lines.jsonl:1: is not a number: too small"));
}

TEST_CASE("line_reader: gzipped files of several members are read, torn ones as far as they go", "[base]") {
  const std::string lines = "{\"n\":1}\n{\"n\":2}\n";
  const File file(gzipped(lines) + gzipped("{\"n\":3}\n"));
  const Read all = read(file.path());
  CHECK(all.documents.size() == 3);
  CHECK(all.found.gzipped);
  std::string noise;  // what packs badly, so that a cut falls into it
  for (int n = 0; n < 4000; ++n) noise += static_cast<char>('a' + (n * n * 31 + n / 7) % 26);
  const std::string packed = gzipped(lines + "{\"n\":\"" + noise + "\"}\n");
  const Read torn = read(File(packed.substr(0, packed.size() - 20)).path());
  CHECK(torn.documents.size() == 2);
  CHECK(torn.found.torn);
}

TEST_CASE("line_reader: what was appended to a gzipped file without packing it is not passed over",
          "[base]") {
  const std::string line = "{\"n\":1}\n";
  CHECK_THROWS_WITH(read(File(gzipped(line) + line).path()), Catch::Contains("gzip file is damaged"));
}

TEST_CASE("line_appender: gzipped files are neither made nor continued", "[base]") {
  const File file(gzipped("{\"n\":1}\n"));
  const std::string before = file.content();
  CHECK_THROWS_WITH(continue_file(file.path()), Catch::Contains("gunzip"));
  CHECK(file.content() == before);
  const fs::path named = file.path().parent_path() / "new.jsonl.gz";
  CHECK_THROWS_AS(LineAppender(named), UsageError);
  CHECK_FALSE(fs::exists(named));
}

TEST_CASE("line_appender: streams, which have no end to continue at, are refused", "[base]") {
  const TemporaryFolder folder;
  const fs::path fifo = folder.path() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const fs::path& stream : {fifo, fs::path("/dev/stdout"), fs::path("-")})
    CHECK_THROWS_AS(LineAppender(stream), UsageError);
  CHECK_FALSE(fs::exists("-"));
}
