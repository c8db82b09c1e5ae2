// The registry of families.
#include "waco/matrix/synthetic.hpp"

#include "waco/base/error.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/synthetic_families.hpp"

namespace waco::matrix {
namespace {

constexpr double kMany = 1 << 24;

using Families = std::vector<SyntheticFamily>;

RecipeParameter degree(double standard) {
  return {"degree", standard, 0, 1e5, true};
}

RecipeParameter size(const char* name, double standard, double least = 1) {
  return {name, standard, least, kMany};
}

RecipeParameter share(const char* name, double standard) {
  return {name, standard, 0, 1, true};
}

/// Frequent indices are the more frequent, the larger it is; 1 is uniform. Steps of a quarter.
RecipeParameter skew(const char* name, double standard) {
  return {name, standard, 1, 8, true};
}

void add_meshes(Families& families) {
  const RecipeParameter n = {"n", 100, 1, 1 << 14};
  const RecipeParameter side = {"nx", 12, 1, 4096};
  const RecipeParameter dof = {"dof", 3, 1, 12};
  const RecipeParameter ny = {"ny", 12, 1, 4096};
  const RecipeParameter nz = {"nz", 12, 1, 4096};
  families.push_back({{"stencil2d", "n x n grid, 5 or 9 points", {n, {"points", 5, 5, 9}}}, make_stencil2d});
  families.push_back(
      {{"stencil3d", "n x n x n grid, 7 or 27 points", {{"n", 30, 1, 1 << 9}, {"points", 7, 7, 27}}},
       make_stencil3d});
  families.push_back({{"fem",
                       "brick mesh of nx x ny x nz nodes, every node coupled to its up to 27 neighbours by "
                       "dense dof x dof blocks",
                       {side, ny, nz, dof}},
                      make_fem});
  families.push_back({{"scattered",
                       "nx x ny x nz scattered nodes, each coupled to those nearer than `reach` by dense "
                       "dof x dof blocks: rows of different lengths, as of unstructured meshes",
                       {{"nx", 60, 1, 4096},
                        {"ny", 60, 1, 4096},
                        {"nz", 1, 1, 4096},
                        {"reach", 1.5, 0, 8, true},
                        {"dof", 1, 1, 12}}},
                      make_scattered});
  families.push_back({{"road",
                       "planar, nearly a thinned n x n grid, with a few long connections",
                       {{"n", 200, 1, 1 << 14}, share("keep", 0.62)}},
                      make_road});
}

void add_structured(Families& families) {
  families.push_back({{"banded",
                       "half-bandwidth `band`, filled to `fill`",
                       {size("n", 10000), {"band", 8, 0, 1e5}, share("fill", 1)}},
                      make_banded});
  families.push_back({{"diagonals",
                       "the main diagonal and `count` others, at most `reach` away, filled to `fill`",
                       {size("n", 10000), {"count", 8, 0, 1e3}, size("reach", 500), share("fill", 1)}},
                      make_diagonals});
  families.push_back({{"blockdiag",
                       "dense blocks on the diagonal, of `size` rows and up to the share `vary` less",
                       {size("blocks", 1000), {"size", 6, 1, 1024}, share("vary", 0)}},
                      make_blockdiag});
  families.push_back({{"arrow",
                       "tridiagonal, with `width` full first rows and columns",
                       {size("n", 10000), {"width", 2, 0, 256}}},
                      make_arrow});
  families.push_back({{"kronecker",
                       "Kronecker power of a random `size` x `size` pattern with `ones` nonzeros",
                       {{"size", 4, 2, 64}, {"ones", 8, 1, 4096}, {"power", 5, 1, 24}}},
                      make_kronecker});
  families.push_back({{"spins",
                       "Hamiltonian of a ring of `sites` spins that swap with their neighbours; `field` 1 "
                       "flips single ones too",
                       {{"sites", 10, 2, 24}, {"field", 0, 0, 1}}},
                      make_spins});
}

void add_programs(Families& families) {
  families.push_back(
      {{"lp",
        "linear program: short columns in a staircase of stages, a few linking rows, slack "
        "columns",
        {size("rows", 2000, 4), size("cols", 6000, 4), {"stages", 20, 1, 1e5}, {"linking", 10, 0, 1e4}}},
       make_lp});
  families.push_back(
      {{"kkt",
        "quadratic program: [H A'; A 0], H of half-bandwidth `band`, rows of A with `degree`",
        {size("variables", 5000), size("constraints", 2000, 0), {"band", 1, 0, 1e4}, degree(4)}},
       make_kkt});
  families.push_back({{"circuit",
                       "symmetric, about `degree` mostly near neighbours a row, and `rails` rows and columns "
                       "that touch the share `touch`",
                       {size("n", 10000), degree(4), {"rails", 4, 0, 1e4}, share("touch", 0.3)}},
                      make_circuit});
}

void add_graphs(Families& families) {
  families.push_back(
      {{"rmat", "power-law graph of 2^scale vertices", {{"scale", 13, 1, 26}, degree(16)}}, make_rmat});
  families.push_back({{"chung-lu",
                       "power-law graph: symmetric, hubs anywhere, the share `local` of edges to near "
                       "vertices",
                       {size("n", 10000), degree(16), skew("skew", 2), share("local", 0)}},
                      make_chung_lu});
  families.push_back({{"web",
                       "pages of hosts of `host`, each with the share `copy` of its links those of the page "
                       "before it",
                       {size("n", 10000), degree(16), share("copy", 0.6), {"host", 64, 4, 1e5}}},
                      make_web});
  families.push_back(
      {{"bipartite",
        "users and items: rows and columns of very different lengths",
        {size("rows", 10000), size("cols", 2000), degree(16), skew("row_skew", 1.5), skew("col_skew", 2)}},
       make_bipartite});
}

void add_random(Families& families) {
  const RecipeParameter rows = {"rows", 10000, 1, 1e9};
  const RecipeParameter cols = {"cols", 10000, 1, 1e9};
  families.push_back(
      {{"uniform", "random, `degree` nonzeros a row", {rows, cols, degree(16)}}, make_uniform});
  families.push_back({{"dense-rows",
                       "uniform, with `dense` rows that are half full",
                       {size("n", 10000), degree(4), {"dense", 4, 0, 1e4}}},
                      make_dense_rows});
  families.push_back({{"pruned",
                       "weights of a layer: blocks kept with probability `density`, which varies by the "
                       "share `vary` from row to row",
                       {{"rows", 1024, 1, 1e6},
                        {"cols", 1024, 1, 1e6},
                        share("density", 0.1),
                        {"block_rows", 1, 1, 256},
                        {"block_cols", 1, 1, 256},
                        share("vary", 0.5)}},
                      make_pruned});
  families.push_back({{"blocks",
                       "random dense blocks, `degree` to a row of blocks, filled to `fill`",
                       {size("rows", 1000),
                        size("cols", 1000),
                        {"block_rows", 4, 1, 256},
                        {"block_cols", 4, 1, 256},
                        degree(4),
                        share("fill", 1)}},
                      make_blocks});
}

void add_tensors(Families& families) {
  const RecipeParameter i = {"i", 1000, 1, 1e9};
  const RecipeParameter k = {"k", 800, 1, 1e9};
  const RecipeParameter l = {"l", 60, 1, 1e9};
  const RecipeParameter nnz = {"nnz", 50000, 0, 1e9};
  families.push_back({{"tensor", "random i x k x l tensor", {i, k, l, nnz}}, make_tensor_uniform});
  families.push_back({{"tensor-power",
                       "random i x k x l tensor with few frequent and many rare indices; `skew` 1 is uniform",
                       {i, k, l, nnz, {"skew", 3, 1, 8}}},
                      make_tensor_power});
  families.push_back({{"tensor-modes",
                       "random i x k x l tensor, each mode with a skew of its own and frequent indices "
                       "anywhere",
                       {size("i", 1000), size("k", 800), size("l", 60), nnz, skew("skew_i", 1),
                        skew("skew_k", 2), skew("skew_l", 3)}},
                      make_tensor_modes});
  families.push_back({{"tensor-fibers",
                       "random fibers of the last mode, runs of about `length` near indices; rows by `skew`",
                       {size("i", 1000), k, l, nnz, {"length", 8, 1, 1e6}, skew("skew", 1.5)}},
                      make_tensor_fibers});
  families.push_back({{"tensor-blocks",
                       "random blocks of `side` in every mode, filled to `fill`",
                       {i, k, l, nnz, {"side", 4, 1, 64}, share("fill", 0.7)}},
                      make_tensor_blocks});
  families.push_back({{"tensor-band",
                       "random tensor near the diagonal: every index at most `reach` from its place on it",
                       {i, k, l, nnz, {"reach", 20, 0, 1e6}}},
                      make_tensor_band});
}

Families make_families() {
  Families families;
  add_meshes(families);
  add_structured(families);
  add_programs(families);
  add_graphs(families);
  add_random(families);
  add_tensors(families);
  return families;
}

const SyntheticFamily& find_family(std::string_view name) {
  std::string known;
  for (const SyntheticFamily& family : synthetic_families()) {
    if (family.name == name) return family;
    known += (known.empty() ? "" : ", ") + family.name;
  }
  throw UsageError(fmt::format("unknown synthetic family '{}'; there are {}", name, known));
}

}  // namespace

const std::vector<SyntheticFamily>& synthetic_families() {
  static const std::vector<SyntheticFamily> families = make_families();
  return families;
}

Recipe parse_synthetic(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text, 1);
  if (words.empty()) throw UsageError("an empty synthetic matrix; write a family, such as 'stencil2d n=100'");
  return parse_recipe(find_family(words[0]), text);
}

SparseTensor generate(const Recipe& recipe) {
  SparseTensor tensor = find_family(recipe.name).generate(recipe);
  tensor.name = name_of_recipe(to_text(recipe));
  return tensor;
}

SparseTensor generate(std::string_view text) {
  return generate(parse_synthetic(text));
}

}  // namespace waco::matrix
