// Puts counts, code, traffic and balance together into a time.
#include "waco/model/closed_form.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/balance.hpp"

namespace waco::model {

using codegen::KernelShape;
using schedule::LoopKind;
using schedule::SuperSchedule;

namespace {

constexpr double kLongRow = 24;  // iterations beyond which the end of a loop is always mispredicted

// Instructions in flight: while one row's chain of additions waits, the rows after it run.
constexpr double kReorderWindow = 320;
// Of the time of a mispredicted loop end that is not hidden behind arithmetic under way.
constexpr double kExposedMispredict = 0.45;

constexpr int64_t kScatteringWindow = 2048;  // rows

struct Overheads {
  double loop_cycles = 0;
  double loop_ns = 0;
  double locate_cycles = 0;
};

/// Chance that the end of a loop of about `length` iterations is mispredicted.
double mispredicted(double length, double irregularity) {
  if (length >= kLongRow) return 1;
  return std::min(1.0, irregularity + 0.05);
}

Overheads overheads_of(const KernelShape& shape, const WorkCounts& work, const PatternProfile& profile,
                       const Ceilings& ceilings) {
  Overheads sum;
  for (size_t l = 0; l < work.loops.size(); l++) {
    const auto& loop = shape.nest.loops[l];
    const LoopCount& count = work.loops[l];
    const bool innermost = static_cast<int>(l) == shape.nest.innermost_sparse;
    double copies = innermost ? std::max(1, shape.copies) : 1;
    if (innermost && shape.axis == codegen::VectorAxis::kPositions) copies = shape.lanes * shape.num_vectors;
    switch (loop.kind) {
      case LoopKind::kCompressed:
      case LoopKind::kSlots: {
        const double length = count.iterations / std::max(1.0, count.entries);
        sum.loop_cycles +=
            count.entries * (4 + std::min(4.0, copies)) +
            count.iterations * (0.15 + 0.4 / copies + 0.4 * (copies - 1) / (2 * std::max(1.0, length)));
        sum.loop_cycles += 0.5 * count.iterations * static_cast<double>(loop.vars.size() - 1);
        sum.loop_ns += kExposedMispredict * count.entries * ceilings.short_loop_ns *
                       mispredicted(length, profile.irregularity());
        break;
      }
      case LoopKind::kExtent:
        sum.locate_cycles += count.searched > 0 ? count.searched : count.iterations;
        break;
      case LoopKind::kDenseTile:
        break;
      default:
        sum.loop_cycles += count.entries * 2 + count.iterations * 1.5;
        break;
    }
    sum.locate_cycles += count.searched * (4 + 6 * count.search_steps);
  }
  return sum;
}

/// Computing and waiting for memory overlap in part.
double overlapped_sum(double a, double b) {
  constexpr double kPower = 1.5;
  return std::pow(std::pow(a, kPower) + std::pow(b, kPower), 1 / kPower);
}

/// Nests over more parts than the operand has modes are measured slower than their counts: short segments,
/// more branches.
double unknowns(const KernelShape& shape, int order) {
  constexpr double kPerPart = 0.1;
  int parts = 0;
  for (int l = 0; l < shape.nest.num_runtime; l++) {
    const auto& loop = shape.nest.loops[l];
    if (loop.vars[0].index < order) parts += static_cast<int>(loop.vars.size());
  }
  return 1 + kPerPart * std::max(0, parts - order);
}

double scope_entries(const KernelShape& shape, const WorkCounts& work) {
  if (shape.scope_depth <= 0) return 1;
  const int last = std::min<int>(shape.scope_depth, static_cast<int>(work.loops.size())) - 1;
  return last >= 0 ? work.loops[last].iterations : 1;
}

}  // namespace

ClosedFormModel::ClosedFormModel(const matrix::SparseTensor& tensor, Ceilings ceilings)
    : ceilings_(std::move(ceilings)), rates_(core_rates(ceilings_)), profile_(tensor), counter_(profile_) {}

CostTerms ClosedFormModel::terms(const SuperSchedule& point) {
  WACO_ASSERT(schedule::sparse_order(point.problem.op) == profile_.order());
  CostTerms t;
  const FormatCounts& format = counter_.format_counts(point);
  // The profile is of the stored matrix, so that a skewed point's coordinates may come out too wide here;
  // their bytes are counted by format_counts.
  const auto binding = codegen::bind(point, profile_.dims(), 0, ceilings_.vector_bytes);
  const KernelShape shape = codegen::shape_kernel(point, binding);
  const WorkCounts work = counter_.count(point, shape.nest, format);
  const KernelCode code = kernel_code(shape, rates_, ceilings_.vector_bytes);
  t.stored_values = format.stored_values;
  t.fill = profile_.num_nonzeros() > 0 ? format.stored_values / profile_.num_nonzeros() : 1;
  t.bodies = work.bodies;
  const double per_value = point.problem.op == schedule::Op::kMttkrp ? 3 : 2;
  t.flops =
      per_value * work.bodies * work.unrolled * static_cast<double>(point.problem.rhs) / work.dense_tiles;

  const int inner = shape.nest.innermost_sparse;
  const double entries = inner >= 0 ? std::max(1.0, work.loops[inner].entries) : 1;
  const double length = work.bodies / entries;
  double bodies = work.bodies;
  if (code.vector_step > 1)
    bodies *=
        profile_.padded_nonzeros(static_cast<int>(code.vector_step)) / std::max(1.0, profile_.num_nonzeros());
  const double throughput = bodies * code.body_cycles;
  const double overlapped = kReorderWindow / (4 + 3 * code.body_cycles);  // bodies in flight
  const double chained = bodies * code.chain_cycles * length / (length + overlapped);
  const double around = entries * code.entry_cycles + scope_entries(shape, work) * code.scope_cycles;
  const Overheads over = overheads_of(shape, work, profile_, ceilings_);

  const double rows = static_cast<double>(profile_.row_pointers().size() - 1);
  const double body_ns = std::max(throughput, chained) * rates_.cycle_ns;
  const double row_ns = (around + over.loop_cycles) * rates_.cycle_ns + over.loop_ns;
  const double row_weight = std::clamp(
      row_ns / std::max(1.0, rows) / std::max(1e-3, body_ns / std::max(1.0, profile_.num_nonzeros())), 0.0,
      20.0);
  const Balance balance = estimate_balance(shape, work, profile_, ceilings_, row_weight);
  t.threads = balance.threads;
  t.imbalance = balance.factor;
  t.dispatch_ns = balance.dispatch_ns;
  t.traffic = estimate_traffic(shape, work, format, profile_, ceilings_, balance.threads, balance.migrates);

  const double share = rates_.cycle_ns / balance.threads;
  t.arithmetic_ns = throughput * share;
  t.latency_ns = std::max(0.0, chained - throughput) * share;
  t.loop_ns = (around + over.loop_cycles) * share + over.loop_ns / balance.threads;
  t.locate_ns = over.locate_cycles * share;
  for (const double ns : t.traffic.level_ns) t.memory_ns += ns;
  // Rows sorted by length over long windows are no longer neighbours of their neighbours.
  if (point.format.sort_window >= kScatteringWindow && schedule::has_dense_index(point.problem.op))
    t.memory_ns *= 1.25;
  const double out_bytes = t.traffic.out_bytes;
  int out_level = 0;
  while (out_level + 1 < kNumMemoryLevels &&
         out_bytes > static_cast<double>(ceilings_.levels[out_level].capacity_bytes))
    out_level++;
  const double far_bandwidth = ceilings_.read(out_level, balance.threads);
  if (shape.zeroing == codegen::Zeroing::kGlobal) t.output_ns += 2 * out_bytes / far_bandwidth;
  if (shape.private_outputs) t.output_ns += 3 * out_bytes * balance.threads / far_bandwidth;
  const double compute = t.arithmetic_ns + t.latency_ns + t.loop_ns;
  const double busy = overlapped_sum(compute, t.memory_ns) + t.locate_ns;
  t.total_ns = busy * t.imbalance * unknowns(shape, profile_.order()) + t.output_ns + t.dispatch_ns;
  return t;
}

/// Share of the nonzeros, visited row after row, whose row of a dense operand is not among the last `cached`
/// distinct ones, beyond those that are met for the first time.
double ClosedFormModel::repeated_misses(int64_t cached) {
  const FootprintCurve& curve = profile_.footprint({0, 1, 2}, 1, 1);
  const auto room = static_cast<double>(cached);
  if (curve.num_distinct() <= room) return 0;
  double low = 0, high = curve.length();  // the longest window whose rows are cached
  while (high - low > 1) {
    const double middle = (low + high) / 2;
    (curve.distinct(middle) <= room ? low : high) = middle;
  }
  return std::max(0.0, curve.miss_ratio(low) - curve.num_distinct() / std::max(1.0, curve.length()));
}

bool ClosedFormModel::may_gain_by_clustering(const schedule::Problem& problem) {
  constexpr int64_t kSharing = 8;
  constexpr double kFewOfL2 = 0.05, kFewOfL1 = 0.2;
  const int64_t row_bytes = problem.rhs * value_bytes(problem.type);
  if (repeated_misses(ceilings_.levels[1].capacity_bytes / kSharing / row_bytes) >= kFewOfL2) return true;
  return schedule::has_dense_index(problem.op) &&
         repeated_misses(ceilings_.levels[0].capacity_bytes / row_bytes) >= kFewOfL1;
}

double ClosedFormModel::clustered_share(ClosedFormModel& clustered, const SuperSchedule& point) {
  const SuperSchedule twin = schedule::arranged(point, schedule::Arrangement::kClustered);
  const double as_is_ns = terms(point).total_ns, clustered_ns = clustered.terms(twin).total_ns;
  return as_is_ns > 0 ? std::pow(clustered_ns / as_is_ns, kClusteredGainKept) : 1;
}

std::vector<double> ClosedFormModel::costs(std::span<const SuperSchedule> points) {
  std::vector<double> result;
  result.reserve(points.size());
  for (const auto& point : points) result.push_back(terms(point).total_ns);
  return result;
}

}  // namespace waco::model
