// The baseline as a point of the space.
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {

int32_t csr_chunk(Op op) {
  return op == Op::kSpmv ? 128 : 32;
}

SuperSchedule csr_point(const Problem& problem, int threads) {
  SuperSchedule point;
  point.problem = problem;
  const int order = sparse_order(problem.op);
  for (int8_t mode = 0; mode < order; ++mode) {
    const bool dense_rows = mode == 0 && order == 2;
    point.format.levels.push_back(
        {{mode, false}, dense_rows ? LevelKind::kUncompressed : LevelKind::kCompressed});
    point.compute.loops.push_back({mode, false});
  }
  if (has_dense_index(problem.op)) point.compute.loops.push_back({static_cast<int8_t>(order), false});
  point.compute.parallel = 0;
  point.compute.policy = Policy::kDynamic;
  point.compute.chunk = csr_chunk(problem.op);
  point.compute.threads = threads;
  return canonical(point);
}

}  // namespace waco::schedule
