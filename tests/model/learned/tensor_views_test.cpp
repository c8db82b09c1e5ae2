// Tensors used where they stand in their file.
#include "waco/model/learned/tensor_views.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <optional>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/model/learned/tensor_file.hpp"

using namespace waco;
using model::TensorViews;

namespace {

struct Setting {
  Setting() {
    std::iota(values.begin(), values.end(), 0.5f);
    model::TensorFile tensors;
    tensors.set("a", {20, 32}, values);
    tensors.set("a quite long name, for a header that ends elsewhere", {3}, {1, 2, 3});
    tensors.write(file);
  }
  TensorViews open() const { return {file.string(), MappedFile(file)}; }

  TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "t.safetensors";
  std::vector<float> values = std::vector<float>(640);
};

}  // namespace

TEST_CASE("tensor_views: values are those written, and begin at a line of the cache", "[model]") {
  const Setting setting;
  const TensorViews views = setting.open();
  const auto a = views.get("a", {-1, 32});
  CHECK(std::equal(a.begin(), a.end(), setting.values.begin(), setting.values.end()));
  CHECK(reinterpret_cast<uintptr_t>(a.data()) % 64 == 0);
  CHECK(views.get("a quite long name, for a header that ends elsewhere", {3})[2] == 3);
}

TEST_CASE("tensor_views: copies share the file, which may go", "[model]") {
  const Setting setting;
  std::optional<TensorViews> first = setting.open();
  const TensorViews copy = *first;
  first.reset();
  std::filesystem::remove(setting.file);
  CHECK(copy.get("a", {20, 32})[639] == setting.values[639]);
}

TEST_CASE("tensor_views: what is missing, misshapen, cut off or not aligned is refused", "[model]") {
  const Setting setting;
  const TensorViews views = setting.open();
  CHECK_THROWS_WITH(views.get("b", {1}),
                    Catch::Contains("t.safetensors") && Catch::Contains("b of shape [1]"));
  CHECK_THROWS_WITH(views.get("a", {32, 20}), Catch::Contains("[20, 32]") && Catch::Contains("[32, 20]"));

  const std::string whole = read_file(setting.file);
  write_file_atomically(setting.file, std::string_view(whole).substr(0, whole.size() - 1));
  CHECK_THROWS_AS(setting.open(), InputError);

  uint64_t length = 0;
  std::memcpy(&length, whole.data(), sizeof length);
  std::string shifted = whole;
  shifted.insert(sizeof length + length, " ");
  ++length;
  std::memcpy(shifted.data(), &length, sizeof length);
  write_file_atomically(setting.file, shifted);
  CHECK_NOTHROW(model::TensorFile::read(setting.file));
  CHECK_THROWS_WITH(setting.open(), Catch::Contains("begin"));
}
