// The kernel of a result as one self-contained file.
#include "waco/tune/emit.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/schedule/saturating.hpp"
#include "waco/schedule/storage_size.hpp"
#include "waco/tune/text.hpp"

namespace waco::tune {

codegen::OperandShape operand_shape(const matrix::SparseTensor& tensor, const schedule::SuperSchedule& point,
                                    int64_t num_stored) {
  codegen::OperandShape shape;
  shape.fill =
      static_cast<double>(num_stored) / static_cast<double>(std::max<int64_t>(1, tensor.num_nonzeros()));
  shape.dims = matrix::three_dims(tensor.dims);
  const schedule::Problem& problem = point.problem;
  const pattern::PatternCounts counts(tensor);
  if (point.format.skewed()) {
    shape.num_positions_bound =
        num_stored > 0 ? num_stored
                       : schedule::saturating::product(counts.num_nonzeros(), point.format.split[0]);
    return shape;
  }
  // The order of the rows makes no difference to the bound, which tells in most cases whether positions fit
  // 31 bits; nothing else is asked.
  auto size = schedule::bound_storage(point.format, problem.op, problem.type, counts);
  if (size.pos_bytes > 4 && point.format.clustered()) {
    const matrix::SparseTensor clustered =
        codegen::arranged(tensor, point.format, std::max(1, point.compute.threads));
    size =
        schedule::predict_storage(point.format, problem.op, problem.type, pattern::PatternCounts(clustered));
  } else if (size.pos_bytes > 4) {
    size = schedule::predict_storage(point.format, problem.op, problem.type, counts);
  }
  for (const schedule::LevelSize& level : size.levels)
    shape.num_positions_bound = std::max(shape.num_positions_bound, level.positions);
  return shape;
}

codegen::Provenance provenance(const MatrixSummary& matrix, const Machine& machine, const std::string& tool) {
  codegen::Provenance from;
  from.tool = tool;
  from.matrix = fmt::format("{}, {}", matrix.name, fmt::join(matrix.dims, " x "));
  from.matrix_hash = matrix.hash;
  from.num_nonzeros = matrix.num_nonzeros;
  if (!machine.cpu_model.empty())
    from.machine =
        fmt::format("{}, {}, {}", machine.cpu_model, machine.compiler.isa, machine.compiler.version);
  if (machine.compiler.version.find("clang") != std::string::npos) from.compiler = "clang++";
  return from;
}

std::string emit_best(const matrix::SparseTensor& tensor, const TuneResult& result, const std::string& tool) {
  WACO_ASSERT(result.best);
  const Best& best = *result.best;
  codegen::Provenance from = provenance(result.matrix, result.machine, tool);
  if (best.time_ns.median > 0)
    from.measured = fmt::format("{} a call, {:.2f} times as fast as fixed_csr",
                                time_text(best.time_ns.median), best.speedup.median);
  const auto kernel = best.is_baseline ? codegen::KernelKind::kFixedCsr : codegen::KernelKind::kGenerated;
  int64_t num_stored = 0;
  for (const Candidate& candidate : result.candidates)
    if (candidate.measurement.point == best.point) num_stored = candidate.measurement.num_stored;
  return codegen::emit_standalone(best.point, operand_shape(tensor, best.point, num_stored),
                                  result.machine.compiler.vector_bytes, from, kernel);
}

}  // namespace waco::tune
