// What a search found after how many evaluations, and how it is shown.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace waco::perf {

/// The best cost so far, at some numbers of evaluations.
struct Trace {
  std::string search;
  struct Step {
    int64_t evaluations;
    double seconds, best;
  };
  std::vector<Step> steps;
  int64_t evaluations = 0;
  double seconds = 0, evaluating = 0;
};

/// Retrieval cost as the searches' cost model, so that all of them see the same numbers: a trial embeds its
/// point and evaluates the predictor.
class TracedModel : public model::CostModel {
 public:
  TracedModel(const model::LearnedModel& model, const model::Retriever& retriever, int threads)
      : model_(model), retriever_(retriever), threads_(threads) {}

  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override {
    const auto begin = Clock::now();
    const std::vector<float> rows = model_.embed_schedules(points, threads_);
    std::vector<float> costs(points.size());
    retriever_.costs(rows.data(), static_cast<int64_t>(points.size()), costs.data());
    trace_.evaluating += seconds_since(begin);
    std::vector<double> result;
    for (const float cost : costs) {
      best_ = std::min(best_, static_cast<double>(cost));
      result.push_back(std::exp2(static_cast<double>(cost)));
    }
    trace_.evaluations += static_cast<int64_t>(points.size());
    if (!points.empty()) trace_.steps.push_back({trace_.evaluations, seconds_since(start_), best_});
    return result;
  }
  Trace finish(std::string name) {
    trace_.search = std::move(name);
    trace_.seconds = seconds_since(start_);
    return std::move(trace_);
  }

 private:
  const model::LearnedModel& model_;
  const model::Retriever& retriever_;
  int threads_;
  Trace trace_;
  double best_ = INFINITY;
  Clock::time_point start_ = Clock::now();
};

inline const Trace::Step* step_at(const Trace& trace, int64_t evaluations) {
  const Trace::Step* last = nullptr;
  for (const Trace::Step& step : trace.steps)
    if (step.evaluations <= evaluations) last = &step;
  return last;
}

inline const std::vector<int64_t> kCheckpoints{30, 100, 300, 1000, 3000, 10000};

inline nlohmann::ordered_json to_json(const Trace& trace) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const int64_t point : kCheckpoints)
    if (const Trace::Step* step = step_at(trace, point); step != nullptr && point <= trace.evaluations)
      steps.push_back({{"evaluations", step->evaluations}, {"seconds", step->seconds}, {"best", step->best}});
  return {{"search", trace.search},
          {"evaluations", trace.evaluations},
          {"seconds", trace.seconds},
          {"evaluating_share", trace.evaluating / trace.seconds},
          {"best", trace.steps.empty() ? INFINITY : trace.steps.back().best},
          {"steps", steps}};
}

inline void print_traces(const std::string& matrix, const std::vector<Trace>& traces) {
  fmt::print("\n### Convergence on {} (log2 of predicted time, smaller is better)\n\n| search |", matrix);
  for (const int64_t point : kCheckpoints) fmt::print(" {} |", point);
  fmt::print(" at the end | evaluations | seconds | evaluating |\n|---|");
  for (size_t n = 0; n < kCheckpoints.size() + 4; ++n) fmt::print("---|");
  fmt::print("\n");
  for (const Trace& trace : traces) {
    fmt::print("| {} |", trace.search);
    for (const int64_t point : kCheckpoints) {
      const Trace::Step* step = step_at(trace, point);
      const bool reached = step != nullptr && point <= trace.evaluations;
      fmt::print(" {} |", reached ? fmt::format("{:.3f}", step->best) : "");
    }
    fmt::print(" {:.3f} | {} | {:.4f} | {:.0f} % |\n", trace.steps.empty() ? 0 : trace.steps.back().best,
               trace.evaluations, trace.seconds, 100 * trace.evaluating / trace.seconds);
  }
}

}  // namespace waco::perf
