// Indexes in memory, in folders and in the cache.
#include "waco/index/index.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/progress.hpp"
#include "waco/base/unused_entries.hpp"
#include "waco/index/embedded_vertices.hpp"
#include "waco/index/manifest.hpp"
#include "waco/schedule/encoding.hpp"

namespace waco::index {
namespace fs = std::filesystem;

using schedule::SuperSchedule;

namespace {

/// Of entries of the cache; 1 gzipped the vertices, 2 took less than half of the threads for some.
constexpr int kCacheVersion = 3;
constexpr std::string_view kEntryPrefix = "index-";

/// All that the folder of an index may hold.
constexpr std::array<std::string_view, 5> kAllFiles{kManifestFile, kVerticesFile, kPlainVerticesFile,
                                                    kEmbeddingsFile, kGraphFile};

/// The entry of the cache for what follows from vertices, model and machine.
std::string cache_name(const Manifest& manifest, int max_threads) {
  const GraphOptions& graph = manifest.options.graph;
  return std::string(kEntryPrefix) +
         content_hash(fmt::format("{} {} {} {} {} {} {} {} {}", kIndexVersion, kCacheVersion,
                                  manifest.model_hash, manifest.files.at(manifest.vertices_file()).hash,
                                  schedule::kEncodingVersion, max_threads, graph.links, graph.ef_construction,
                                  graph.seed))
             .substr(0, 16);
}

/// Whether a file is the manifest of an index, of whatever version, or a damaged one.
bool may_be_manifest(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  return !nlohmann::json::accept(read_file(file)) || is_artifact(file, kIndexFormat);
}

VertexList vertices_of(const fs::path& folder, const Manifest& manifest) {
  const fs::path file = folder / manifest.vertices_file();
  MappedFile content = checked_file(folder, manifest, manifest.vertices_file());
  VertexList vertices = manifest.has(kPlainVerticesFile)
                            ? VertexList::view(file.string(), std::move(content), manifest.op)
                            : VertexList::read(file, manifest.op);
  if (vertices.size() != manifest.num_vertices)
    throw InputError(
        file.string(), 0,
        fmt::format("holds {} vertices and should hold {}", vertices.size(), manifest.num_vertices));
  return vertices;
}

/// Throws UsageError when `folder` is there, and no index, or holds more than one.
void check_is_ours(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  const bool is_folder = fs::is_directory(folder, error);
  if (is_folder && fs::is_empty(folder, error)) return;
  if (!is_folder || !may_be_manifest(folder / kManifestFile))
    throw UsageError(fmt::format("{} exists and is not an index; name another folder", folder.string()));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kAllFiles.begin(), kAllFiles.end(), name) == kAllFiles.end() || !entry.is_regular_file())
      throw UsageError(fmt::format("{} holds {}, which is no part of an index; name another folder",
                                   folder.string(), name));
  }
}

/// Its name without a slash at the end.
fs::path without_slash(const fs::path& folder) {
  return folder.filename().empty() ? folder.parent_path() : folder;
}

/// An empty folder beside `folder`, or beside what that leads to, which is to take its place. Those of runs
/// that were killed go.
fs::path make_fresh(const fs::path& folder) {
  std::error_code none;
  fs::path place = fs::canonical(folder, none);
  if (none) place = without_slash(folder);
  const fs::path parent = place.parent_path();
  remove_leftovers(parent.empty() ? "." : parent, place.filename().string() + ".tmp.");
  const fs::path fresh = temporary_name(place);
  std::error_code error;
  if (!fs::create_directory(fresh, error))
    throw EnvironmentError(fmt::format("{}: can't be created: {}", folder.string(), error.message()));
  return fresh;
}

}  // namespace

struct Index::State {
  explicit State(VertexList list) : vertices(std::move(list)) {}

  VertexList vertices;
  Manifest manifest;  ///< its files are those of `home`
  EmbeddedVertices embedded;
  fs::path home;   ///< the folder that holds the graph, if its manifest says so; may be empty
  fs::path cache;  ///< the folder that a graph made here is kept in; may be empty

  void read_embeddings(const fs::path& folder);
  bool read_cached(const ModelSource& source);
  void keep_embeddings();
  void write_to(const fs::path& folder, const char* vertices_file, bool vertices_only);
  void make_graph();
  bool read_graph();
  void keep_graph();

  std::once_flag graph_once;
  std::optional<Graph> graph;
};

void Index::State::read_embeddings(const fs::path& folder) {
  embedded =
      EmbeddedVertices((folder / kEmbeddingsFile).string(), checked_file(folder, manifest, kEmbeddingsFile),
                       vertices.size(), manifest.embedding_size);
}

/// Files first, the manifest that vouches for them last. Vertices are gzipped, or not, as their file's name
/// says.
void Index::State::write_to(const fs::path& folder, const char* vertices_file, bool vertices_only) {
  Manifest written = manifest;
  written.files.clear();
  const auto add = [&](const char* name) { written.files[name] = describe_file(folder / name); };
  const bool plain = vertices_file == std::string_view(kPlainVerticesFile);
  write_file_atomically(folder / vertices_file, plain ? vertices.plain() : vertices.compressed());
  add(vertices_file);
  if (!vertices_only) {
    embedded.write(folder / kEmbeddingsFile);
    add(kEmbeddingsFile);
    if (graph) {
      graph->save(folder / kGraphFile);
      add(kGraphFile);
    }
  }
  write_manifest(folder, written);
}

/// Whether the cache has everything; an entry that is damaged or of another model counts as none.
bool Index::State::read_cached(const ModelSource& source) {
  std::error_code error;
  if (cache.empty() || !fs::exists(cache / kManifestFile, error)) return false;
  Manifest wanted = manifest;
  try {
    manifest = read_manifest(cache);
    check_pairing(cache, manifest, source);
    if (manifest.num_vertices != wanted.num_vertices)
      throw InputError(cache.string(), 0, "is of another size");
    vertices = vertices_of(cache, manifest);
    read_embeddings(cache);
    note_use(cache / kManifestFile);
    return true;
  } catch (const Error& fault) {
    spdlog::debug("{}; made again", fault.what());
    manifest = std::move(wanted);
    return false;
  }
}

void Index::State::keep_embeddings() {
  if (cache.empty()) return;
  try {
    make_private_folder(cache);
    remove_leftovers(cache);
    write_to(cache, kPlainVerticesFile, false);
    remove_unused_entries(cache.parent_path(), kEntryPrefix, kManifestFile);
  } catch (const Error& error) {
    spdlog::warn("{}; the vertices are embedded again next time", error.what());
    cache.clear();
  }
}

bool Index::State::read_graph() {
  if (home.empty() || !manifest.has(kGraphFile)) return false;
  try {
    checked_file(home, manifest, kGraphFile);
    graph.emplace(Graph::load(home / kGraphFile, vertices.size(), manifest.options.graph));
    return true;
  } catch (const InputError&) {
    if (home != cache) throw;
    return false;  // an entry of the cache is made again
  }
}

void Index::State::keep_graph() {
  if (cache.empty()) return;
  try {
    graph->save(cache / kGraphFile);
    Manifest kept = read_manifest(cache);
    kept.files[kGraphFile] = describe_file(cache / kGraphFile);
    write_manifest(cache, kept);
  } catch (const Error& error) {
    spdlog::warn("{}; the graph is built again next time", error.what());
  }
}

void Index::State::make_graph() {
  if (read_graph()) return;
  spdlog::info("linking {} vertices of the index", vertices.size());
  Progress progress("linking vertices", vertices.size());
  graph.emplace(Graph::build(embedded.embeddings(), vertices.size(), manifest.embedding_size,
                             manifest.options.graph, [&] { progress.advance(); }));
  keep_graph();
}

Index::Index(std::unique_ptr<State> state) : state_(std::move(state)) {}
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

Index::Index(VertexList vertices, const model::LearnedModel& model, IndexOptions options)
    : state_(std::make_unique<State>(std::move(vertices))) {
  WACO_ASSERT(state_->vertices.size() > 0);
  Manifest& manifest = state_->manifest;
  manifest.op = model.op();
  manifest.model_hash = model.hash();
  manifest.encoding_version = schedule::kEncodingVersion;
  manifest.embedding_size = model.embedding_size();
  manifest.num_vertices = state_->vertices.size();
  manifest.options = std::move(options);
  state_->embedded = EmbeddedVertices(state_->vertices, model, manifest.options.max_threads);
}

VertexList Index::read_vertices(const fs::path& folder) {
  return vertices_of(folder, read_manifest(folder));
}

Index Index::open(const fs::path& folder, const ModelSource& source, int max_threads, const fs::path& cache) {
  const Manifest manifest = read_manifest(folder);
  check_pairing(folder, manifest, source);
  auto state = std::make_unique<State>(VertexList(manifest.op));
  state->manifest = manifest;
  if (manifest.options.max_threads == max_threads && manifest.has(kEmbeddingsFile)) {
    state->home = folder;
    state->vertices = vertices_of(folder, manifest);
    state->read_embeddings(folder);
    return Index(std::move(state));
  }
  state->manifest.options.max_threads = max_threads;
  state->manifest.files.clear();
  if (!cache.empty()) state->home = state->cache = cache / cache_name(manifest, max_threads);
  if (!state->read_cached(source)) {
    state->vertices = vertices_of(folder, manifest);
    state->embedded = EmbeddedVertices(state->vertices, source.model, max_threads);
    state->keep_embeddings();
  }
  return Index(std::move(state));
}

void Index::check_is_index(const fs::path& folder) {
  read_manifest(folder);
}

void Index::check_replaceable(const fs::path& folder) {
  check_is_ours(folder);
  fs::remove(make_fresh(folder));
}

void Index::write(const fs::path& folder, bool vertices_only) const {
  check_is_ours(folder);
  if (!vertices_only) graph();
  const fs::path fresh = make_fresh(folder);
  try {
    state_->write_to(fresh, kVerticesFile, vertices_only);
    replace_folder(fresh, without_slash(folder));
  } catch (...) {
    std::error_code error;
    fs::remove_all(fresh, error);
    throw;
  }
}

schedule::Op Index::op() const {
  return state_->manifest.op;
}
int64_t Index::size() const {
  return state_->vertices.size();
}
int Index::embedding_size() const {
  return state_->manifest.embedding_size;
}
const float* Index::embeddings() const {
  return state_->embedded.embeddings();
}
Needs Index::needs(int64_t vertex) const {
  return state_->embedded.needs(vertex);
}
const VertexList& Index::vertices() const {
  return state_->vertices;
}

std::optional<SuperSchedule> Index::bind(int64_t vertex, const schedule::ScheduleSpace& space) const {
  return index::bind(state_->vertices.vertex(vertex), space);
}

const Graph& Index::graph() const {
  std::call_once(state_->graph_once, [this] { state_->make_graph(); });
  return *state_->graph;
}

}  // namespace waco::index
