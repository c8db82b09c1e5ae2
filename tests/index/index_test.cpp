// Indexes as folders: what comes back, what is refused, what the cache keeps.
#include "waco/index/index.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "../model/learned/random_model.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/index/manifest.hpp"
#include "waco/index/vertex_sources.hpp"

using namespace waco;
using index::Index;
using schedule::Op;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kCount = 400;

/// A model, and indexes for it.
struct Setting {
  explicit Setting(Op op = Op::kSpmm, uint64_t seed = 1) : model_folder(folder.path() / "model") {
    test::write_random_model(model_folder, op, seed);
    model.emplace(model::LearnedModel::load(model_folder));
  }
  Index make(int threads = 2) const {
    index::VertexList vertices(model->op());
    index::add_samples(vertices, kCount, 1);
    index::IndexOptions options;
    options.max_threads = threads;
    options.created_by = {{"program", "waco-index"}, {"version", "0"}, {"command", "waco-index M -o I"}};
    return {std::move(vertices), *model, std::move(options)};
  }
  index::ModelSource source() const { return {*model, model_folder}; }
  fs::path path(const char* name) const { return folder.path() / name; }
  /// Of indexes in a cache.
  static std::vector<fs::path> entries(const fs::path& cache) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(cache))
      if (entry.path().filename().string().starts_with("index-")) found.push_back(entry.path());
    return found;
  }

  TemporaryFolder folder;
  fs::path model_folder;
  std::optional<model::LearnedModel> model;
};

void check_same(const Index& a, const Index& b) {
  REQUIRE(a.size() == b.size());
  REQUIRE(a.embedding_size() == b.embedding_size());
  const int64_t numbers = a.size() * a.embedding_size();
  CHECK(std::equal(a.embeddings(), a.embeddings() + numbers, b.embeddings()));
  for (int64_t v = 0; v < a.size(); v++) {
    CHECK(a.vertices().text(v) == b.vertices().text(v));
    CHECK(a.needs(v).splits == b.needs(v).splits);
    CHECK(a.needs(v).tile == b.needs(v).tile);
    CHECK(a.needs(v).some_threads == b.needs(v).some_threads);
  }
}

std::string graph_bytes(const Index& index, const fs::path& file) {
  index.graph().save(file);
  return read_file(file);
}

/// The message of the InputError that `action` throws.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

void overwrite(const fs::path& file, size_t at) {
  std::string content = read_file(file);
  content[at] = static_cast<char>(content[at] ^ 1);
  write_file_atomically(file, content);
}

}  // namespace

TEST_CASE("index: written and opened again, it is the same", "[index]") {
  for (const Op op : {Op::kSpmv, Op::kMttkrp}) {
    const Setting setting(op);
    const Index made = setting.make();
    made.write(setting.path("index"));
    const Index opened = Index::open(setting.path("index"), setting.source(), 2);
    check_same(made, opened);
    CHECK(graph_bytes(made, setting.path("a")) == graph_bytes(opened, setting.path("b")));
    made.write(setting.path("again"));
    for (const char* file : {index::kVerticesFile, index::kEmbeddingsFile, index::kGraphFile})
      CHECK(read_file(setting.path("index") / file) == read_file(setting.path("again") / file));
  }
}

TEST_CASE("index: vertices alone are enough, and the cache keeps the rest", "[index]") {
  const Setting setting;
  const Index made = setting.make();
  made.write(setting.path("small"), true);
  CHECK_FALSE(fs::exists(setting.path("small") / index::kEmbeddingsFile));
  const fs::path cache = setting.path("cache");
  fs::create_directory(cache);

  check_same(made, Index::open(setting.path("small"), setting.source(), 2));
  CHECK(fs::is_empty(cache));
  const Index first = Index::open(setting.path("small"), setting.source(), 2, cache);
  const std::string graph = graph_bytes(first, setting.path("a"));
  REQUIRE(std::distance(fs::directory_iterator(cache), {}) == 1);
  const fs::path entry = *fs::directory_iterator(cache);
  CHECK(fs::exists(entry / index::kGraphFile));
  CHECK(fs::exists(entry / index::kPlainVerticesFile));

  const auto written = fs::last_write_time(entry / index::kGraphFile);
  const Index second = Index::open(setting.path("small"), setting.source(), 2, cache);
  check_same(made, second);
  CHECK(graph_bytes(second, setting.path("b")) == graph);
  CHECK(fs::last_write_time(entry / index::kGraphFile) == written);

  for (const char* file :
       {index::kPlainVerticesFile, index::kEmbeddingsFile, index::kGraphFile, index::kManifestFile}) {
    INFO(file);
    overwrite(entry / file, 20);
    const Index mended = Index::open(setting.path("small"), setting.source(), 2, cache);
    check_same(made, mended);
    CHECK(graph_bytes(mended, setting.path("c")) == graph);
    check_same(made, Index::open(entry, setting.source(), 2));  // whole again
  }
  // Another number of threads is another entry: half and all of them are seen relative to it.
  Index::open(setting.path("small"), setting.source(), 8, cache);
  CHECK(std::distance(fs::directory_iterator(cache), {}) == 2);
}

TEST_CASE("index: entries of the cache that are not used go after a month", "[index]") {
  const Setting setting;
  setting.make().write(setting.path("small"), true);
  const fs::path cache = setting.path("cache");
  fs::create_directories(cache / "kernels");
  const auto open = [&](int threads) {
    Index::open(setting.path("small"), setting.source(), threads, cache);
  };
  const auto age = [&](const fs::path& entry, int days) {
    fs::last_write_time(entry, fs::file_time_type::clock::now() - std::chrono::hours(24 * days));
  };
  open(2);
  const fs::path entry = setting.entries(cache).at(0);
  age(entry / index::kManifestFile, 40);
  open(2);  // which is a use
  open(4);
  CHECK(setting.entries(cache).size() == 2);
  age(entry / index::kManifestFile, 40);
  age(cache / "kernels", 40);
  open(8);
  CHECK(setting.entries(cache).size() == 2);
  CHECK_FALSE(fs::exists(entry));
  CHECK(fs::exists(cache / "kernels"));
  // What a killed run left, long ago and just now.
  fs::create_directory(cache / "index-old");
  fs::create_directory(cache / "index-new");
  age(cache / "index-old", 40);
  open(16);
  CHECK_FALSE(fs::exists(cache / "index-old"));
  CHECK(fs::exists(cache / "index-new"));
}

TEST_CASE("index: what was opened stays when its files are replaced", "[index]") {
  const Setting setting;
  const Index made = setting.make();
  made.write(setting.path("small"), true);
  const fs::path cache = setting.path("cache");
  fs::create_directory(cache);
  Index::open(setting.path("small"), setting.source(), 2, cache);
  const fs::path entry = *fs::directory_iterator(cache);
  const Index opened = Index::open(setting.path("small"), setting.source(), 2, cache);
  for (const char* file : {index::kPlainVerticesFile, index::kEmbeddingsFile}) {
    write_file_atomically(entry / file, "short");
    fs::remove(entry / file);
  }
  check_same(made, opened);
}

TEST_CASE("index: hashes of the older kind are still checked", "[index]") {
  const Setting setting;
  const Index made = setting.make();
  const fs::path folder = setting.path("index");
  made.write(folder);
  auto manifest = nlohmann::json::parse(read_file(folder / index::kManifestFile));
  for (auto& [name, file] : manifest.at("files").items())
    file.at("hash") = content_hash(read_file(folder / name));
  write_file_atomically(folder / index::kManifestFile, manifest.dump());
  check_same(made, Index::open(folder, setting.source(), 2));
  overwrite(folder / index::kEmbeddingsFile, 500);
  CHECK(refusal([&] { Index::open(folder, setting.source(), 2); }).find("embeddings") != std::string::npos);
}

TEST_CASE("index: one of another model is refused with the command that repairs it", "[index]") {
  const Setting setting, other(Op::kSpmm, 2), other_op(Op::kSddmm);
  const fs::path folder = setting.path("index");
  setting.make().write(folder);
  const std::string stale = refusal([&] { Index::open(folder, other.source(), 2); });
  CHECK(stale.find("another model") != std::string::npos);
  CHECK(stale.find("waco-index " + other.model_folder.string() + " --from " + folder.string() + " -o " +
                   folder.string()) != std::string::npos);
  CHECK(stale.find('\n') == std::string::npos);
  CHECK(refusal([&] { Index::open(folder, other_op.source(), 2); }).find("sddmm") != std::string::npos);

  auto manifest = nlohmann::json::parse(read_file(folder / index::kManifestFile));
  manifest["encoding_version"] = schedule::kEncodingVersion + 1;
  write_file_atomically(folder / index::kManifestFile, manifest.dump());
  CHECK(refusal([&] { Index::open(folder, setting.source(), 2); }).find("encoding") != std::string::npos);
}

TEST_CASE("index: a folder that is incomplete, damaged or newer is refused", "[index]") {
  const Setting setting;
  const Index made = setting.make();
  const fs::path folder = setting.path("index");
  const auto open = [&] { Index::open(folder, setting.source(), 2).graph(); };
  for (const char* file : {index::kVerticesFile, index::kEmbeddingsFile, index::kGraphFile}) {
    made.write(folder);
    CHECK_NOTHROW(open());
    overwrite(folder / file, read_file(folder / file).size() / 2);
    const std::string damaged = refusal(open);
    CHECK(damaged.find(file) != std::string::npos);
    CHECK(damaged.find("waco-index M -o I") != std::string::npos);
    fs::remove(folder / file);
    CHECK(refusal(open).find("is missing") != std::string::npos);
  }
  made.write(folder);
  const std::string manifest = read_file(folder / index::kManifestFile);
  const auto check_refused = [&](const std::string& content, const std::string& text) {
    write_file_atomically(folder / index::kManifestFile, content);
    CHECK(refusal(open).find(text) != std::string::npos);
  };
  check_refused(manifest.substr(0, manifest.size() / 2), "JSON");
  auto document = nlohmann::json::parse(manifest);
  document["version"] = index::kIndexVersion + 1;
  check_refused(document.dump(), "version");
  document = nlohmann::json::parse(manifest);
  document["vertices"]["count"] = kCount + 1;
  check_refused(document.dump(), "vertices");
  document["vertices"]["count"] = -1;
  check_refused(document.dump(), "damaged");
  document = nlohmann::json::parse(manifest);
  document.erase("graph");
  check_refused(document.dump(), "damaged");
  CHECK(refusal([&] { Index::open(setting.path("absent"), setting.source(), 2); }).find("waco-index") !=
        std::string::npos);
}

TEST_CASE("index: writing replaces an index, and nothing else", "[index]") {
  const Setting setting;
  const Index made = setting.make();
  made.write(setting.path("index"));
  made.write(setting.path("index"), true);
  CHECK_FALSE(fs::exists(setting.path("index") / index::kGraphFile));
  fs::create_directory(setting.path("home"));
  write_file_atomically(setting.path("home") / "letter.txt", "dear");
  CHECK_THROWS_AS(made.write(setting.path("home")), UsageError);
  // A file of that name need not be ours, and what lies beside an index is not.
  write_file_atomically(setting.path("home") / index::kManifestFile, R"({"format": "site", "version": 1})");
  CHECK_THROWS_AS(made.write(setting.path("home")), UsageError);
  CHECK(read_file(setting.path("home") / "letter.txt") == "dear");
  write_file_atomically(setting.path("index") / "letter.txt", "dear");
  CHECK_THROWS_WITH(made.write(setting.path("index")), Catch::Contains("letter.txt"));
  CHECK(read_file(setting.path("index") / "letter.txt") == "dear");
  write_file_atomically(setting.path("file"), "text");
  CHECK_THROWS_AS(made.write(setting.path("file")), UsageError);
  CHECK(read_file(setting.path("file")) == "text");
  size_t leftovers = 0;
  for (const auto& entry : fs::directory_iterator(setting.folder.path()))
    leftovers += entry.path().string().find(".tmp.") != std::string::npos ? 1 : 0;
  CHECK(leftovers == 0);
}

TEST_CASE("index: embeddings are those of the vertices on this machine", "[index]") {
  const Setting setting(Op::kSddmm);
  const Index index = setting.make(8);
  for (const int64_t v : {0, 17, 399}) {
    const auto point = index::on_machine(index.vertices().vertex(v), 8);
    const auto row = setting.model->embed_schedules({&point, 1}, 8);
    for (size_t n = 0; n < row.size(); n++)
      CHECK(index.embeddings()[v * index.embedding_size() + static_cast<int64_t>(n)] == row[n]);
  }
}
