// The generators behind the families of synthetic.hpp. Each gets a complete recipe and returns a nameless
// tensor, the same for any number of threads: every part draws from a sequence of its own.
#pragma once

#include "waco/matrix/recipe.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

// Meshes: local coupling.
SparseTensor make_stencil2d(const Recipe& recipe);
SparseTensor make_stencil3d(const Recipe& recipe);
SparseTensor make_fem(const Recipe& recipe);
SparseTensor make_scattered(const Recipe& recipe);
SparseTensor make_road(const Recipe& recipe);

// Structure that is neither a mesh nor random.
SparseTensor make_banded(const Recipe& recipe);
SparseTensor make_diagonals(const Recipe& recipe);
SparseTensor make_blockdiag(const Recipe& recipe);
SparseTensor make_arrow(const Recipe& recipe);
SparseTensor make_kronecker(const Recipe& recipe);
SparseTensor make_spins(const Recipe& recipe);

// Systems of equations of other kinds.
SparseTensor make_lp(const Recipe& recipe);
SparseTensor make_kkt(const Recipe& recipe);
SparseTensor make_circuit(const Recipe& recipe);

// Graphs.
SparseTensor make_rmat(const Recipe& recipe);
SparseTensor make_chung_lu(const Recipe& recipe);
SparseTensor make_web(const Recipe& recipe);
SparseTensor make_bipartite(const Recipe& recipe);

// Random patterns.
SparseTensor make_uniform(const Recipe& recipe);
SparseTensor make_dense_rows(const Recipe& recipe);
SparseTensor make_pruned(const Recipe& recipe);
SparseTensor make_blocks(const Recipe& recipe);

// Tensors of order 3.
SparseTensor make_tensor_uniform(const Recipe& recipe);
SparseTensor make_tensor_power(const Recipe& recipe);
SparseTensor make_tensor_modes(const Recipe& recipe);
SparseTensor make_tensor_fibers(const Recipe& recipe);
SparseTensor make_tensor_blocks(const Recipe& recipe);
SparseTensor make_tensor_band(const Recipe& recipe);

}  // namespace waco::matrix
