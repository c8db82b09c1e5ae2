// What panels of rows tell about a matrix: occupied blocks of many shapes, gaps inside rows, columns that
// come again in the next row.
#pragma once

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/pattern/feature_list.hpp"

namespace waco::pattern {

void add_block_features(const matrix::SparseTensor& matrix, int threads, FeatureList& features);

}  // namespace waco::pattern
