// Vertices of datasets and of the space itself.
#include "waco/index/vertex_sources.hpp"

#include <vector>

#include "waco/base/error.hpp"
#include "waco/dataset/dataset_file.hpp"

namespace waco::index {

using schedule::Op;
using schedule::SuperSchedule;

namespace {

/// Shapes that differ in which splits, windows and orders make sense: small, usual, large, tall, wide.
std::vector<std::vector<int64_t>> typical_dims(Op op) {
  if (schedule::sparse_order(op) == 3)
    return {{500, 500, 500}, {30000, 2000, 100000}, {1000000, 40000, 3000}, {200, 60000, 20000}};
  return {{2000, 2000}, {40000, 40000}, {1000000, 1000000}, {200000, 4000}, {4000, 200000}};
}

std::vector<int64_t> typical_rhs(Op op) {
  if (!schedule::has_dense_index(op)) return {1};
  return op == Op::kMttkrp ? std::vector<int64_t>{16, 64} : std::vector<int64_t>{16, 64, 256, 1000};
}

std::vector<schedule::ScheduleSpace> typical_spaces(Op op) {
  std::vector<schedule::ScheduleSpace> spaces;
  for (const auto& dims : typical_dims(op))
    for (const int64_t rhs : typical_rhs(op))
      spaces.emplace_back(schedule::Problem{op, schedule::ValueType::kF32, rhs}, dims,
                          schedule::SpaceLimits{.max_threads = kAllThreads});
  return spaces;
}

}  // namespace

int64_t add_dataset(VertexList& vertices, const std::filesystem::path& dataset) {
  const int64_t before = vertices.size();
  dataset::read_dataset(dataset, [&](dataset::Record&& record) {
    if (record.problem.op != vertices.op())
      throw InputError(dataset.string(), 0,
                       fmt::format("holds records of {}, and the model is for {}",
                                   schedule::name(record.problem.op), schedule::name(vertices.op())));
    if (record.ok()) vertices.add(schedule::parse(record.plan), record.threads);
  });
  return vertices.size() - before;
}

int64_t add_samples(VertexList& vertices, int64_t count, uint64_t seed) {
  const std::vector<schedule::ScheduleSpace> spaces = typical_spaces(vertices.op());
  int64_t added = 0;
  for (const auto& space : spaces)
    for (const SuperSchedule& point : space.enumerate_structured())
      if (added < count && vertices.add(point, kAllThreads)) ++added;
  Random random(seed);
  constexpr int64_t kMostRepeats = 2000;  // in a row: the spaces are exhausted
  int64_t repeats = 0;
  for (size_t n = 0; added < count && repeats < kMostRepeats; ++n) {
    const auto& space = spaces[n % spaces.size()];
    const auto stratum = schedule::kStrata[n / spaces.size() % schedule::kStrata.size()];
    const bool is_new = vertices.add(space.sample_stratified(random, stratum), kAllThreads);
    added += is_new ? 1 : 0;
    repeats = is_new ? 0 : repeats + 1;
  }
  return added;
}

}  // namespace waco::index
