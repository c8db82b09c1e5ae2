// Vertices of datasets and of the space itself.
#include "waco/index/vertex_sources.hpp"

#include <algorithm>
#include <map>
#include <string>
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

/// Throws InputError when the record is of another op.
void check_op(const dataset::Record& record, Op op, const std::filesystem::path& dataset) {
  if (record.problem.op == op) return;
  throw InputError(dataset.string(), 0,
                   fmt::format("holds records of {}, and the model is for {}",
                               schedule::name(record.problem.op), schedule::name(op)));
}

constexpr size_t kFastest = 3;

void keep_fastest(std::vector<dataset::Record>& fastest, dataset::Record&& record) {
  record.samples_ns.clear();
  const auto at = std::find_if(fastest.begin(), fastest.end(),
                               [&](const dataset::Record& other) { return record.speedup > other.speedup; });
  fastest.insert(at, std::move(record));
  if (fastest.size() > kFastest) fastest.pop_back();
}

/// Points one change away from those of records, the first record's first.
class Neighbours {
 public:
  Neighbours(const std::vector<dataset::Record>& records, const std::filesystem::path& dataset)
      : records_(&records), dataset_(&dataset) {}

  /// Adds the next one that is new; false when there is none.
  bool add_one(VertexList& vertices) {
    for (;;) {
      while (at_ < points_.size())
        if (vertices.add(points_[at_++], threads_)) return true;
      if (next_ == records_->size()) return false;
      const dataset::Record& record = (*records_)[next_++];
      const schedule::ScheduleSpace space(record.problem, record.dims, {.max_threads = record.threads});
      points_ = space.neighbours(dataset::point_of(record, *dataset_));
      threads_ = record.threads;
      at_ = 0;
    }
  }

 private:
  const std::vector<dataset::Record>* records_;
  const std::filesystem::path* dataset_;  ///< named in errors
  size_t next_ = 0;                       ///< record
  std::vector<SuperSchedule> points_;     ///< of the record before
  int threads_ = 1;
  size_t at_ = 0;  ///< the next of the points
};

}  // namespace

int64_t add_dataset(VertexList& vertices, const std::filesystem::path& dataset,
                    const std::set<std::string>& judged_by, FastestRecords& fastest) {
  const int64_t before = vertices.size();
  fastest.file = dataset;
  dataset::read_dataset(dataset, [&](dataset::Record&& record) {
    check_op(record, vertices.op(), dataset);
    if (judged_by.contains(record.original)) return;
    if (record.ok()) vertices.add(dataset::point_of(record, dataset), record.threads);
    if (!record.timed()) return;
    const auto& [op, type, rhs] = record.problem;
    const std::string where = fmt::format("{} {} {}", record.matrix_hash, schedule::name(type), rhs);
    keep_fastest(fastest.records[where], std::move(record));
  });
  return vertices.size() - before;
}

int64_t add_neighbours(VertexList& vertices, const FastestRecords& fastest, int64_t count) {
  std::vector<Neighbours> turns;
  for (const auto& [where, records] : fastest.records) turns.emplace_back(records, fastest.file);
  // One new vertex a matrix and turn, so that a small count is spread over all of them.
  int64_t added = 0;
  while (!turns.empty() && added < count) {
    std::vector<Neighbours> left;
    for (Neighbours& neighbours : turns) {
      if (added >= count || !neighbours.add_one(vertices)) continue;
      ++added;
      left.push_back(std::move(neighbours));
    }
    turns = std::move(left);
  }
  return added;
}

int64_t add_samples(VertexList& vertices, int64_t count, uint64_t seed) {
  const std::vector<schedule::ScheduleSpace> spaces = typical_spaces(vertices.op());
  int64_t added = 0;
  for (const auto& space : spaces)
    for (const SuperSchedule& point : space.enumerate_structured())
      if (added < count && vertices.add(point, kAllThreads)) ++added;
  // A list that was sampled before goes on with other draws, not with the same.
  Random random(seed, static_cast<uint64_t>(vertices.size()));
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
