// See packing_inputs.hpp.
#include "packing_inputs.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "waco/schedule/loop_nest.hpp"

namespace waco::codegen {

using matrix::SparseTensor;
using schedule::FormatSchedule;
using schedule::Level;
using schedule::LevelKind;
using schedule::Op;

namespace {

constexpr const char* kDirectTensors[] = {"i1:U i0:U k:L l:S", "i1:U i0:U k:E l:S", "k:U i:C l:S",
                                          "l:U k1:U i:C k0:S", "i:U l:U k:C"};

/// A legal format schedule of 2 or 3 modes, or nullopt when the draw went against a rule.
std::optional<FormatSchedule> draw_format(Random& random, int order) {
  static constexpr int kSplits[] = {1, 1, 1, 2, 3, 4, 7, 8, 64};
  FormatSchedule format;
  const bool sliced = random.chance(0.3);
  std::vector<schedule::Var> open;
  for (int m = 0; m < order; ++m) {
    format.split[m] = kSplits[random.below(std::size(kSplits))];
    if (m == 0 && sliced && format.split[0] == 1) format.split[0] = 4;
    open.push_back({static_cast<int8_t>(m), false});
  }
  while (!open.empty()) {
    const size_t depth = format.levels.size();
    const size_t pick = sliced && depth < 2 ? 0 : random.below(open.size());
    const schedule::Var var = open[pick];
    open.erase(open.begin() + pick);
    const int split = format.split[var.index];
    if (split > 1 && !var.inner) open.insert(sliced ? open.begin() : open.end(), {var.index, true});
    const LevelKind above = depth > 0 ? format.levels.back().kind : LevelKind::kUncompressed;
    LevelKind kind = random.chance(0.5) ? LevelKind::kUncompressed : LevelKind::kCompressed;
    if (above != LevelKind::kUncompressed && random.chance(0.5)) kind = LevelKind::kSingleton;
    if (sliced && depth < 2) kind = LevelKind::kUncompressed;
    if (sliced && depth == 2) kind = random.chance(0.5) ? LevelKind::kEll : LevelKind::kSliced;
    if (sliced && depth > 2 && kind == LevelKind::kCompressed) return std::nullopt;
    if (sliced && depth > 2 && kind == LevelKind::kUncompressed && !var.inner) return std::nullopt;
    format.levels.push_back({var, kind});
  }
  if (sliced && random.chance(0.5))
    format.sort_window = format.split[0] * int64_t{1 + int64_t(random.below(6))};
  const bool stores = std::any_of(format.levels.begin(), format.levels.end(),
                                  [](const Level& level) { return level.kind != LevelKind::kUncompressed; });
  return stores ? std::optional(format) : std::nullopt;
}

}  // namespace

SparseTensor make_tensor(std::vector<int64_t> dims, const std::set<std::vector<int64_t>>& entries) {
  SparseTensor tensor;
  tensor.name = "test";
  tensor.coords.resize(dims.size());
  tensor.dims = std::move(dims);
  for (const std::vector<int64_t>& entry : entries) {
    for (size_t m = 0; m < entry.size(); ++m) tensor.coords[m].push_back(entry[m]);
    tensor.values.push_back(static_cast<double>(tensor.values.size() + 1));
  }
  return tensor;
}

std::vector<int64_t> random_dims(Random& random, int order) {
  std::vector<int64_t> dims;
  for (int m = 0; m < order; ++m)
    dims.push_back(random.chance(0.15) ? 1 : 1 + int64_t(random.below(order == 2 ? 45 : 14)));
  return dims;
}

SparseTensor random_tensor(Random& random, std::vector<int64_t> dims, int64_t nnz) {
  std::set<std::vector<int64_t>> entries;
  const int64_t crowded = dims[0] > 0 ? static_cast<int64_t>(random.below(dims[0])) : 0;
  for (int64_t n = 0; n < nnz; ++n) {
    std::vector<int64_t> entry;
    for (int64_t dim : dims) entry.push_back(static_cast<int64_t>(random.below(dim)));
    if (random.chance(0.3)) entry[0] = crowded;
    entries.insert(entry);
  }
  return make_tensor(std::move(dims), entries);
}

SparseTensor shuffled(SparseTensor tensor, Random& random) {
  for (int64_t n = tensor.num_nonzeros() - 1; n > 0; --n) {
    const auto other = static_cast<int64_t>(random.below(static_cast<uint64_t>(n) + 1));
    for (auto& coords : tensor.coords) std::swap(coords[n], coords[other]);
    std::swap(tensor.values[n], tensor.values[other]);
  }
  return tensor;
}

FormatSchedule random_format(Random& random, const std::vector<int64_t>& dims) {
  while (true) {
    const auto format = draw_format(random, static_cast<int>(dims.size()));
    if (!format) continue;
    int64_t dense = 1;
    for (const Level& level : format->levels)
      if (level.kind == LevelKind::kUncompressed)
        dense *= std::max<int64_t>(schedule::extent(*format, level.var, dims.data()), 1);
    if (dense <= 20000) return *format;
  }
}

FormatSchedule direct_format(Random& random, int order) {
  static constexpr int kSplits[] = {2, 3, 4, 7, 8, 16, 64};
  const std::string levels = order == 2 ? kDirectMatrices[random.below(std::size(kDirectMatrices))]
                                        : kDirectTensors[random.below(std::size(kDirectTensors))];
  std::string text = levels;
  const int i = kSplits[random.below(std::size(kSplits))];
  if (levels.find("i1") != std::string::npos) text += " i/" + std::to_string(i);
  if (levels.find("k1") != std::string::npos)
    text += " k/" + std::to_string(kSplits[random.below(std::size(kSplits))]);
  const bool sliced = levels.find(":L") != std::string::npos || levels.find(":E") != std::string::npos;
  if (sliced && random.chance(0.6)) text += " sort:" + std::to_string(i * (1 + random.below(9)));
  return format_of(text, order == 2 ? Op::kSpmv : Op::kMttkrp);
}

FormatSchedule format_of(const std::string& text, Op op) {
  // Levels and brackets only; the loops that complete a point play no part here.
  FormatSchedule format;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.rfind("sort:", 0) == 0) {
      format.sort_window = std::stoll(word.substr(5));
      continue;
    }
    const size_t slash = word.find('/'), colon = word.find(':');
    if (const auto arrangement = schedule::parse_arrangement(word.substr(0, colon))) {
      format.arrangement = *arrangement;
      if (colon != std::string::npos) format.cluster_window = std::stoll(word.substr(colon + 1));
      continue;
    }
    int8_t index = 0;
    while (schedule::index_name(op, index) != word[0]) ++index;
    if (slash != std::string::npos) {
      format.split[index] = std::stoi(word.substr(slash + 1));
    } else {
      format.levels.push_back({{index, word[1] == '0'}, schedule::parse_level_kind(word[colon + 1]).value()});
    }
  }
  return format;
}

Op op_of(const SparseTensor& tensor) {
  return tensor.order() == 3 ? Op::kMttkrp : Op::kSpmv;
}

}  // namespace waco::codegen
