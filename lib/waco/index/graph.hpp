// The graph of an index: vertices linked to those with near embeddings, and the walk over it that follows
// falling costs (paper section 4.2). hnswlib builds and walks it; its distance is L2 while building and the
// predicted cost while searching.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

namespace waco::index {

struct GraphOptions {
  int links = 16;             ///< of a vertex on the upper layers; twice as many on the lowest
  int ef_construction = 200;  ///< candidates kept while a vertex is linked
  uint64_t seed = 1;          ///< of the layers
  bool operator==(const GraphOptions&) const = default;
};

/// A vertex that a walk looked at.
struct Visit {
  int64_t vertex = 0;
  float cost = 0;
};

/// Immutable once built; searches may run at the same time.
class Graph {
 public:
  /// Links `count` vertices with embeddings [count, size], row-major. Vertices are inserted one after the
  /// other by one thread: the same input gives the same graph. `on_vertex` is called after each.
  static Graph build(const float* embeddings, int64_t count, int size, const GraphOptions& options,
                     const std::function<void()>& on_vertex = {});
  /// Throws InputError when the file is not the graph of `count` vertices made with `options`.
  static Graph load(const std::filesystem::path& file, int64_t count, const GraphOptions& options);
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  /// Throws EnvironmentError. The file is complete when this returns, and takes its place in one step.
  void save(const std::filesystem::path& file) const;

  /// Walks from the entry to where costs are least, keeping the `ef` cheapest vertices as starting points.
  /// Returns every vertex whose cost was asked for, in order and once each. `cost` may keep state: it is
  /// called by this thread only.
  std::vector<Visit> search(const std::function<float(int64_t vertex)>& cost, int64_t ef) const;

 private:
  struct State;
  explicit Graph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace waco::index
