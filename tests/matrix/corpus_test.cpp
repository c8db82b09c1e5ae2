// Corpora: their spread, their sizes, and that a recipe is all that is needed to make an item again.
#include "waco/matrix/corpus.hpp"

#include <omp.h>

#include <catch2/catch.hpp>
#include <set>

#include "matrix_check.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/corpus_recipes.hpp"
#include "waco/matrix/reshape.hpp"
#include "waco/matrix/synthetic.hpp"
#include "write.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

const std::string kPrefix = "synthetic: ";

}  // namespace

TEST_CASE("corpus: the first items of a longer one are the same", "[matrix]") {
  for (const int order : {2, 3}) {
    const auto many = synthetic_corpus(100, order, 5);
    const auto few = synthetic_corpus(37, order, 5);
    REQUIRE(many.size() == 100);
    for (size_t i = 0; i < few.size(); ++i) CHECK(few[i] == many[i]);
    CHECK_FALSE(synthetic_corpus(1, order, 6)[0] == many[0]);
  }
}

TEST_CASE("corpus: names are unique and good for files, and name their originals", "[matrix]") {
  std::set<std::string> names;
  for (const CorpusItem& item : synthetic_corpus(1500, 2, 1)) {
    CHECK(names.insert(item.name).second);
    CHECK(item.name.find_first_of(" /\\\t\n") == std::string::npos);
    CHECK(item.name.size() < 200);
    CHECK(item.original == item.name);
  }
}

TEST_CASE("corpus: a round holds every family", "[matrix]") {
  for (const int order : {2, 3}) {
    std::set<std::string> families;
    for (const CorpusItem& item : synthetic_corpus(num_recipe_kinds(order), order, 3)) {
      families.insert(
          item.source.substr(kPrefix.size(), item.source.find(' ', kPrefix.size()) - kPrefix.size()));
    }
    for (const SyntheticFamily& family : synthetic_families()) {
      const bool is_tensor = family.name.starts_with("tensor");
      CAPTURE(family.name, order);
      if (is_tensor == (order == 3)) CHECK(families.count(family.name) == 1);
    }
  }
}

TEST_CASE("corpus: every kind keeps to the size it is asked for", "[matrix]") {
  for (const int order : {2, 3}) {
    for (int kind = 0; kind < num_recipe_kinds(order); ++kind) {
      for (const int64_t asked : {20'000, 300'000}) {
        for (uint64_t seed = 1; seed <= 3; ++seed) {
          Random random(seed);
          const CorpusItem item = synthetic_item(recipe_of_size(order, kind, asked, random));
          CAPTURE(item.source, asked);
          const SparseTensor tensor = make(item);
          CHECK(is_valid(tensor));
          CHECK(tensor.order() == order);
          CHECK(static_cast<double>(tensor.num_nonzeros()) < 2.5 * static_cast<double>(asked));
          CHECK(static_cast<double>(tensor.num_nonzeros()) > static_cast<double>(asked) / 2.5);
        }
      }
    }
  }
}

TEST_CASE("corpus: sizes span the range, most of them its middle", "[matrix]") {
  int small = 0;
  int middle = 0;
  int large = 0;
  Random random(9);
  for (int i = 0; i < 2000; ++i) {
    const int64_t nnz = draw_num_nonzeros(random);
    REQUIRE(nnz >= kLeastNonzeros);
    REQUIRE(nnz <= kMostNonzeros);
    ++(nnz < 100'000 ? small : nnz < 1'000'000 ? middle : large);
  }
  CHECK(small > 250);
  CHECK(middle > 1200);
  CHECK(large > 200);
}

TEST_CASE("corpus: a recipe makes the same tensor again, with any number of threads", "[matrix]") {
  const int before = omp_get_max_threads();
  const CorpusItem item =
      synthetic_item("web n=2000 | shuffle window=100 seed=3 | resize rows=1500 cols=3000 | deepen l=40");
  CHECK(item.source ==
        "synthetic: web n=2000 degree=16 copy=0.6 host=64 seed=1 | shuffle block=1 window=100 apart=0 seed=3 "
        "| resize rows=1500 cols=3000 depth=0 seed=1 | deepen l=40 depth=2 seed=1");
  CHECK(synthetic_item(item.source.substr(kPrefix.size())) == item);
  omp_set_num_threads(1);
  const SparseTensor serial = make(item);
  omp_set_num_threads(4);
  const SparseTensor parallel = make(item);
  omp_set_num_threads(before);
  CHECK(serial.name == item.name);
  CHECK(serial.dims == std::vector<int64_t>{1500, 3000, 40});
  CHECK(parallel.coords == serial.coords);
  CHECK(parallel.values == serial.values);
}

TEST_CASE("corpus: a file is an item, whatever its path holds", "[matrix]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "odd | name a b.mtx";
  write_matrix_market(generate("stencil2d n=20"), path);
  const CorpusItem item = file_item(path.string());
  CHECK(item.name == "odd_|_name_a_b");
  const SparseTensor tensor = make(item);
  CHECK(tensor.name == item.name);
  CHECK(pattern_hash(tensor) == pattern_hash(generate("stencil2d n=20")));

  for (const CorpusItem& copy : augmented(item, tensor.dims, tensor.num_nonzeros(), 20, 1)) {
    CAPTURE(copy.source);
    CHECK(copy.original == item.name);
    CHECK(copy.name.starts_with(item.name + "+"));
    const SparseTensor other = make(copy);
    CHECK(is_valid(other));
    CHECK(pattern_hash(other) != pattern_hash(tensor));
  }
}

TEST_CASE("corpus: copies keep to the paper's limits and are drawn one by one", "[matrix]") {
  const CorpusItem item = synthetic_item("uniform rows=400000 cols=1000000 degree=2");
  const auto copies = augmented(item, {400'000, 1'000'000}, 800'000, 12, 7);
  const auto more = augmented(item, {400'000, 1'000'000}, 800'000, 15, 7);
  std::set<std::string> names;
  for (size_t i = 0; i < copies.size(); ++i) {
    CHECK(copies[i] == more[i]);
    CHECK(names.insert(copies[i].name).second);
  }
  for (size_t i = 0; i < 4; ++i) {
    const SparseTensor tensor = make(copies[i]);
    CAPTURE(copies[i].source);
    CHECK(tensor.dims[0] < kMostAugmentedRows);
    CHECK(tensor.num_nonzeros() <= kMostAugmentedNonzeros);
    CHECK(tensor.num_nonzeros() > 0);
  }
  // A matrix with more nonzeros than a copy may have loses rows.
  for (const CorpusItem& copy : augmented(item, {400'000, 400'000}, 50'000'000, 10, 7)) {
    CHECK(copy.source.find(" | crop ") != std::string::npos);
  }
  for (const CorpusItem& copy : augmented(item, {400'000, 4'000, 50}, 50'000'000, 10, 7)) {
    CHECK(copy.source.find(" | crop ") != std::string::npos);
  }
  for (const CorpusItem& copy : augmented(item, {1000, 200, 50}, 9000, 10, 7)) {
    CHECK(copy.source.find(" depth=") != std::string::npos);
  }
}

TEST_CASE("corpus: copies of the longest matrices keep to the limits, too", "[matrix]") {
  const CorpusItem item = file_item("long.mtx");
  for (const int64_t length : {int64_t{50'000'000'000}, int64_t{100'000'000'000}, INT64_MAX}) {
    for (const CorpusItem& copy : augmented(item, {length, 300}, 20'000'000, 20, 1))
      CHECK(copy.source.find(" | crop ") != std::string::npos);
    SparseTensor tensor;
    tensor.dims = {length, 300};
    tensor.coords = {{0, length - 1}, {299, 0}};
    tensor.values = {1, 2};
    for (const CorpusItem& copy : augmented(item, tensor.dims, 20'000, 20, 1)) {
      CAPTURE(copy.source);
      const SparseTensor reshaped =
          reshape(tensor, parse_step(copy.source.substr(std::string("long.mtx | ").size())));
      CHECK(is_valid(reshaped));
      CHECK(reshaped.dims[0] < kMostAugmentedRows);
    }
  }
}

TEST_CASE("corpus: recipes that can't be understood are usage errors", "[matrix]") {
  CHECK_THROWS_AS(synthetic_item("mesh n=3"), UsageError);
  CHECK_THROWS_WITH(synthetic_item("stencil2d n=3 | rotate"),
                    Catch::Contains("'|'") || Catch::Contains("rotate"));
  CHECK_THROWS_AS(make({"a", "a", "synthetic: fem n=3"}), UsageError);
  CHECK_THROWS_AS(make({"a", "a", "/nowhere/a.mtx"}), InputError);
}

TEST_CASE(
    "corpus: a record's source has the file's name and the steps behind it, whatever its folders are called",
    "[matrix]") {
  const auto source = [](const std::string& text) { return record_source({"m", "m", text}); };
  CHECK(source("/a/m.mtx") == "m.mtx");
  CHECK(source("/a | b/m.mtx") == "m.mtx");
  CHECK(source("/a | b/m | n.mtx") == "m | n.mtx");
  CHECK(source(kPrefix + "stencil2d n=20") == kPrefix + "stencil2d n=20");
  for (const CorpusItem& item : augmented(file_item("/a | b/m.mtx"), {900, 900}, 5000, 2, 1))
    CHECK(record_source(item) == "m.mtx" + item.source.substr(std::string("/a | b/m.mtx").size()));
}
