// Weights survive a round trip, and files that lie about themselves are refused.
#include "waco/model/learned/tensor_file.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using waco::InputError;
using waco::model::TensorFile;

namespace {

/// A file of the layout with any header and data.
std::string file_of(const std::string& header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string content(8, '\0');
  std::memcpy(content.data(), &length, 8);
  return content + header + std::string(data_bytes, '\1');
}

class WeightsFile {
 public:
  std::filesystem::path put(const std::string& content) {
    waco::write_file_atomically(file, content);
    return file;
  }
  waco::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "weights.safetensors";
};

TensorFile sample() {
  TensorFile tensors;
  tensors.set("b.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f});
  tensors.set("a", {1}, {std::numeric_limits<float>::denorm_min()});
  tensors.set("none", {0, 4}, {});
  tensors.set("scalar", {}, {7});
  return tensors;
}

}  // namespace

TEST_CASE("tensor_file: tensors are read back bit by bit", "[model]") {
  WeightsFile folder;
  const TensorFile written = sample();
  written.write(folder.file);
  const TensorFile read = TensorFile::read(folder.file);
  REQUIRE(read.tensors().size() == 4);
  for (const auto& [name, tensor] : written.tensors()) {
    INFO(name);
    const auto& back = read.get(name, tensor.shape);
    REQUIRE(back.data.size() == tensor.data.size());
    if (!tensor.data.empty())
      CHECK(std::memcmp(back.data.data(), tensor.data.data(), tensor.data.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("tensor_file: equal tensors give equal bytes, in whatever order they came", "[model]") {
  WeightsFile folder;
  sample().write(folder.file);
  const std::string first = waco::read_file(folder.file);
  TensorFile other;
  other.set("scalar", {}, {7});
  other.set("none", {0, 4}, {});
  other.set("a", {1}, {std::numeric_limits<float>::denorm_min()});
  other.set("b.weight", {2, 3}, {1, 2, 3, 4, 5, -0.0f});
  other.write(folder.file);
  CHECK(waco::read_file(folder.file) == first);
}

TEST_CASE("tensor_file: a file cut anywhere is refused", "[model]") {
  WeightsFile folder;
  sample().write(folder.file);
  const std::string whole = waco::read_file(folder.file);
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_THROWS_AS(TensorFile::read(folder.put(whole.substr(0, size))), InputError);
  }
  CHECK_THROWS_AS(TensorFile::read(folder.put(whole + "x")), InputError);
}

TEST_CASE("tensor_file: headers that lie are refused", "[model]") {
  WeightsFile folder;
  const auto entry = [](const char* dtype, const char* shape, const char* offsets) {
    return std::string("{\"t\": {\"dtype\": \"") + dtype + "\", \"shape\": " + shape +
           ", \"data_offsets\": " + offsets + "}}";
  };
  REQUIRE_NOTHROW(TensorFile::read(folder.put(file_of(entry("F32", "[2]", "[0, 8]"), 8))));
  for (const std::string& header : {
           entry("F64", "[1]", "[0, 8]"),
           entry("F32", "[2]", "[0, 4]"),
           entry("F32", "[2]", "[8, 0]"),
           entry("F32", "[2]", "[8, 16]"),
           entry("F32", "[2]", "[-8, 0]"),
           entry("F32", "[-2]", "[0, 8]"),
           entry("F32", "[2.5]", "[0, 8]"),
           entry("F32", "[2]", "[0, 8, 8]"),
           entry("F32", "[2]", "8"),
           entry("F32", "2", "[0, 8]"),
           entry("F32", "[4611686018427387904, 4611686018427387904]", "[0, 8]"),
           entry("F32", "[4611686018427387904]", "[0, 0]"),
           entry("F32", "[2305843009213693953]", "[0, 8]"),
           std::string("{\"t\": {\"shape\": [2], \"data_offsets\": [0, 8]}}"),
           std::string("{\"t\": 5}"),
           std::string("[1]"),
           std::string("{\"t\": "),
           std::string("{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}, "
                       "\"b\": {\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"),
           std::string("{\"a\": {\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}"),
           std::string("{}"),
       }) {
    INFO(header);
    CHECK_THROWS_AS(TensorFile::read(folder.put(file_of(header, 8))), InputError);
  }
}

TEST_CASE("tensor_file: a header length beyond the file is refused without taking the memory", "[model]") {
  WeightsFile folder;
  for (const uint64_t length : {uint64_t{9}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::string content(8, '\0');
    std::memcpy(content.data(), &length, 8);
    CHECK_THROWS_AS(TensorFile::read(folder.put(content + "{}")), InputError);
  }
}

TEST_CASE("tensor_file: metadata of other writers is passed over", "[model]") {
  WeightsFile folder;
  const std::string header =
      R"({"__metadata__": {"format": "pt"}, "t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}   )";
  CHECK(TensorFile::read(folder.put(file_of(header, 8))).tensors().size() == 1);
}

TEST_CASE("tensor_file: a missing or misshapen tensor is named with both shapes", "[model]") {
  const TensorFile tensors = sample();
  CHECK(tensors.get("b.weight", {-1, 3}).data.size() == 6);
  CHECK_THROWS_WITH(tensors.get("c", {4, 2}), Catch::Contains("c") && Catch::Contains("[4, 2]"));
  CHECK_THROWS_WITH(tensors.get("b.weight", {3, 2}),
                    Catch::Contains("b.weight") && Catch::Contains("[2, 3]") && Catch::Contains("[3, 2]"));
  CHECK_THROWS_AS(tensors.get("b.weight", {6}), InputError);
  CHECK_THROWS_AS(TensorFile::read("/nonexistent/weights.safetensors"), waco::Error);
}
