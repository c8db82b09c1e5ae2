// Points that are given, not searched for: what they cost, and which limit they are beyond.
#include <fmt/format.h>

#include <new>

#include "waco/base/error.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/tune/ranking.hpp"

namespace waco::tune {

using schedule::Arrangement;
using schedule::SuperSchedule;

/// Of clustered points the windows count, which a given one may have of its own.
std::optional<std::string> Ranking::exclusion(const SuperSchedule& point) {
  const schedule::FormatSchedule& format = point.format;
  if (format.arrangement != Arrangement::kClustered || format.cluster_window == cluster_window())
    return costs_of(format.arrangement).exclusion(point);
  try {
    const matrix::SparseTensor arranged = codegen::arranged(tensor_, format, space_.limits().max_threads);
    return schedule::exclusion_reason(point, pattern::PatternCounts(arranged), space_.limits());
  } catch (const TooLargeError& error) {  // the other points may yet be measured
    return error.what();
  } catch (const std::bad_alloc&) {
    return "not enough memory to cluster the rows";
  }
}

std::vector<Candidate> Ranking::judge(const std::vector<SuperSchedule>& points) {
  const std::vector<double> costs = costs_ns(points);
  std::vector<Candidate> candidates;
  for (size_t n = 0; n < points.size(); ++n) {
    if (returned_.contains(schedule::to_text(points[n]))) continue;
    Candidate judged = candidate(points[n], costs[n]);
    const Arrangement arrangement = points[n].format.arrangement;
    if (arrangement != Arrangement::kGiven && !is_arranged(arrangement)) {
      judged.measured = true;
      judged.measurement.status = measure::Status::kConstraint;
      judged.measurement.message =
          fmt::format("{}: there is not enough memory, or there are too many rows, columns or nonzeros",
                      name(arrangement));
    } else if (const auto reason = exclusion(points[n])) {
      judged.measured = true;
      judged.measurement.status = measure::Status::kConstraint;
      judged.measurement.message = *reason;
    }
    candidates.push_back(std::move(judged));
  }
  return candidates;
}

}  // namespace waco::tune
