#include "waco/train/data/preparation.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

#include "small_dataset.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/encoding.hpp"

using namespace waco;
using namespace waco::train;

namespace {

PreparationOptions options_in(const std::filesystem::path& cache, const std::string& extractor = "pyramid") {
  PreparationOptions options;
  options.extractor = extractor;
  options.cache = cache;
  options.threads = 2;
  options.ceilings = model::default_ceilings;
  return options;
}

}  // namespace

TEST_CASE("preparation: inputs are those of their pattern and points", "[train]") {
  TemporaryFolder folder;
  const Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  const MatrixFiles files({folder.path().string()});
  const Preparation prepared = prepare(records.groups, files, options_in(folder.path() / "cache"), {});
  REQUIRE(prepared.examples.size() == 4);
  CHECK(prepared.num_missing_groups == 0);
  const Example& example = prepared.examples[2];
  const Group& group = example.group;
  CHECK(group.matrix == records.groups[2].matrix);
  const matrix::SparseTensor tensor = matrix::make(files.find(group).at(0));
  CHECK(example.features == pattern::pattern_features(tensor, 1));
  CHECK(example.problem == std::vector<float>{0, 0});
  model::ClosedFormModel closed_form(tensor, model::default_ceilings(2));
  const auto csr = closed_form.terms(schedule::csr_point(group.problem, 2));
  const auto terms = model::cost_features(closed_form.terms(group.points[3]), csr);
  const auto begin = example.terms.begin() + static_cast<std::ptrdiff_t>(3 * terms.size());
  CHECK(std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(terms.size())) == terms);
  const schedule::Encoding code = schedule::encode(group.points[5], 2);
  CHECK(std::vector<float>(example.numbers.end() - static_cast<std::ptrdiff_t>(code.numbers.size()),
                           example.numbers.end()) == code.numbers);
}

TEST_CASE("preparation: groups of clustered rows have the inputs of these", "[train]") {
  TemporaryFolder folder;
  Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  Group clustered = records.groups[2];
  clustered.clustered = true;
  for (schedule::SuperSchedule& point : clustered.points)
    point = schedule::arranged(point, schedule::Arrangement::kClustered);
  records.groups.push_back(clustered);
  Group windowed = clustered;
  windowed.cluster_window = 7;
  for (schedule::SuperSchedule& point : windowed.points) point = schedule::clustered(point, 7);
  records.groups.push_back(windowed);
  const MatrixFiles files({folder.path().string()});
  const auto options = options_in(folder.path() / "cache");
  for (const char* round : {"made", "from the cache"}) {
    INFO(round);
    const Preparation prepared = prepare(records.groups, files, options, {});
    REQUIRE(prepared.examples.size() == 6);
    const matrix::SparseTensor given = matrix::make(files.find(clustered).at(0));
    const matrix::SparseTensor stored = codegen::with_clustered_rows(given, 0, 1);
    CHECK(prepared.examples[2].features == pattern::pattern_features(given, 1));
    CHECK(prepared.examples[4].features == pattern::pattern_features(stored, 1));
    CHECK(prepared.examples[5].features ==
          pattern::pattern_features(codegen::with_clustered_rows(given, 7, 1), 1));
    CHECK(prepared.examples[4].features != prepared.examples[2].features);
    CHECK(prepared.examples[4].features != prepared.examples[5].features);
    CHECK(prepared.examples[4].terms != prepared.examples[2].terms);
  }
}

TEST_CASE("preparation: groups of one pattern share what an extractor makes of it", "[train]") {
  TemporaryFolder folder;
  Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  Group clustered = records.groups[2];
  clustered.clustered = true;
  records.groups.push_back(records.groups[2]);
  records.groups.push_back(clustered);
  const MatrixFiles files({folder.path().string()});
  PreparationOptions options = options_in({}, "conv");
  options.make_pattern = [](const matrix::SparseTensor&) {
    const auto owner = std::make_shared<int>();  // only told from others, never looked at
    return std::shared_ptr<const PreparedPattern>(owner,
                                                  reinterpret_cast<const PreparedPattern*>(owner.get()));
  };
  const Preparation prepared = prepare(records.groups, files, options, {});
  REQUIRE(prepared.examples.size() == 6);
  std::set<const PreparedPattern*> patterns;
  for (const Example& example : prepared.examples) patterns.insert(example.pattern.get());
  CHECK(patterns.size() == 5);
  CHECK(prepared.examples[4].pattern == prepared.examples[2].pattern);
}

TEST_CASE("preparation: of several files of a name the one with the pattern is taken", "[train]") {
  TemporaryFolder folder;
  const auto file = testing::write_small_dataset(folder.path(), 4, 6);
  const Records records = load_records({file}, std::nullopt);
  const std::filesystem::path other = folder.path() / "other";
  std::filesystem::create_directories(other);
  const std::string name = testing::write_band(other, 20, 2);
  std::filesystem::rename(other / name, other / records.groups[1].source);
  const MatrixFiles files({other.string(), folder.path().string()});
  CHECK(files.find(records.groups[1]).size() == 2);
  CHECK(prepare(records.groups, files, options_in({}), {}).num_missing_groups == 0);
  CHECK(files.find(records.groups[1]).size() == 1);  // the other need not be read again
}

TEST_CASE("preparation: matrices are found under names that do not say what they are", "[train]") {
  TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file_atomically(folder.path() / name, text);
    return (folder.path() / name).string();
  };
  const std::string gzip = write("a.gz.bak", "\x1f\x8b\x08 and so on");
  const std::string plain = write("b.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n");
  const std::string listed = write("c.tar.gz", "");
  const std::string list = write("list", listed + "\n");
  const MatrixFiles files({gzip, plain, list});
  const auto found = [&](const std::string& source) {
    Group group;
    group.source = source;
    return files.find(group).size();
  };
  CHECK(found("a.gz.bak") == 1);
  CHECK(found("b.txt") == 1);
  CHECK(found("c.tar.gz") == 1);
  CHECK(found("d.mtx") == 0);
  Group archive;
  archive.source = "c.tar.gz";
  CHECK(MatrixFiles({folder.path().string()}).find(archive).size() == 1);
}

TEST_CASE("preparation: terms are those of the machine that measured, where the dataset tells", "[train]") {
  TemporaryFolder folder;
  const auto file = testing::write_small_dataset(folder.path(), 4, 6);
  const MatrixFiles files({folder.path().string()});
  const auto terms_of = [&](const Records& records) {
    return prepare(records.groups, files, options_in({}), {}).examples.at(1).terms;
  };
  const std::vector<float> here = terms_of(load_records({file}, std::nullopt));
  const std::string text = read_file(file);
  const size_t end = text.find('\n');
  nlohmann::json header = nlohmann::json::parse(text.substr(0, end));
  model::Ceilings slow_memory = model::default_ceilings(2);
  for (model::MemoryLevel& level : slow_memory.levels) level.read_one /= 8, level.read_all /= 8;
  const auto load_with = [&](const nlohmann::json& ceilings) {
    header["ceilings"] = {ceilings};
    write_file_atomically(file, header.dump() + text.substr(end));
    return load_records({file}, std::nullopt);
  };
  const Records there = load_with(model::to_json(slow_memory));
  CHECK(there.groups[0].ceilings->levels[1].read_one == slow_memory.levels[1].read_one);
  CHECK(terms_of(there) != here);
  CHECK(terms_of(load_with(model::to_json(model::default_ceilings(2)))) == here);
  CHECK(terms_of(load_with(nullptr)) == here);
  // Those of another number of threads say little of these times.
  slow_memory.threads = 4;
  CHECK(terms_of(load_with(model::to_json(slow_memory))) == here);
  CHECK_THROWS_AS(load_with({{"threads", 2}}), InputError);
}

TEST_CASE("preparation: what is in the cache needs no matrix any more", "[train]") {
  TemporaryFolder folder;
  const Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  const auto cache = folder.path() / "cache";
  const Preparation first =
      prepare(records.groups, MatrixFiles({folder.path().string()}), options_in(cache), {});
  const Preparation second = prepare(records.groups, MatrixFiles({}), options_in(cache), {});
  REQUIRE(second.examples.size() == first.examples.size());
  for (size_t e = 0; e < first.examples.size(); ++e) {
    CHECK(second.examples[e].terms == first.examples[e].terms);
    CHECK(second.examples[e].features == first.examples[e].features);
  }
  // A damaged file is as good as none.
  for (const auto& entry : std::filesystem::directory_iterator(cache))
    write_file_atomically(entry.path(), "x");
  CHECK(prepare(records.groups, MatrixFiles({}), options_in(cache), {}).examples.empty());
}

TEST_CASE("preparation: what the cache keeps goes after a month without use", "[train]") {
  namespace fs = std::filesystem;
  TemporaryFolder folder;
  Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  const MatrixFiles files({folder.path().string()});
  const fs::path cache = folder.path() / "cache";
  const auto num_files = [&] { return std::distance(fs::directory_iterator(cache), {}); };
  const auto age = [&] {
    for (const auto& entry : fs::directory_iterator(cache))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(24 * 40));
  };
  prepare(records.groups, files, options_in(cache), {});
  REQUIRE(num_files() == 8);  // features and terms of each
  age();
  prepare({records.groups[0]}, files, options_in(cache), {});  // which is a use
  CHECK(num_files() == 8);
  records.groups[1].points.pop_back();
  records.groups[1].labels.pop_back();
  fs::remove(folder.path() / records.groups[0].source);
  age();
  PreparationOptions one_by_one = options_in(cache);
  one_by_one.threads = 1;
  // What comes after something new is still a use.
  CHECK(prepare({records.groups[1], records.groups[0]}, files, one_by_one, {}).examples.size() == 2);
  CHECK(num_files() == 4);
  CHECK(prepare({records.groups[0]}, MatrixFiles({}), options_in(cache), {}).examples.size() == 1);
}

TEST_CASE("preparation: without a cache, or with one that can't be written, nothing is kept", "[train]") {
  TemporaryFolder folder;
  const Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  const MatrixFiles files({folder.path().string()});
  const Preparation kept = prepare(records.groups, files, options_in(folder.path() / "cache"), {});
  write_file_atomically(folder.path() / "file", "x");
  for (const std::filesystem::path& cache : {std::filesystem::path(), folder.path() / "file"}) {
    const Preparation prepared = prepare(records.groups, files, options_in(cache), {});
    REQUIRE(prepared.examples.size() == 4);
    CHECK(prepared.examples[3].terms == kept.examples[3].terms);
    CHECK(prepared.examples[3].features == kept.examples[3].features);
  }
  CHECK(read_file(folder.path() / "file") == "x");
}

TEST_CASE("preparation: records of missing and changed matrices are left out and counted", "[train]") {
  TemporaryFolder folder;
  const Records records = load_records({testing::write_small_dataset(folder.path(), 4, 6)}, std::nullopt);
  std::filesystem::remove(folder.path() / records.groups[1].source);
  std::filesystem::copy_file(folder.path() / records.groups[0].source,
                             folder.path() / records.groups[3].source,
                             std::filesystem::copy_options::overwrite_existing);
  const Preparation prepared =
      prepare(records.groups, MatrixFiles({folder.path().string()}), options_in(folder.path() / "cache"), {});
  CHECK(prepared.examples.size() == 2);
  CHECK(prepared.num_missing_groups == 2);
  CHECK(prepared.num_missing_records == 12);
  CHECK(prepared.first_missing == records.groups[1].source);
}

TEST_CASE("matrix files: records' sources are found in folders, lists and recipes", "[train]") {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "deep");
  const std::string name = testing::write_band(folder.path() / "deep", 20, 3);
  write_file_atomically(folder.path() / "list.txt",
                        fmt::format("# matrices\n{}\n/nowhere/else.mtx\nsynthetic: stencil2d n=9\n",
                                    (folder.path() / "deep" / name).string()));
  for (const std::string& place : {folder.path().string(), (folder.path() / "list.txt").string(),
                                   (folder.path() / "deep" / name).string()}) {
    const MatrixFiles files({place});
    Group group;
    group.matrix = "band+transpose";
    group.source = name + " | transpose seed=1";
    REQUIRE(files.find(group).size() == 1);
    CHECK(files.find(group)[0].source == (folder.path() / "deep" / name).string() + " | transpose seed=1");
    CHECK(matrix::make(files.find(group)[0]).num_nonzeros() == 57);
    group.source = "synthetic: stencil2d n=9 points=5 seed=1";
    CHECK(matrix::make(files.find(group).at(0)).dims[0] == 81);
    group.source = "else.mtx";
    CHECK(files.find(group).empty());
  }
  CHECK_THROWS_AS(MatrixFiles({"/nowhere"}), InputError);
}
