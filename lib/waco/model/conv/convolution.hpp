// Sparse convolutions and their gradients on given kernel maps. All matrices are row-major floats; results
// have the same bits whatever the number of threads.
#pragma once

#include <cstdint>

#include "waco/model/conv/kernel_map.hpp"

namespace waco::model {

/// y [num_out, cout] = sum over offsets k of x[in] * w[k], with x [num_in, cin], w [offsets, cin, cout].
/// `relu`: negative results become 0.
void convolve(const KernelMap& map, const float* x, const float* w, int cin, int cout, bool relu, float* y,
              int threads);

/// gx [num_in, cin] from gy [num_out, cout]; `back` is the transposed map.
void convolve_grad_input(const KernelMap& back, const float* gy, const float* w, int cin, int cout, float* gx,
                         int threads);

/// gw [offsets, cin, cout] from x [num_in, cin] and gy [num_out, cout].
void convolve_grad_weight(const KernelMap& map, const float* x, const float* gy, int cin, int cout, float* gw,
                          int threads);

/// The convolution of a pattern: one input channel that is 1 at every site. y [sites, cout] is the sum of the
/// rows of w [offsets, cout] whose cells are occupied; `relu` as above.
void convolve_windows(const WindowMap& map, const float* w, int cout, bool relu, float* y, int threads);

/// gw [offsets, cout] from gy [sites, cout].
void convolve_windows_grad_weight(const WindowMap& map, const float* gy, int cout, float* gw, int threads);

/// mean [columns] of the rows of y [rows, columns]; 0 without rows.
void column_means(const float* y, int64_t rows, int columns, float* mean, int threads);

}  // namespace waco::model
