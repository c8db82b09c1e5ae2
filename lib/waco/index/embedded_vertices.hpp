// What retrieval reads of the vertices: their embeddings, and what they need of a problem.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "waco/base/mapped_file.hpp"
#include "waco/index/vertex_list.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace waco::index {

/// Immutable; copies share the numbers, which may lie in a mapped file.
class EmbeddedVertices {
 public:
  EmbeddedVertices() = default;  ///< of no vertices
  /// As `model` sees them on a machine of `max_threads`. Throws InputError when a line is not a vertex.
  EmbeddedVertices(const VertexList& vertices, const model::LearnedModel& model, int max_threads);
  /// From a file that write() made; `source` names it in errors. Throws InputError when it holds something
  /// else.
  EmbeddedVertices(std::string source, MappedFile file, int64_t num_vertices, int size);

  /// A safetensors file with the tensors `embeddings` [vertices, E] and `needs` [vertices, 5]: splits, tile,
  /// some threads. Throws EnvironmentError.
  void write(const std::filesystem::path& file) const;

  const float* embeddings() const { return embeddings_.data(); }  ///< [vertices, E], row-major
  Needs needs(int64_t vertex) const;

 private:
  std::shared_ptr<const void> owner_;  ///< of what the others show
  std::span<const float> embeddings_;
  std::span<const float> needs_;
  int size_ = 0;  ///< E
};

}  // namespace waco::index
