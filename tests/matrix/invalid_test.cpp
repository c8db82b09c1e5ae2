// Every file of tests/data/invalid is refused, with one line that names it, the line and the cause.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "../gzipped.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(WACO_TEST_DATA_DIR) / "invalid";

/// What must follow the file's name in the message.
const std::map<std::string, std::string> kExpected = {
    {"array.mtx", ":1: a dense ('array') matrix"},
    {"binary.bin", ":1: binary data"},
    {"binary_with_matrix_name.mtx", ":1: binary data"},
    {"blank_lines_only.mtx", ": the file holds nothing but blank lines"},
    {"bzip2.mtx.bz2", ": is compressed with bzip2; decompress"},
    {"claims_10_gb.mtx", ":3: the file ends after 1 of the 450000000 entries that line 2 declares"},
    {"claims_10_gb.mtx.gz", ":3: the file ends after 1 of the 450000000 entries"},
    {"column_too_large.mtx", ":5: column index 4 is outside of the 3 columns"},
    {"comments_only.tns", ": the file holds no entries"},
    {"complex.mtx", ":1: complex values are not supported"},
    {"complex_entries_called_real.mtx", ":3: '2.0' follows the 3 numbers"},
    {"bad_distance.mtx.gz", ": the gzip file is damaged: invalid distance too far back"},
    {"corrupt.mtx.gz", ": the gzip file is damaged"},
    {"cr_line_ends.mtx", ":1: lines end with a carriage return alone"},
    {"decimal_comma.mtx", ":3: value '1,5' is not a number"},
    {"edge_list.txt", ":1: '1 2' is no nonzero of a tensor, 'I J K VALUE'; an edge list"},
    {"distance_at_end.mtx.gz", ": the gzip file is damaged: invalid distance too far back"},
    {"empty.mtx", ": the file is empty"},
    {"empty.mtx.gz", ": the file is empty"},
    {"garbage_after.mtx.gz", ": the gzip file is damaged"},
    {"gzip_twice.mtx.gz", ": is compressed twice with gzip"},
    {"header_of_dims.tns", ":1: '3' is no nonzero of a tensor"},
    {"hermitian.mtx", ":1: hermitian matrices are complex"},
    {"index_fraction.mtx", ":3: column index '1.5' is not a whole number"},
    {"index_negative.mtx", ":3: column index '-1' is not a whole number"},
    {"index_overflow.mtx", ":3: row index '99999999999999999999' does not fit in 64 bits"},
    {"index_zero.mtx", ":3: row index 0: indices count from 1"},
    {"index_zero.tns", ":1: mode-3 index 0: indices count from 1"},
    {"matlab.mat", ": is a MATLAB file"},
    {"missing_value.mtx", ":4: 2 of 3 numbers: '2 2' is incomplete"},
    {"no_banner.mtx", ":1: expected '%%MatrixMarket"},
    {"no_first_line.mtx", ": looks like a Matrix Market file without its first line"},
    {"nul_bytes_in_body.mtx", ":4: binary data"},
    {"only_gzip_header.mtx.gz", ": the gzip file is cut off"},
    {"order_4.tns", ":1: a tensor of order 4"},
    {"order_changes.tns", ":2: 3 of 4 numbers: '1 2 1.0' is incomplete"},
    {"comment_behind_entry.tns", ":1: '#' follows the 4 numbers of an entry"},
    {"order_grows.tns", ":3: '1.0' follows the 3 numbers"},
    {"page.html", ":1: neither a Matrix Market file"},
    {"pattern_skew_symmetric.mtx", ":1: a pattern has no signs and can't be skew-symmetric"},
    {"pattern_with_value.mtx",
     ":3: '1.0' follows the 2 numbers of an entry; correct the line, or write 'real'"},
    {"row_too_large.mtx", ":3: row index 3 is outside of the 2 rows"},
    {"size_negative.mtx", ":2: expected the size line, 'ROWS COLUMNS ENTRIES', found '2 -2 1'"},
    {"size_overflow.mtx", ":2: '99999999999999999999' does not fit in 64 bits"},
    {"size_two_numbers.mtx", ":2: expected the size line"},
    {"size_zero_rows.mtx", ":2: a 0 x 3 matrix has no elements"},
    {"skew_diagonal.mtx", ":4: a diagonal entry in a skew-symmetric matrix"},
    {"symmetric_both_triangles.mtx", ":1: declared symmetric, yet entries stand on both sides"},
    {"symmetric_not_square.mtx", ":2: a symmetric matrix must be square, not 2 x 3"},
    {"text.txt", ":1: neither a Matrix Market file"},
    {"too_many_entries.mtx", ":5: there are more entries than the size line declares"},
    {"truncated.mtx.gz", ": the gzip file is cut off"},
    {"truncated_banner.mtx", ":1: the first line is incomplete"},
    {"truncated_body.mtx", ":5: the file ends after 3 of the 5 entries that line 2 declares"},
    {"truncated_header.mtx", ":2: the file ends before its size line"},
    {"truncated_line.mtx", ":4: 2 of 3 numbers: '2 2' is incomplete"},
    {"unknown_field.mtx", ":1: unknown field 'quaternion'"},
    {"unknown_format.mtx", ":1: unknown format 'sparse'"},
    {"unknown_symmetry.mtx", ":1: unknown symmetry 'lower'"},
    {"utf16.mtx", ": is UTF-16 text"},
    {"value_double_sign.mtx", ":3: value '+-1' is not a number"},
    {"value_missing.tns", ":2: 3 of 4 numbers: '1 2 3' is incomplete"},
    {"value_not_a_number.mtx", ":3: value '1.0abc' is not a number"},
    {"value_overflow.mtx", ":3: value '1e400' is beyond the largest double"},
    {"value_overflow_fortran.mtx", ":3: value '-1.5D+999' is beyond the largest double"},
    {"vector.mtx", ":1: the file holds a 'vector'"},
    {"wrong_checksum.mtx.gz", ": the gzip file is damaged: incorrect data check"},
    {"xz.mtx.xz", ": is compressed with xz"},
    {"zip.mtx.zip", ": is a zip archive"},
    {"zstd.mtx.zst", ": is compressed with zstd"},
};

/// The message of the InputError that reading throws; "" when it throws none.
std::string refusal(const std::string& path, const ReadOptions& options) {
  try {
    read_tensor(path, options);
  } catch (const InputError& error) {
    CHECK(error.code() == ExitCode::kInput);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("read: every invalid file is refused with its name, line and cause", "[matrix]") {
  const ReadOptions options = GENERATE(ReadOptions{1, size_t{1} << 18}, ReadOptions{2, 1}, ReadOptions{3, 7});
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    CAPTURE(file, options.threads, options.chunk_bytes);
    const std::string message = refusal(entry.path().string(), options);
    REQUIRE(kExpected.contains(file));
    CHECK_THAT(message, Catch::StartsWith(entry.path().string() + kExpected.at(file)));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("read: every expected refusal has its file", "[matrix]") {
  for (const auto& [file, message] : kExpected) {
    CAPTURE(file);
    CHECK(fs::exists(kFolder / file));
  }
}

TEST_CASE("read: a folder is refused by name", "[matrix]") {
  CHECK_THAT(refusal(kFolder.string(), {}), Catch::StartsWith(kFolder.string() + ": is a folder"));
}

TEST_CASE("read: a missing file is refused by name", "[matrix]") {
  CHECK(refusal("/no/such/file.mtx", {}) == "/no/such/file.mtx: can't be opened: No such file or directory");
}

TEST_CASE("read: a line that never ends is refused without reading it all", "[matrix]") {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n%";
  const std::string text = banner + std::string(size_t{64} << 20, 'x') + "\n1 1 0\n";
  CHECK_THROWS_WITH(read_tensor_bytes(text, "long.mtx"),
                    Catch::StartsWith("long.mtx: has a line of more than 1 MB"));
}

TEST_CASE("read: what exceeds a limit or the memory is refused by its size line", "[matrix]") {
  const std::string banner = "%%MatrixMarket matrix coordinate real ";
  std::string body;
  for (int i = 1; i <= 20; ++i) body += std::to_string(i) + " 1 1\n";
  const auto read = [&](const std::string& kind, int64_t most) {
    return read_tensor_bytes(banner + kind + "\n20 20 20\n" + body, "a",
                             {.threads = 2, .most_nonzeros = most});
  };
  CHECK(read("general", 20).tensor.num_nonzeros() == 20);
  CHECK_THROWS_WITH(read("general", 19), Catch::StartsWith("a: has 20 nonzeros or more; at most 19"));
  CHECK(read("symmetric", 39).tensor.num_nonzeros() == 39);
  CHECK_THROWS_AS(read("symmetric", 38), InputError);
  std::string tensor;
  for (int i = 1; i <= 20; ++i) tensor += std::to_string(i) + " 1 1 1\n";
  CHECK_THROWS_AS(read_tensor_bytes(tensor, "a.tns", {.threads = 2, .most_nonzeros = 19}), InputError);

  const TemporaryFolder folder;  // of a terabyte, all of it beyond the size line a hole
  const fs::path huge = folder.path() / "huge.mtx";
  std::ofstream(huge) << banner << "general\n300000 300000 90000000000\n";
  fs::resize_file(huge, uintmax_t{1} << 40);
  CHECK_THROWS_AS(read_tensor(huge.string()), TooLargeError);
  CHECK_THROWS_WITH(read_tensor(huge.string()),
                    Catch::Contains("90000000000 nonzeros or more: reading them takes 3600"));
}

TEST_CASE("read: a stop request ends it", "[matrix]") {
  const ReadOptions stopped{.threads = 2, .stop = StopToken().with_budget(0)};
  const std::string matrix = "%%MatrixMarket matrix coordinate real general\n9 9 1\n1 1 1\n";
  CHECK_THROWS_AS(read_tensor_bytes(matrix, "a", stopped), Stopped);
  CHECK_THROWS_AS(read_tensor_bytes("1 1 1 1\n", "a", stopped), Stopped);
}

TEST_CASE("read: a file of another order than is needed is refused before its entries are read", "[matrix]") {
  const std::string matrix = "%%MatrixMarket matrix coordinate real general\n9 9 1\nnonsense\n";
  const std::string tensor = "1 1 1 1\nnonsense\n";
  CHECK_THROWS_AS(read_tensor_bytes(matrix, "a", {.order = 3}), UsageError);
  CHECK_THROWS_WITH(read_tensor_bytes(matrix, "a", {.order = 3}),
                    "a is a matrix, and what is asked for needs a 3-D tensor");
  CHECK_THROWS_WITH(read_tensor_bytes(tensor, "b", {.order = 2}),
                    "b is a 3-D tensor, and what is asked for needs a matrix");
  CHECK_THROWS_AS(read_tensor_bytes(matrix, "a", {.order = 2}), InputError);
  CHECK_THROWS_AS(read_tensor_bytes(tensor, "b", {.order = 3}), InputError);
}

TEST_CASE("read: the first fault is reported, whatever the number of threads", "[matrix]") {
  std::string text = "%%MatrixMarket matrix coordinate real general\n10 10 2000\n";
  for (int i = 0; i < 2000; ++i) text += i == 700 || i == 1500 ? "11 1 1\n" : "1 1 1\n";
  for (const int threads : {1, 2, 4}) {
    CHECK_THROWS_WITH(read_tensor_bytes(text, "a", {threads, 64}), Catch::StartsWith("a:703: row index 11"));
  }
}

TEST_CASE("read: damage of a gzip file is reported as such even where the text is faulty first", "[matrix]") {
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 50001\n";
  for (int i = 0; i < 50000; ++i) text += "1 1 " + std::to_string(i) + "\n";
  std::string faulty = gzipped(text + "x\n");
  CHECK_THROWS_WITH(read_tensor_bytes(faulty, "a.gz", {1, 100}), Catch::StartsWith("a.gz:50003:"));
  faulty[faulty.size() - 5] = static_cast<char>(faulty[faulty.size() - 5] ^ 1);
  CHECK_THROWS_WITH(read_tensor_bytes(faulty, "a.gz", {1, 100}), Catch::Contains("gzip file is damaged"));
}
