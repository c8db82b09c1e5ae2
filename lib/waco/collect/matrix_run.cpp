// One matrix: the independent points first, then the neighbours of the best.
#include "waco/collect/matrix_run.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <optional>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"

namespace waco::collect {
namespace {

using measure::Measurement;
using schedule::SuperSchedule;

/// Candidates timed in the same rounds: they share the rounds of fixed_csr.
constexpr int kGroup = 6;
/// The neighbours are measured in so many rounds, each around the best of the one before.
constexpr int kNeighbourRounds = 2;

/// Short timing: labels are compared with each other, and a few per cent do not matter. Fast kernels get many
/// rounds out of the budget, slow ones three.
measure::TimingOptions label_timing() {
  measure::TimingOptions timing;
  timing.budget_s = 0.02;
  timing.precision = 0.02;
  timing.min_sample_ns = 200e3;
  timing.min_rounds = 3;
  timing.tries = 2;
  timing.max_rounds = 15;
  timing.warm_below_ns = 5e6;
  timing.drop_settled = true;
  timing.alike = false;  // six candidates of all speeds share their rounds
  return timing;
}

measure::MeasureOptions measure_options(const RunContext& context) {
  const CollectOptions& options = context.options;
  measure::MeasureOptions result;
  result.threads = context.choice.threads;
  result.compiler = options.compiler;
  result.seed = options.seed;
  result.censor_ratio = options.censor_ratio;
  result.candidate_limit_s = 5;
  result.single_run_ns = 20e6;
  result.group = kGroup;
  result.reference_limit = int64_t{1} << 19;
  result.quick = label_timing();
  result.final = label_timing();
  result.final.budget_s = 0.15;
  result.final.min_rounds = 9;
  result.stop = context.stop;
  return result;
}

class MatrixRun {
 public:
  MatrixRun(const matrix::SparseTensor& tensor, const matrix::SparseTensor* clustered,
            const dataset::Record& matrix, const MatrixLedger& before, RunContext& context)
      : tensor_(tensor),
        matrix_(matrix),
        ledger_(before),
        context_(context),
        chooser_(clustered != nullptr ? *clustered : tensor, matrix.matrix_hash, context.choice,
                 context.pool) {}

  bool run() {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Choice> points = chooser_.independent_points();
    spdlog::debug("{}: {} points chosen in {:.2f} s", matrix_.matrix, points.size(), seconds_since(start));
    const int num_neighbours = context_.choice.per_matrix - static_cast<int>(points.size());
    if (!measure(points)) return false;
    for (int round = 1; round <= kNeighbourRounds; ++round) {
      const int wanted = num_neighbours * round / kNeighbourRounds - ledger_.num_neighbours;
      if (wanted > 0 && (context_.stop() || !measure(next_neighbours(wanted)))) return false;
    }
    // A matrix that has few points has all of its best ones' neighbours at the end: the next run of the same
    // command finds none.
    while (ledger_.num_neighbours < num_neighbours) {
      const std::vector<Choice> more = next_neighbours(num_neighbours - ledger_.num_neighbours);
      if (more.empty()) break;
      if (context_.stop() || !measure(more)) return false;
    }
    return true;
  }

 private:
  std::vector<Choice> next_neighbours(int count) {
    std::vector<SuperSchedule> best;
    for (const std::string& plan : ledger_.fastest()) best.push_back(schedule::parse(plan));
    return chooser_.neighbours(best, count, ledger_.plans, context_.compiled);
  }

  /// Measures those that have no record yet. False when a stop left some out.
  bool measure(const std::vector<Choice>& choices) {
    std::vector<SuperSchedule> missing;
    for (const Choice& choice : choices) {
      const std::string plan = schedule::to_text(choice.point);
      context_.compiled.insert(chooser_.kernel_name(choice.point));
      if (ledger_.plans.contains(plan)) continue;
      strata_[plan] = choice.stratum;
      if (choice.stratum == Stratum::kFixedCsr) {
        record(session().baseline());
      } else {
        missing.push_back(choice.point);
      }
    }
    const auto start = std::chrono::steady_clock::now();
    compile_s_ = 0;
    // record() gets each; a stop request leaves some out.
    const bool all = missing.empty() || session().measure(missing).size() == missing.size();
    spdlog::debug("{}: {} points measured in {:.2f} s; {:.2f} s in compilers", matrix_.matrix, missing.size(),
                  seconds_since(start), compile_s_);
    return all || !context_.stop();
  }

  measure::Session& session() {
    if (!session_) {
      measure::MeasureOptions options = measure_options(context_);
      options.on_result = [this](const Measurement& measurement) { record(measurement); };
      session_.emplace(tensor_, context_.choice.problem, std::move(options));
    }
    return *session_;
  }

  void record(const Measurement& measurement) {
    measure::check_machine(measurement);  // a record would pass for what the point is like, for ever
    dataset::Record record = matrix_;
    dataset::set_measurement(record, measurement);
    // More threads than the machine has disturb each other, and do so always.
    record.disturbed = record.disturbed && context_.choice.threads <= usable_threads();
    compile_s_ += static_cast<double>(measurement.compile_ns) * 1e-9;
    const auto stratum = strata_.find(record.plan);
    WACO_ASSERT(stratum != strata_.end());
    record.stratum = name(stratum->second);
    context_.on_record(record);
    ledger_.add(record);
  }

  const matrix::SparseTensor& tensor_;
  const dataset::Record& matrix_;
  MatrixLedger ledger_;
  RunContext& context_;
  PointChooser chooser_;
  std::optional<measure::Session> session_;
  std::map<std::string, Stratum> strata_;  ///< by plan
  double compile_s_ = 0;                   ///< wall time of compilers, several of which run at once
};

}  // namespace

bool collect_matrix(const matrix::SparseTensor& tensor, const matrix::SparseTensor* clustered,
                    const dataset::Record& matrix, const MatrixLedger& before, RunContext& context) {
  return MatrixRun(tensor, clustered, matrix, before, context).run();
}

}  // namespace waco::collect
