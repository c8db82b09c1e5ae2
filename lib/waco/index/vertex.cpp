// Vertices from points and back.
#include "waco/index/vertex.hpp"

#include <algorithm>

namespace waco::index {

using schedule::SuperSchedule;

SuperSchedule as_vertex(const SuperSchedule& point, int max_threads) {
  SuperSchedule vertex = point;
  const schedule::Op op = point.problem.op;
  vertex.problem = {op, schedule::ValueType::kF32, schedule::has_dense_index(op) ? kVertexRhs : 1};
  if (vertex.compute.parallel >= 0)
    vertex.compute.threads = point.compute.threads < max_threads ? kSomeThreads : kAllThreads;
  vertex.format.arrangement = schedule::Arrangement::kGiven;  // others are not looked up
  vertex.format.cluster_window = 0;
  if (point.format.sort_window > 1) {
    int64_t window = point.format.split[0];
    while (window < point.format.sort_window) window *= 2;
    vertex.format.sort_window = window;
  }
  return vertex;
}

SuperSchedule on_machine(const SuperSchedule& vertex, int max_threads) {
  SuperSchedule point = vertex;
  if (point.compute.parallel < 0) return point;
  const bool all = vertex.compute.threads == kAllThreads;
  point.compute.threads = std::clamp(all ? max_threads : (max_threads + 1) / 2, 1, 1024);
  return schedule::canonical(point);
}

bool Needs::met_by(const schedule::ScheduleSpace& space) const {
  const std::vector<int64_t>& dims = space.dims();
  for (size_t mode = 0; mode < dims.size(); ++mode)
    if (splits[mode] > 1 && splits[mode] >= dims[mode]) return false;
  const bool tile_fits = tile == 0 || tile < space.problem().rhs;
  return tile_fits && (!some_threads || space.limits().max_threads > 2);
}

Needs needs_of(const SuperSchedule& vertex) {
  Needs needs;
  needs.splits = vertex.format.split;
  needs.tile = vertex.compute.dense_tile;
  needs.some_threads = vertex.compute.parallel >= 0 && vertex.compute.threads != kAllThreads;
  return needs;
}

std::optional<SuperSchedule> bind(const SuperSchedule& vertex, const schedule::ScheduleSpace& space) {
  if (!needs_of(vertex).met_by(space)) return std::nullopt;
  SuperSchedule point = on_machine(vertex, space.limits().max_threads);
  point.problem = space.problem();
  return space.repaired(std::move(point));  // of the sort window, which is for rows of any number
}

}  // namespace waco::index
