// What retrieval reads of the vertices: their embeddings, and what they need of a problem.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "waco/index/vertex_list.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace waco::index {

struct EmbeddedVertices {
  int size = 0;                   ///< E
  std::vector<float> embeddings;  ///< [vertices, E], row-major
  std::vector<Needs> needs;       ///< [vertices]
};

/// As `model` sees them on a machine of `max_threads`. Throws InputError when a line is not a vertex.
EmbeddedVertices embed(const VertexList& vertices, const model::LearnedModel& model, int max_threads);

/// A safetensors file with the tensors `embeddings` [vertices, E] and `needs` [vertices, 5]: splits, tile,
/// some threads.
void write_embedded(const EmbeddedVertices& embedded, const std::filesystem::path& file);
/// From the file's content; `source` names it in errors. Throws InputError when it holds something else.
EmbeddedVertices parse_embedded(std::string source, std::string_view content, int64_t num_vertices, int size);

}  // namespace waco::index
