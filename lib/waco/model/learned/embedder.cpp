// Tables are folded into the first layer when a model is loaded; points are embedded in blocks.
#include "waco/model/learned/embedder.hpp"

#include <algorithm>

#include "waco/base/error.hpp"

namespace waco::model {
namespace {

constexpr int kTable = 16;  // width of a table's row, and of the three layers beside them
constexpr int kParts = 3;   // levels, loops, numbers
constexpr int kBlock = 48;  // points

/// Inputs [begin, begin + count) of a layer as a layer of its own, without bias.
Dense inputs_of(const Dense& layer, int begin, int count) {
  Dense part = layer;
  part.inputs = count;
  const auto first = layer.weight.begin() + static_cast<std::ptrdiff_t>(begin) * layer.padded;
  part.weight.assign(first, first + static_cast<std::ptrdiff_t>(count) * layer.padded);
  return part;
}

/// A layer applied to a permutation matrix: the sum of the weights of its ones. y [padded].
void apply_to_ones(const Dense& layer, const std::vector<float>& matrix, float* y) {
  std::copy(layer.bias.begin(), layer.bias.end(), y);
  for (size_t n = 0; n < matrix.size(); ++n)
    if (matrix[n] != 0)
      dense_kernels().add(layer.weight.data() + n * static_cast<size_t>(layer.padded), layer.padded, y);
}

}  // namespace

struct Embedder::Scratch {
  std::vector<float> parts;    ///< [kBlock, 3 * padded(16)]
  std::vector<float> wide;     ///< [kBlock, padded(128)]
  std::vector<float> narrow;   ///< [kBlock, padded(E)]
  std::vector<float> numbers;  ///< [N]
};

Embedder::Embedder(const TensorFile& file, schedule::Op op)
    : layout_(schedule::encoding_layout(op)),
      numbers_(file, "numbers", static_cast<int>(layout_.numbers.size())),
      levels_(file, "embedder.levels", kTable, layout_.num_level_vars * layout_.num_level_vars),
      loops_(file, "embedder.loops", kTable, layout_.num_loop_vars * layout_.num_loop_vars),
      number_layer_(file, "embedder.numbers", kTable, numbers_.size()) {
  const int num_fields = static_cast<int>(layout_.categories.size());
  const Dense whole(file, "embedder.fc1", -1, kTable * (num_fields + kParts));
  fc2_ = Dense(file, "embedder.fc2", -1, whole.outputs);
  fc1_ = inputs_of(whole, kTable * num_fields, kTable * kParts);
  for (int f = 0; f < num_fields; ++f) {
    const schedule::CategoryField& field = layout_.categories[static_cast<size_t>(f)];
    std::vector<float> rows =
        file.get("embedder.table." + field.name + ".weight", {field.num_values, kTable}).data;
    for (float& value : rows) value = std::max(value, 0.0f);
    std::vector<float> folded(static_cast<size_t>(field.num_values) * static_cast<size_t>(whole.padded),
                              0.0f);
    const Dense part = inputs_of(whole, kTable * f, kTable);
    dense_kernels().multiply(rows.data(), kTable, field.num_values, kTable, part.weight.data(), whole.padded,
                             folded.data());
    tables_.push_back(std::move(folded));
  }
}

void Embedder::embed_block(std::span<const schedule::SuperSchedule> points, int max_threads, Scratch& s,
                           float* embeddings) const {
  const DenseKernels& kernels = dense_kernels();
  const int count = static_cast<int>(points.size());
  const int padded = levels_.padded;
  s.parts.resize(static_cast<size_t>(kBlock * kParts * padded));
  s.wide.resize(static_cast<size_t>(kBlock * fc1_.padded));
  s.narrow.resize(static_cast<size_t>(kBlock * fc2_.padded));
  s.numbers.resize(layout_.numbers.size());
  for (int n = 0; n < count; ++n) {
    const schedule::Encoding code = schedule::encode(points[static_cast<size_t>(n)], max_threads);
    float* wide = s.wide.data() + n * fc1_.padded;
    std::copy(fc1_.bias.begin(), fc1_.bias.end(), wide);
    for (size_t f = 0; f < tables_.size(); ++f)
      kernels.add(tables_[f].data() + code.categories[f] * fc1_.padded, fc1_.padded, wide);
    float* parts = s.parts.data() + n * kParts * padded;
    apply_to_ones(levels_, code.levels, parts);
    apply_to_ones(loops_, code.loops, parts + padded);
    numbers_.apply(code.numbers.data(), s.numbers.data());
    number_layer_.apply(s.numbers.data(), number_layer_.inputs, 1, parts + 2 * padded);
  }
  kernels.relu(s.parts.data(), count * kParts * padded);
  kernels.multiply(s.parts.data(), kParts * padded, count, kTable * kParts, fc1_.weight.data(), fc1_.padded,
                   s.wide.data());
  kernels.relu(s.wide.data(), count * fc1_.padded);
  fc2_.apply(s.wide.data(), fc1_.padded, count, s.narrow.data());
  for (int n = 0; n < count; ++n)
    std::copy_n(s.narrow.data() + n * fc2_.padded, fc2_.outputs,
                embeddings + static_cast<int64_t>(n) * fc2_.outputs);
}

std::vector<float> Embedder::embed(std::span<const schedule::SuperSchedule> points, int max_threads) const {
  std::vector<float> embeddings(points.size() * static_cast<size_t>(size()));
  const auto num_blocks = static_cast<int64_t>((points.size() + kBlock - 1) / kBlock);
#pragma omp parallel if (num_blocks > 8)
  {
    Scratch scratch;
#pragma omp for schedule(dynamic, 4)
    for (int64_t block = 0; block < num_blocks; ++block) {
      const auto begin = static_cast<size_t>(block * kBlock);
      embed_block(points.subspan(begin, std::min<size_t>(kBlock, points.size() - begin)), max_threads,
                  scratch, embeddings.data() + begin * static_cast<size_t>(size()));
    }
  }
  return embeddings;
}

}  // namespace waco::model
