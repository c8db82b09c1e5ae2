// The families' registry, and their text form.
#include "waco/matrix/synthetic.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

std::vector<SyntheticFamily> make_families() {
  constexpr double kMany = 1 << 24;
  const SyntheticParameter rows = {"rows", 10000, 1, 1e9};
  const SyntheticParameter cols = {"cols", 10000, 1, 1e9};
  const SyntheticParameter degree = {"degree", 16, 0, 1e5, true};
  return {
      {"stencil2d",
       "n x n grid, 5 or 9 points",
       {{"n", 100, 1, 1 << 14}, {"points", 5, 5, 9}},
       make_stencil2d},
      {"stencil3d",
       "n x n x n grid, 7 or 27 points",
       {{"n", 30, 1, 1 << 9}, {"points", 7, 7, 27}},
       make_stencil3d},
      {"fem",
       "brick mesh of nx x ny x nz nodes, every node coupled to its up to 27 neighbours by dense dof x dof "
       "blocks",
       {{"nx", 12, 1, 4096}, {"ny", 12, 1, 4096}, {"nz", 12, 1, 4096}, {"dof", 3, 1, 12}},
       make_fem},
      {"road",
       "planar, nearly a thinned n x n grid, with a few long connections",
       {{"n", 200, 1, 1 << 14}, {"keep", 0.62, 0, 1, true}},
       make_road},
      {"banded",
       "half-bandwidth `band`, filled to `fill`",
       {{"n", 10000, 1, kMany}, {"band", 8, 0, 1e5}, {"fill", 1, 0, 1, true}},
       make_banded},
      {"blockdiag",
       "dense blocks on the diagonal",
       {{"blocks", 1000, 1, kMany}, {"size", 6, 1, 1024}},
       make_blockdiag},
      {"arrow",
       "tridiagonal, with `width` full first rows and columns",
       {{"n", 10000, 1, kMany}, {"width", 2, 0, 256}},
       make_arrow},
      {"lp",
       "linear program: short columns in a staircase of stages, a few linking rows, slack columns",
       {{"rows", 2000, 4, kMany}, {"cols", 6000, 4, kMany}, {"stages", 20, 1, 1e5}, {"linking", 10, 0, 1e4}},
       make_lp},
      {"rmat", "power-law graph of 2^scale vertices", {{"scale", 13, 1, 26}, degree}, make_rmat},
      {"uniform", "random, `degree` nonzeros a row", {rows, cols, degree}, make_uniform},
      {"dense-rows",
       "uniform, with `dense` rows that are half full",
       {{"n", 10000, 1, kMany}, {"degree", 4, 0, 1e5, true}, {"dense", 4, 0, 1e4}},
       make_dense_rows},
      {"tensor",
       "random i x k x l tensor",
       {{"i", 1000, 1, 1e9}, {"k", 800, 1, 1e9}, {"l", 60, 1, 1e9}, {"nnz", 50000, 0, 1e9}},
       make_tensor_uniform},
      {"tensor-power",
       "random i x k x l tensor with few frequent and many rare indices; `skew` 1 is uniform",
       {{"i", 1000, 1, 1e9},
        {"k", 800, 1, 1e9},
        {"l", 60, 1, 1e9},
        {"nnz", 50000, 0, 1e9},
        {"skew", 3, 1, 8}},
       make_tensor_power},
  };
}

const SyntheticFamily& find_family(std::string_view name) {
  std::string known;
  for (const SyntheticFamily& family : synthetic_families()) {
    if (family.name == name) return family;
    known += (known.empty() ? "" : ", ") + family.name;
  }
  throw UsageError(fmt::format("unknown synthetic family '{}'; there are {}", name, known));
}

double parse_number(std::string_view family, std::string_view word, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw UsageError(fmt::format("{}: '{}' needs a number behind '='", family, word));
  }
  return value;
}

uint64_t parse_seed(std::string_view family, std::string_view text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}: seed '{}' is not a whole number of 64 bits", family, text));
  }
  return seed;
}

void set(const SyntheticFamily& family, SyntheticSpec& spec, std::string_view word) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const std::string_view text = word.substr(std::min(equals + 1, word.size()));
  if (name == "seed") {
    spec.seed = parse_seed(family.name, text);
    return;
  }
  std::string known = "seed";
  for (size_t i = 0; i < family.parameters.size(); ++i) {
    const SyntheticParameter& parameter = family.parameters[i];
    known += ", " + parameter.name;
    if (parameter.name != name) continue;
    const double value = parse_number(family.name, word, text);
    if (value < parameter.least || value > parameter.most ||
        (!parameter.fraction && value != std::floor(value))) {
      throw UsageError(fmt::format("{}: {} must be a {} from {} to {}, not {}", family.name, name,
                                   parameter.fraction ? "number" : "whole number", parameter.least,
                                   parameter.most, text));
    }
    spec.parameters[i].second = value;
    return;
  }
  throw UsageError(fmt::format("{}: no parameter '{}'; there are {}", family.name, name, known));
}

}  // namespace

const std::vector<SyntheticFamily>& synthetic_families() {
  static const std::vector<SyntheticFamily> families = make_families();
  return families;
}

double SyntheticSpec::number(std::string_view name) const {
  for (const auto& [parameter, value] : parameters) {
    if (parameter == name) return value;
  }
  WACO_ASSERT(!"a parameter of the family");
  return 0;
}

SyntheticSpec parse_synthetic(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  if (words.empty()) throw UsageError("an empty synthetic matrix; write a family, such as 'stencil2d n=100'");
  const SyntheticFamily& family = find_family(words[0]);
  SyntheticSpec spec;
  spec.family = family.name;
  for (const SyntheticParameter& parameter : family.parameters) {
    spec.parameters.emplace_back(parameter.name, parameter.standard);
  }
  for (size_t i = 1; i < words.size(); ++i) set(family, spec, words[i]);
  return spec;
}

std::string to_text(const SyntheticSpec& spec) {
  std::string text = spec.family;
  for (const auto& [name, value] : spec.parameters) {
    text += value == std::floor(value) ? fmt::format(" {}={:.0f}", name, value)
                                       : fmt::format(" {}={}", name, value);
  }
  return text + fmt::format(" seed={}", spec.seed);
}

SparseTensor generate(const SyntheticSpec& spec) {
  SparseTensor tensor = find_family(spec.family).generate(spec);
  tensor.name = to_text(spec);
  std::replace(tensor.name.begin(), tensor.name.end(), ' ', '_');
  std::replace(tensor.name.begin(), tensor.name.end(), '=', '-');
  return tensor;
}

SparseTensor generate(std::string_view text) {
  return generate(parse_synthetic(text));
}

EntryList::EntryList(std::initializer_list<int64_t> dims) {
  tensor_.dims = dims;
  tensor_.coords.resize(dims.size());
}

void EntryList::add(int64_t row, int64_t col, double value) {
  tensor_.coords[0].push_back(row);
  tensor_.coords[1].push_back(col);
  tensor_.values.push_back(value);
}

void EntryList::add(int64_t i, int64_t k, int64_t l, double value) {
  tensor_.coords[2].push_back(l);
  add(i, k, value);
}

void EntryList::add_symmetric(int64_t row, int64_t col, double value) {
  add(row, col, value);
  if (row != col) add(col, row, value);
}

SparseTensor EntryList::finish() {
  sort_and_merge(tensor_);
  return std::move(tensor_);
}

double random_value(Random& random) {
  const double value = 2 * random.uniform() - 1;
  return value == 0 ? 1 : value;
}

}  // namespace waco::matrix
