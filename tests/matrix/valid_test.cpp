// Every file of tests/data/valid gives exactly the tensor spelled out here, in pieces of any size.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "matrix_check.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(WACO_TEST_DATA_DIR) / "valid";

const std::map<std::string, std::string> kExpected = {
    {"banner_in_capitals.mtx", "2x2: (1,0)=5"},
    {"blank_lines_and_comments_anywhere.mtx", "2x2: (0,0)=1 (1,1)=2"},
    {"byte_order_mark.mtx", "1x1: (0,0)=2"},
    {"crlf.mtx", "2x2: (0,0)=1.5 (1,1)=-2.5"},
    {"empty_rows.mtx", "5x4: (1,3)=1 (3,0)=2"},
    {"exact_rounding.mtx",
     "1x6: (0,0)=0.1 (0,1)=9007199254740992 (0,2)=1.7976931348623157e+308 (0,3)=2.225073858507201e-308 "
     "(0,4)=1.2345678901234568e+29 (0,5)=0.30000000000000004"},
    {"explicit_zeros.mtx", "2x2: (0,0)=0 (1,0)=-0"},
    {"fortran_values.mtx",
     "1x9: (0,0)=1000 (0,1)=0.001 (0,2)=1.5 (0,3)=0.5 (0,4)=5 (0,5)=-25 (0,6)=1e-100 (0,7)=1000 (0,8)=12.5"},
    {"integer.mtx", "2x2: (0,0)=-7 (1,1)=9007199254740992"},
    {"named_as_matrix.mtx", "1x2x3: (0,1,2)=4.5"},
    {"named_as_tensor.tns", "1x1: (0,0)=3"},
    {"no_entries.mtx", "3x4:"},
    {"no_entries_no_newline.mtx", "3x4:"},
    {"no_newline_at_end.mtx", "2x2: (0,0)=1 (1,1)=2"},
    {"not_finite.mtx", "1x4: (0,0)=inf (0,1)=-inf (0,2)=nan (0,3)=1"},
    {"one_column.mtx", "6x1: (1,0)=1 (5,0)=3"},
    {"one_row.mtx", "1x6: (0,0)=1 (0,2)=2 (0,5)=3"},
    {"order_2.tns", "2x3: (0,0)=1 (1,2)=5"},
    {"order_3.tns", "2x4x3: (0,0,0)=-1 (0,3,0)=2 (1,0,2)=2.5"},
    {"pattern.mtx", "2x3: (0,0)=1 (1,0)=1 (1,2)=1"},
    {"pattern_symmetric.mtx", "3x3: (0,1)=1 (1,0)=1 (2,2)=1"},
    {"skew_symmetric.mtx", "3x3: (0,1)=-2 (1,0)=2 (1,2)=3 (2,1)=-3"},
    {"symmetric_lower.mtx", "3x3: (0,0)=1 (0,1)=2 (0,2)=3 (1,0)=2 (2,0)=3 (2,2)=4"},
    {"symmetric_upper.mtx", "3x3: (0,0)=1 (0,1)=2 (0,2)=3 (1,0)=2 (2,0)=3 (2,2)=4"},
    {"tabs_and_spaces.mtx", "2x2: (0,0)=1 (1,1)=2"},
    {"two_gzip_members.mtx", "2x2: (0,0)=1 (1,1)=2"},
    {"underflow.mtx", "1x3: (0,0)=0 (0,1)=-0 (0,2)=5e-324"},
    {"unsorted_with_duplicates.mtx", "3x3: (0,0)=4 (0,1)=2 (2,0)=111"},
    {"wide_index.mtx", "9223372036854775807x3: (0,0)=2 (9223372036854775806,2)=1"},
};

std::vector<std::string> notes_of(const std::string& file) {
  return read_tensor((kFolder / file).string()).notes;
}

}  // namespace

TEST_CASE("read: every valid oddity gives the exact tensor", "[matrix]") {
  const ReadOptions options = GENERATE(ReadOptions{1, size_t{1} << 18}, ReadOptions{2, 1}, ReadOptions{3, 5});
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    CAPTURE(file, options.threads, options.chunk_bytes);
    REQUIRE(kExpected.contains(file));
    const SparseTensor tensor = read_tensor(entry.path().string(), options).tensor;
    CHECK(to_string(tensor) == kExpected.at(file));
    CHECK(is_valid(tensor));
  }
}

TEST_CASE("read: every expected tensor has its file", "[matrix]") {
  for (const auto& [file, text] : kExpected) {
    CAPTURE(file);
    CHECK(fs::exists(kFolder / file));
  }
}

TEST_CASE("read: what was done to the content is noted", "[matrix]") {
  using Notes = std::vector<std::string>;
  CHECK(notes_of("unsorted_with_duplicates.mtx") == Notes{"2 duplicate entries were summed"});
  CHECK(notes_of("order_3.tns") == Notes{"1 duplicate entry was summed"});
  CHECK(notes_of("symmetric_lower.mtx") == Notes{"symmetric: 4 entries expanded to 6"});
  CHECK(notes_of("skew_symmetric.mtx") == Notes{"skew-symmetric: 2 entries expanded to 4"});
  CHECK(notes_of("pattern.mtx") == Notes{"pattern: every value is 1"});
  CHECK(notes_of("not_finite.mtx") == Notes{"3 values are infinite or not a number"});
  CHECK(notes_of("exact_rounding.mtx") == Notes{"1 value is too large for f32"});
  CHECK(notes_of("crlf.mtx").empty());
}

TEST_CASE("read: duplicates of a symmetric file are counted by its lines", "[matrix]") {
  const std::string entries = "\n2 1 1\n2 1 1\n3 3 1\n3 3 1\n3 3 1\n3 1 1\n";
  for (const char* rows : {"3", "5000000000"}) {
    const std::string text =
        std::string("%%MatrixMarket matrix coordinate real symmetric\n") + rows + " " + rows + " 6" + entries;
    CHECK(read_tensor_bytes(text, "a").notes.back() == "3 duplicate entries were summed");
  }
}

TEST_CASE("read: the diagonal of a symmetric file is summed whichever triangles are given", "[matrix]") {
  const std::string first = "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n1 1 2\n";
  CHECK(to_string(read_tensor_bytes(first + "2 1 5\n1 3 7\n", "a").tensor) ==
        "3x3: (0,0)=3 (0,1)=5 (0,2)=7 (1,0)=5 (2,0)=7");
  CHECK_THROWS_AS(read_tensor_bytes(first + "2 1 5\n1 2 5\n", "a"), InputError);
}

TEST_CASE("read: a zero may stand on the diagonal of a skew-symmetric file, and stays", "[matrix]") {
  const std::string first = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n";
  CHECK(to_string(read_tensor_bytes(first + "2 2 0\n", "a").tensor) == "2x2: (0,1)=-1 (1,0)=1 (1,1)=0");
  CHECK_THROWS_WITH(read_tensor_bytes(first + "1 1 0\n2 2 0\n", "a"), Catch::Contains("more entries"));
  CHECK_THROWS_WITH(read_tensor_bytes(first + "2 2 1e-300\n", "a"), Catch::Contains("a diagonal entry"));
}

TEST_CASE("read: a .tns is no Matrix Market file without its first line, whatever it begins with",
          "[matrix]") {
  CHECK(to_string(read_tensor_bytes("3 3 1\n1 2 5\n", "a.tns").tensor) == "3x3: (0,1)=5 (2,2)=1");
  CHECK_THROWS_AS(read_tensor_bytes("3 3 1\n1 2 5\n", "a.mtx"), InputError);
}

TEST_CASE("read: bytes in memory give what the file gives", "[matrix]") {
  for (const char* file : {"two_gzip_members.mtx", "order_3.tns", "byte_order_mark.mtx"}) {
    const fs::path path = kFolder / file;
    CHECK(to_string(read_tensor_bytes(read_file(path), "x").tensor) == kExpected.at(file));
  }
}

TEST_CASE("read: the name of a tensor is its file's, without folder and known extensions", "[matrix]") {
  CHECK(tensor_name("/a.b/cant.mtx") == "cant");
  CHECK(tensor_name("cant.mtx.gz") == "cant");
  CHECK(tensor_name("dlmc_0.7.tns.gz") == "dlmc_0.7");
  CHECK(tensor_name("dlmc_0.7") == "dlmc_0.7");
  CHECK(tensor_name("-") == "stdin");
  CHECK(tensor_name("cant.tar.gz") == "cant");
  CHECK(tensor_name("cant.tgz") == "cant");
}
