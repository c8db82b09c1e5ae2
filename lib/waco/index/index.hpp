// An index: vertices of one op with the embeddings that one model gives them, and the graph that links them.
// The interface of this folder; the files are described in docs/file-formats.md.
//
// What ships is the vertices. Embeddings and graph follow from them, a model and the threads of the machine:
// they are made in seconds where they are missing, and kept in the cache folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waco/index/graph.hpp"
#include "waco/index/vertex_list.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace waco::index {

inline constexpr const char* kIndexFormat = "waco-index";
inline constexpr int kIndexVersion = 1;

/// A model and where it was read from, which errors name.
struct ModelSource {
  const model::LearnedModel& model;
  std::filesystem::path folder;
};

/// How an index is laid out, and what its manifest says about its making.
struct IndexOptions {
  GraphOptions graph;
  int max_threads = 1;  ///< of the machine it is searched on
  nlohmann::ordered_json created_by;
  nlohmann::ordered_json sources;  ///< of the vertices
};

/// Immutable to its users, so threads may share it.
class Index {
 public:
  /// Embeds the vertices; the graph is built when it is first asked for.
  Index(VertexList vertices, const model::LearnedModel& model, IndexOptions options);

  /// Reads an index for a machine of `max_threads`. What the folder lacks, or has for another number of
  /// threads, comes from `cache` or is made and kept there; an empty path keeps nothing.
  ///
  /// Throws InputError, naming the command that repairs it, when the folder is no index, is damaged, or
  /// belongs to another model, op or encoding.
  static Index open(const std::filesystem::path& folder, const ModelSource& model, int max_threads,
                    const std::filesystem::path& cache = {});
  /// Throws InputError when the folder is no index, as open() does before it reads vertices.
  static void check_is_index(const std::filesystem::path& folder);
  /// The vertices alone, whatever model the index is for. Throws InputError.
  static VertexList read_vertices(const std::filesystem::path& folder);

  /// Throws as write() would before it writes: UsageError when `folder` is there, and no index, or holds more
  /// than one, and EnvironmentError when there can be no folder of that name. Leaves nothing behind.
  static void check_replaceable(const std::filesystem::path& folder);

  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;

  /// Replaces `folder`, which may be an index or not exist, in one step. With `vertices_only` the rest is
  /// left to the first use. Throws UsageError when something else has that name, EnvironmentError when it
  /// can't be written.
  void write(const std::filesystem::path& folder, bool vertices_only = false) const;

  schedule::Op op() const;
  int64_t size() const;             ///< vertices
  int embedding_size() const;       ///< E
  const float* embeddings() const;  ///< [size(), E]
  Needs needs(int64_t vertex) const;
  /// The point of the space that a vertex stands for; nullopt when its needs are not met.
  std::optional<schedule::SuperSchedule> bind(int64_t vertex, const schedule::ScheduleSpace& space) const;
  /// Read or built at the first call, which may take seconds.
  const Graph& graph() const;
  const VertexList& vertices() const;

 private:
  struct State;
  explicit Index(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace waco::index
