// Embedding in batches, and the file of the result.
#include "waco/index/embedded_vertices.hpp"

#include <utility>
#include <vector>

#include "waco/base/progress.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/model/learned/tensor_views.hpp"

namespace waco::index {
namespace {

constexpr int64_t kNeedsSize = 5;
constexpr int64_t kBatch = 4096;

struct Numbers {
  std::vector<float> embeddings, needs;
};

/// Every number is exact in float.
void append(std::vector<float>& rows, const Needs& needs) {
  for (const int32_t split : needs.splits) rows.push_back(static_cast<float>(split));
  rows.push_back(static_cast<float>(needs.tile));
  rows.push_back(needs.some_threads ? 1.0f : 0.0f);
}

}  // namespace

EmbeddedVertices::EmbeddedVertices(const VertexList& vertices, const model::LearnedModel& model,
                                   int max_threads)
    : size_(model.embedding_size()) {
  auto numbers = std::make_shared<Numbers>();
  std::vector<schedule::SuperSchedule> batch;
  Progress progress("embedding vertices", vertices.size());
  for (int64_t v = 0; v < vertices.size(); ++v) {
    const schedule::SuperSchedule vertex = vertices.vertex(v);
    append(numbers->needs, needs_of(vertex));
    batch.push_back(on_machine(vertex, max_threads));
    if (static_cast<int64_t>(batch.size()) < kBatch && v + 1 < vertices.size()) continue;
    const std::vector<float> rows = model.embed_schedules(batch, max_threads);
    numbers->embeddings.insert(numbers->embeddings.end(), rows.begin(), rows.end());
    progress.advance(static_cast<int64_t>(batch.size()));
    batch.clear();
  }
  embeddings_ = numbers->embeddings;
  needs_ = numbers->needs;
  owner_ = std::move(numbers);
}

EmbeddedVertices::EmbeddedVertices(std::string source, MappedFile file, int64_t num_vertices, int size)
    : size_(size) {
  auto tensors = std::make_shared<const model::TensorViews>(std::move(source), std::move(file));
  embeddings_ = tensors->get("embeddings", {num_vertices, size});
  needs_ = tensors->get("needs", {num_vertices, kNeedsSize});
  owner_ = std::move(tensors);
}

void EmbeddedVertices::write(const std::filesystem::path& file) const {
  const int64_t count = std::ssize(needs_) / kNeedsSize;
  model::TensorFile tensors;
  tensors.set("embeddings", {count, size_}, {embeddings_.begin(), embeddings_.end()});
  tensors.set("needs", {count, kNeedsSize}, {needs_.begin(), needs_.end()});
  tensors.write(file);
}

Needs EmbeddedVertices::needs(int64_t vertex) const {
  const std::span<const float> row =
      needs_.subspan(static_cast<size_t>(vertex * kNeedsSize), static_cast<size_t>(kNeedsSize));
  Needs needs;
  for (size_t mode = 0; mode < needs.splits.size(); ++mode)
    needs.splits[mode] = static_cast<int32_t>(row[mode]);
  needs.tile = static_cast<int32_t>(row[3]);
  needs.some_threads = row[4] != 0;
  return needs;
}

}  // namespace waco::index
