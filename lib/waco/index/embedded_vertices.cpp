// Embedding in batches, and the file of the result.
#include "waco/index/embedded_vertices.hpp"

#include "waco/base/progress.hpp"
#include "waco/model/learned/tensor_file.hpp"

namespace waco::index {
namespace {

constexpr int64_t kNeedsSize = 5;
constexpr int64_t kBatch = 4096;

/// Every number is exact in float.
void append(std::vector<float>& rows, const Needs& needs) {
  for (const int32_t split : needs.splits) rows.push_back(static_cast<float>(split));
  rows.push_back(static_cast<float>(needs.tile));
  rows.push_back(needs.some_threads ? 1.0f : 0.0f);
}

Needs needs_from(const float* row) {
  Needs needs;
  for (size_t mode = 0; mode < 3; ++mode) needs.splits[mode] = static_cast<int32_t>(row[mode]);
  needs.tile = static_cast<int32_t>(row[3]);
  needs.some_threads = row[4] != 0;
  return needs;
}

}  // namespace

EmbeddedVertices embed(const VertexList& vertices, const model::LearnedModel& model, int max_threads) {
  EmbeddedVertices result;
  result.size = model.embedding_size();
  std::vector<schedule::SuperSchedule> batch;
  Progress progress("embedding vertices", vertices.size());
  for (int64_t v = 0; v < vertices.size(); ++v) {
    const schedule::SuperSchedule vertex = vertices.vertex(v);
    result.needs.push_back(needs_of(vertex));
    batch.push_back(on_machine(vertex, max_threads));
    if (static_cast<int64_t>(batch.size()) < kBatch && v + 1 < vertices.size()) continue;
    const std::vector<float> rows = model.embed_schedules(batch, max_threads);
    result.embeddings.insert(result.embeddings.end(), rows.begin(), rows.end());
    progress.advance(static_cast<int64_t>(batch.size()));
    batch.clear();
  }
  return result;
}

void write_embedded(const EmbeddedVertices& embedded, const std::filesystem::path& file) {
  const auto count = static_cast<int64_t>(embedded.needs.size());
  std::vector<float> rows;
  for (const Needs& needs : embedded.needs) append(rows, needs);
  model::TensorFile tensors;
  tensors.set("embeddings", {count, embedded.size}, embedded.embeddings);
  tensors.set("needs", {count, kNeedsSize}, std::move(rows));
  tensors.write(file);
}

EmbeddedVertices parse_embedded(std::string source, std::string_view content, int64_t num_vertices,
                                int size) {
  model::TensorFile tensors = model::TensorFile::parse(std::move(source), content);
  EmbeddedVertices result;
  result.size = size;
  result.embeddings = tensors.take("embeddings", {num_vertices, size});
  result.needs.reserve(static_cast<size_t>(num_vertices));
  const std::vector<float>& rows = tensors.get("needs", {num_vertices, kNeedsSize}).data;
  for (int64_t v = 0; v < num_vertices; ++v) result.needs.push_back(needs_from(rows.data() + v * kNeedsSize));
  return result;
}

}  // namespace waco::index
