// Model folders that are incomplete, of other versions or tampered with are refused, each with its reason;
// the built-in ones are whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "random_model.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/schedule/building.hpp"
#include "waco/schedule/kinship.hpp"

using namespace waco;
using model::LearnedModel;
using model::TensorFile;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() { test::write_random_model(path, schedule::Op::kSpmv); }

  void check_refused(const std::string& reason) const {
    INFO(reason);
    CHECK_THROWS_AS(LearnedModel::load(path), InputError);
    CHECK_THROWS_WITH(LearnedModel::load(path), Catch::Contains(reason));
  }

  TemporaryFolder temporary;
  fs::path path = temporary.path() / "model";
};

}  // namespace

TEST_CASE("model_folder: what was written is read, with a hash of all of it", "[model]") {
  const Folder folder;
  const LearnedModel first = LearnedModel::load(folder.path);
  CHECK(first.op() == schedule::Op::kSpmv);
  CHECK(first.embedding_size() == 64);
  CHECK(first.manifest().at("extractor") == "human");
  CHECK(LearnedModel::load(folder.path).hash() == first.hash());
  test::edit_manifest(folder.path, [](auto& manifest) { manifest["metrics"]["loss"] = 1; });
  const std::string edited = LearnedModel::load(folder.path).hash();
  CHECK(edited != first.hash());
  test::edit_weights(folder.path, [](TensorFile& tensors) { tensors.set("correct.slope", {1}, {0.25f}); });
  CHECK(LearnedModel::load(folder.path).hash() != edited);
}

TEST_CASE("model_folder: missing files are named", "[model]") {
  const Folder folder;
  CHECK_THROWS_WITH(LearnedModel::load(folder.temporary.path() / "nowhere"),
                    Catch::Contains("no model.json"));
  fs::rename(folder.path / "weights.safetensors", folder.path / "away");
  folder.check_refused("is missing");
  fs::remove(folder.path / "model.json");
  folder.check_refused("holds no model");
}

TEST_CASE("model_folder: manifests of other kinds and versions are refused", "[model]") {
  const auto refuses = [](const std::string& reason,
                          const std::function<void(nlohmann::ordered_json&)>& edit) {
    const Folder folder;
    test::edit_manifest(folder.path, edit);
    folder.check_refused(reason);
  };
  refuses("waco-model", [](auto& m) { m["format"] = "waco-plan"; });
  refuses("version 2", [](auto& m) { m["version"] = 2; });
  refuses("encoding_version", [](auto& m) { m["encoding_version"] = schedule::kEncodingVersion + 1; });
  refuses("terms_version", [](auto& m) { m["terms_version"] = model::kTermsVersion + 1; });
  refuses("feature_version", [](auto& m) {
    m["extractor"] = "pyramid";
    m["feature_version"] = 0;
  });
  refuses("op", [](auto& m) { m["op"] = "spgemm"; });
  refuses("extractor", [](auto& m) { m["extractor"] = "oracle"; });
  refuses("wrong kind", [](auto& m) { m["op"] = 5; });
  refuses("wrong kind", [](auto& m) { m.erase("dims"); });
  refuses("wrong kind", [](auto& m) { m["dims"] = "many"; });
  for (const nlohmann::ordered_json& machine :
       {nlohmann::ordered_json(3), nlohmann::ordered_json::array(), nlohmann::ordered_json{{"cpu", 5}},
        nlohmann::ordered_json{{"cpu", "A"}, {"caches", "no"}}})
    refuses("wrong kind", [&](auto& m) { m["machine"] = machine; });
  const auto ordered = [](const char* text) { return nlohmann::ordered_json::parse(text); };
  for (const char* costs :
       {"[1.1]", R"([{"row_bytes": 128, "factor": 0}])", R"([{"row_bytes": 0, "factor": 1}])",
        R"([{"row_bytes": 12.5, "factor": 1}])", R"([{"row_bytes": 128}])"})
    refuses("clustered_costs is no positive factor", [&](auto& m) { m["clustered_costs"] = ordered(costs); });
  for (const char* costs : {"null", R"({"row_bytes": 128, "factor": 1})"})
    refuses("clustered_costs are no list", [&](auto& m) { m["clustered_costs"] = ordered(costs); });
  for (const char* patterns : {R"("many")", "-1", "0.5", "null"})
    refuses("no number of patterns", [&](auto& m) {
      m["families"] = {{"a10b11 |a1b1c1 | a1", ordered(patterns)}};
    });
  refuses("families are no object", [](auto& m) { m["families"] = 3; });
  refuses("wrong kind", [](auto& m) { m["dataset"] = 5; });
  refuses("wrong kind", [](auto& m) { m["dataset"] = {{"machines", 5}}; });
  refuses("wrong kind", [](auto& m) { m["dataset"] = {{"validation_originals", {1, 2}}}; });
  refuses("wrong kind", [](auto& m) { m["rhs"] = "256"; });
  refuses("wrong kind", [](auto& m) { m["weights_hash"] = 5; });
  refuses("types", [](auto& m) { m["types"] = nlohmann::ordered_json::array(); });
  refuses("encoding of its op", [](auto& m) { m["dims"]["categories"][0] = 3; });
  refuses("encoding of its op", [](auto& m) { m["op"] = "mttkrp"; });
  refuses("dims.hidden", [](auto& m) { m["dims"]["hidden"] = 65; });
}

TEST_CASE("model_folder: weights that the manifest does not describe are refused", "[model]") {
  const Folder torn;
  const std::string whole = read_file(torn.path / "weights.safetensors");
  write_file_atomically(torn.path / "weights.safetensors", whole.substr(0, whole.size() / 2));
  torn.check_refused("weights_hash");
  test::edit_manifest(torn.path,
                      [&](auto& m) { m["weights_hash"] = content_hash(whole.substr(0, whole.size() / 2)); });
  torn.check_refused("truncated");

  const auto refuses = [](const std::string& reason, const std::function<void(TensorFile&)>& edit) {
    const Folder folder;
    test::edit_weights(folder.path, edit);
    folder.check_refused(reason);
  };
  refuses("retrieve.fc.bias", [](auto& t) { t.set("retrieve.fc.bias", {3}, {1, 2, 3}); });
  refuses("embedder.levels.weight", [](auto& t) {
    t.set("embedder.levels.weight", {16, 15}, std::vector<float>(240));
  });
  refuses("input.terms.mean", [](auto& t) { t.set("input.terms.mean", {1}, {0}); });
  refuses("not a number", [](auto& t) { t.set("correct.slope", {1}, {NAN}); });
  refuses("not a number", [](auto& t) { t.set("correct.slope", {1}, {INFINITY}); });
  refuses("calibration", [](auto& t) { t.set("calibration", {1}, {0}); });
}

TEST_CASE("extractor: unknown names and missing tensors are errors", "[model]") {
  CHECK_THROWS_AS(model::make_extractor("oracle", 2, TensorFile()), UsageError);
  for (const std::string& name : model::extractor_names())
    CHECK_THROWS_AS(model::make_extractor(name, 2, TensorFile()), InputError);
}

TEST_CASE("model_folder: the built-in models go with their indexes and know nothing they did not learn",
          "[model]") {
  int num_models = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(WACO_TEST_DATA_DIR) / "../../data/models")) {
    if (!entry.is_directory()) continue;
    const fs::path& folder = entry.path();
    INFO(folder);
    ++num_models;
    const auto index = nlohmann::json::parse(read_file(folder / "index/index.json"));
    const LearnedModel model = LearnedModel::load(folder);
    CHECK(index.at("model_hash") == model.hash());
    const schedule::SuperSchedule csr = schedule::csr_point({model.op(), schedule::ValueType::kF32, 16}, 2);
    CHECK(model.experience().patterns_of(schedule::threaded_family(csr)) > 10);
    // Where their records are of two threads at most, "some" of more is not among them.
    const auto manifest = nlohmann::json::parse(read_file(folder / "model.json"));
    const bool knows_some = manifest.at("machine").get<Machine>().usable_threads > 2;
    const TensorFile weights = model::read_model_weights(folder);
    const std::vector<float>& rows = weights.get("embedder.table.threads.weight", {3, 16}).data;
    CHECK(std::count(rows.begin() + 16, rows.begin() + 32, 0.0f) == (knows_some ? 0 : 16));
  }
  CHECK(num_models >= 20);
}

TEST_CASE("extractor: pyramid gives the features of the pattern, standardised", "[model]") {
  const auto size = static_cast<int64_t>(pattern::feature_names(2).size());
  TensorFile weights;
  weights.set("input.features.mean", {size}, std::vector<float>(static_cast<size_t>(size), 1.0f));
  weights.set("input.features.scale", {size}, std::vector<float>(static_cast<size_t>(size), 0.5f));
  const auto extractor = model::make_extractor("pyramid", 2, weights);
  REQUIRE(extractor->size() == size);
  matrix::SparseTensor diagonal;
  diagonal.dims = {100, 100};
  diagonal.coords.resize(2);
  for (int64_t n = 0; n < 100; ++n) {
    diagonal.coords[0].push_back(n);
    diagonal.coords[1].push_back(n);
    diagonal.values.push_back(1);
  }
  pattern::LazyFeatures seen(diagonal);
  const std::vector<float> features = pattern::pattern_features(diagonal, 1), q = extractor->extract(seen);
  for (size_t n = 0; n < q.size(); ++n) CHECK(q[n] == std::clamp((features[n] - 1) * 0.5f, -4.0f, 4.0f));
}
