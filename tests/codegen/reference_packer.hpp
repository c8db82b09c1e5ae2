// Storage compared with what a slow reference packs, which enumerates positions path by path, or with other
// storage.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels-templates/packer.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

std::vector<int64_t> read_crd(const waco_level& level);
std::vector<int64_t> read_pos(const waco_storage& storage, int level, size_t count);
double stored_value(const waco_storage& storage, int64_t position);

/// With the reference's: every array, and where every nonzero went.
void require_equal(const waco_storage& storage, const matrix::SparseTensor& tensor,
                   const schedule::FormatSchedule& format);

/// Every array, bit by bit.
void require_identical(const waco_storage& a, const waco_storage& b);
std::string bytes_of(const void* array, int64_t bytes);

}  // namespace waco::codegen
