// The rules that exclude points, each with the reason it gives.
#include "waco/schedule/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/saturating.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::schedule {

using saturating::product;
using saturating::sum;

namespace {

constexpr std::array<std::string_view, 3> kSubspaces = {"all", "format", "schedule"};

/// What the threads but the first need for outputs of their own, where they share them.
int64_t thread_output_bytes(const SuperSchedule& point, int64_t rows, int64_t num_stored) {
  const Problem& problem = point.problem;
  const int64_t elements = output_is_sparse(problem.op) ? num_stored : product(rows, problem.rhs);
  return product(elements, (point.compute.threads - 1) * int64_t{value_bytes(problem.type)});
}

/// What ranges of equal work keep of the rows in which they meet, at most.
int64_t boundary_bytes(const SuperSchedule& point) {
  const Problem& problem = point.problem;
  const std::vector<Level>& levels = point.format.levels;
  const bool may_cut = point.compute.policy == Policy::kBalanced && !point.format.clustered() &&
                       levels[0].kind == LevelKind::kUncompressed && levels[1].kind == LevelKind::kCompressed;
  if (!may_cut || output_is_sparse(problem.op)) return 0;
  return product(product(point.compute.threads, point.format.split[0]),
                 product(problem.rhs, value_bytes(problem.type)));
}

std::optional<std::string> limit_reason(const SuperSchedule& point, const StorageSize& size,
                                        const pattern::PatternCounts& counts, const SpaceLimits& limits) {
  const double fill =
      static_cast<double>(size.num_stored) / static_cast<double>(std::max<int64_t>(counts.num_nonzeros(), 1));
  if (fill > limits.max_fill)
    return fmt::format("stores {:.3g} values per nonzero, the limit is {:g} (--max-fill)", fill,
                       limits.max_fill);
  if (size.total_bytes > limits.max_bytes)
    return fmt::format("needs {:.3g} GB of storage, {:.3g} GB are allowed",
                       static_cast<double>(size.total_bytes) / 1e9,
                       static_cast<double>(limits.max_bytes) / 1e9);
  const int64_t with_boundaries = sum(size.total_bytes, boundary_bytes(point));
  if (with_boundaries > limits.max_bytes)
    return fmt::format(
        "needs {:.3g} GB for storage and where the ranges of its threads meet, {:.3g} GB are allowed",
        static_cast<double>(with_boundaries) / 1e9, static_cast<double>(limits.max_bytes) / 1e9);
  const int64_t with_outputs =
      sum(size.total_bytes, thread_output_bytes(point, counts.dim(0), size.num_stored));
  if (with_outputs > limits.max_bytes && threads_share_outputs(point, analyze(point)))
    return fmt::format("needs {:.3g} GB for storage and the outputs of its threads, {:.3g} GB are allowed",
                       static_cast<double>(with_outputs) / 1e9, static_cast<double>(limits.max_bytes) / 1e9);
  // As waco_pack has it: stored rows are whole groups, and their numbers int32_t.
  const int64_t split = point.format.split[0], most_groups = INT32_MAX / split - 1;
  if (point.format.permutes_rows() && counts.dim(0) > most_groups * split)
    return fmt::format("orders {} rows, {} is the most", counts.dim(0), most_groups * split);
  const int64_t largest = std::max({counts.dim(0), counts.dim(1), counts.num_nonzeros()});
  if (point.format.clustered() && largest > kMostClustered)
    return fmt::format("clusters rows; of these, columns and nonzeros there are up to {}, {} is the most",
                       largest, kMostClustered);
  return std::nullopt;
}

}  // namespace

std::string_view name(Subspace subspace) {
  return kSubspaces[static_cast<size_t>(subspace)];
}

std::optional<Subspace> parse_subspace(std::string_view text) {
  const auto at = std::find(kSubspaces.begin(), kSubspaces.end(), text);
  if (at == kSubspaces.end()) return std::nullopt;
  return static_cast<Subspace>(at - kSubspaces.begin());
}

std::string limits_key(const SuperSchedule& point) {
  return fmt::format("{} x{}{}{}", to_text(point.format, point.problem.op), point.compute.threads,
                     threads_share_outputs(point, analyze(point)) ? " shared" : "",
                     boundary_bytes(point) > 0 ? " cut" : "");
}

std::optional<std::string> exclusion_reason(const SuperSchedule& point, const pattern::PatternCounts& counts,
                                            const SpaceLimits& limits) {
  if (point.compute.threads > limits.max_threads)
    return fmt::format("runs on {} threads, at most {} allowed", point.compute.threads, limits.max_threads);
  const Problem& problem = point.problem;
  const auto reason = [&](const StorageSize& size) { return limit_reason(point, size, counts, limits); };
  const StorageSize bound = bound_storage(point.format, problem.op, problem.type, counts);
  if (!reason(bound)) return std::nullopt;  // a pass over the nonzeros saved
  return reason(predict_storage(point.format, problem.op, problem.type, counts));
}

}  // namespace waco::schedule
