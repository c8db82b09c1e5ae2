// The plan document (docs/file-formats.md).
#include <nlohmann/json.hpp>

#include "waco/tune/result.hpp"

namespace waco::tune {
namespace {

using nlohmann::json;

json matrix_json(const MatrixSummary& matrix) {
  return {{"name", matrix.name}, {"rows", matrix.dims.at(0)},  {"cols", matrix.dims.at(1)},
          {"dims", matrix.dims}, {"nnz", matrix.num_nonzeros}, {"hash", matrix.hash}};
}

json candidate_json(const Candidate& candidate) {
  json document = candidate.measurement;
  if (!candidate.measured) {
    document["status"] = "not measured";
    document["median_ns"] = document["speedup"] = nullptr;
  }
  document["predicted_cost_ns"] =
      candidate.predicted_cost_ns ? json(*candidate.predicted_cost_ns) : json(nullptr);
  document["finalist"] = candidate.finalist;
  return document;
}

json best_json(const TuneResult& result) {
  const Best& best = *result.best;
  const bool timed = best.time_ns.median > 0;
  return {{"plan", schedule::to_text(best.point)},
          {"is_baseline", best.is_baseline},
          {"significant", best.significant},
          {"verified", best.verified},
          {"median_ns", timed ? json(best.time_ns.median) : json(nullptr)},
          {"interval_ns", timed ? json{best.time_ns.low, best.time_ns.high} : json(nullptr)},
          {"speedup", timed ? json(best.speedup.median) : json(nullptr)},
          {"speedup_interval", timed ? json{best.speedup.low, best.speedup.high} : json(nullptr)},
          {"gflops", timed ? json(result.gflops(best.time_ns.median)) : json(nullptr)},
          {"pack_ns", best.pack_ns},
          {"stored_bytes", best.stored_bytes}};
}

json or_null(const std::optional<int64_t>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

json to_json(const TuneResult& result) {
  json candidates = json::array();
  for (const Candidate& candidate : result.candidates) candidates.push_back(candidate_json(candidate));
  json parts = json::array();
  if (result.best)
    parts.push_back({{"plan", schedule::to_text(result.best->point)}, {"nnz", result.matrix.num_nonzeros}});
  const StageSeconds& seconds = result.seconds;
  return {{"complete", result.complete},
          {"stopped_by", result.stopped_by},
          {"machine_failed", result.machine_failed},
          {"matrix", matrix_json(result.matrix)},
          {"op", schedule::name(result.problem.op)},
          {"type", schedule::name(result.problem.type)},
          {"rhs", result.problem.rhs},
          {"threads", result.threads},
          {"effort", name(result.effort)},
          {"seed", result.seed},
          {"cost_model", result.cost_model},
          {"model", result.model.empty() ? json(nullptr) : json(result.model)},
          {"other_models", result.other_models},
          {"search", result.search},
          {"space", schedule::name(result.subspace)},
          {"no_compile", result.no_compile},
          {"num_without_kernel", result.num_without_kernel},
          {"parts", parts},
          {"baseline", result.baseline ? json(*result.baseline) : json(nullptr)},
          {"candidates", candidates},
          {"best", result.best ? best_json(result) : json(nullptr)},
          {"break_even_calls", or_null(result.break_even_calls())},
          {"break_even_calls_with_tuning", or_null(result.break_even_calls(seconds.total * 1e9))},
          {"verdict", result.verdict ? to_json(*result.verdict) : json(nullptr)},
          {"num_ranked", result.num_ranked},
          {"stages_s",
           {{"load", seconds.load},
            {"read", seconds.read},
            {"machine", seconds.machine},
            {"features", seconds.features},
            {"search", seconds.search},
            {"rank", seconds.rank()},
            {"convert", result.best ? json(static_cast<double>(result.best->pack_ns) * 1e-9) : json(nullptr)},
            {"measure", seconds.measure},
            {"total", seconds.total}}},
          {"disturbed", measure::name(result.disturbed)},
          {"warnings", result.warnings}};
}

}  // namespace waco::tune
