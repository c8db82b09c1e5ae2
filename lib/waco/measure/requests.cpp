// Binding points to the widths that a tensor needs.
#include "waco/measure/requests.hpp"

#include <algorithm>

#include "waco/codegen/fixed_csr.hpp"
#include "waco/codegen/kernel.hpp"

namespace waco::measure {
namespace {

/// A bound of positions that makes codegen::bind choose this pos width.
int64_t bound_for(int pos_bytes) {
  return pos_bytes == 4 ? 0 : int64_t{1} << 32;
}

}  // namespace

int usual_pos_bytes(const matrix::SparseTensor& tensor) {
  const int64_t positions =
      std::max(tensor.num_nonzeros(), *std::max_element(tensor.dims.begin(), tensor.dims.end()));
  return positions <= INT32_MAX ? 4 : 8;
}

CompileRequest kernel_request(const schedule::SuperSchedule& point, const std::vector<int64_t>& dims,
                              int pos_bytes, int vector_bytes) {
  const codegen::Binding binding =
      codegen::bind(point, matrix::three_dims(dims), bound_for(pos_bytes), vector_bytes);
  return {codegen::kernel_source(point, binding), codegen::kKernelFlags};
}

CompileRequest baseline_request(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                                int pos_bytes) {
  codegen::Binding binding;
  binding.pos_bytes = pos_bytes;
  const std::vector<schedule::Level> levels = schedule::csr_point(problem, 1).format.levels;
  for (size_t l = 0; l < levels.size(); ++l)
    if (levels[l].kind != schedule::LevelKind::kUncompressed)
      binding.crd_bytes[l] = codegen::baseline_crd_bytes(dims);
  return {codegen::fixed_csr_source(problem, binding), codegen::kBaselineFlags};
}

}  // namespace waco::measure
