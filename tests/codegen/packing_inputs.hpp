// What tests pack: tensors and formats, written out or drawn at random.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

/// Values 1, 2, ... in the order of the entries.
matrix::SparseTensor make_tensor(std::vector<int64_t> dims, const std::set<std::vector<int64_t>>& entries);

std::vector<int64_t> random_dims(Random& random, int order);

/// Up to `nnz` entries, some of them crowded in few rows.
matrix::SparseTensor random_tensor(Random& random, std::vector<int64_t> dims, int64_t nnz);

/// Its nonzeros in any order.
matrix::SparseTensor shuffled(matrix::SparseTensor tensor, Random& random);

/// Any legal format that stores few enough values.
schedule::FormatSchedule random_format(Random& random, const std::vector<int64_t>& dims);

/// Formats that are packed directly, of every direct way; splits are added.
inline constexpr const char* kDirectMatrices[] = {"i:U k:C",
                                                  "i:C k:C",
                                                  "i:C k:S",
                                                  "i1:U i0:U k:L",
                                                  "i1:U i0:U k:E",
                                                  "i1:U k:C i0:U",
                                                  "i1:C k:C i0:U",
                                                  "i1:C k:S i0:U",
                                                  "i:U k1:C k0:U",
                                                  "i:C k1:S k0:U",
                                                  "i1:U k1:C i0:U k0:U",
                                                  "i1:C k1:C k0:U i0:U",
                                                  "i1:U k:C i0:C",
                                                  "i1:C k:S i0:C",
                                                  "i:U k1:C k0:C",
                                                  "i1:U k1:C i0:U k0:C",
                                                  "i1:C k1:S i0:U k0:C",
                                                  "i1:C k1:S i0:C k0:S",
                                                  "i1:U k1:C i0:C k0:S",
                                                  "k:U i:C",
                                                  "k1:U i:U k0:C",
                                                  "i1:U k1:U i0:U k0:C",
                                                  "k1:U i:C k0:S",
                                                  "k1:U i1:U i0:C k0:S",
                                                  "i1:U i0:U k1:L k0:U",
                                                  "i1:U i0:U k1:E k0:U",
                                                  "i1:U k1:U k0:C i0:U",
                                                  "i1:C k1:U k0:C i0:U",
                                                  "i1:U k1:C k0:C i0:U",
                                                  "i1:C k1:C k0:C i0:U",
                                                  "i1:U k1:C k0:S i0:U",
                                                  "i1:C k1:C k0:S i0:U"};

/// One of these with splits and a sort window, or one of 3-D tensors.
schedule::FormatSchedule direct_format(Random& random, int order);

/// Of levels, splits and sort window, such as "i1:U i0:U k:L i/2 sort:4".
schedule::FormatSchedule format_of(const std::string& text, schedule::Op op = schedule::Op::kSpmv);

/// An op that takes such a tensor.
schedule::Op op_of(const matrix::SparseTensor& tensor);

}  // namespace waco::codegen
