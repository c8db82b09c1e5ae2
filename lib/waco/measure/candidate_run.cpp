// The parent's conversation with its worker, and what happens when the worker dies.
#include "waco/measure/candidate_run.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/session.hpp"

namespace waco::measure {
namespace {

using nlohmann::json;
using Reply = WorkerProcess::Reply;

/// Address space that libraries take without using memory, and the allocator's arena of each thread.
constexpr int64_t kLibraries = int64_t{8} << 30, kArena = int64_t{64} << 20;
/// For the worker's start: dense operands and reference results.
constexpr double kStartLimit_s = 900;
/// Calls that any candidate, and fixed_csr, gets while it is timed, however slow it is: three rounds with an
/// untimed call each, and some to spare.
constexpr double kTimedCalls = 10;

/// Of a nonzero, for finding the order of clustered rows, which one thread does: 18 to 180 ns were measured
/// (docs/performance.md, "Reading and packing").
constexpr double kClusteringLimit_s = 400e-9;

/// Bytes of address space that the worker may take, in which it also maps so many that are in memory already;
/// 0: any.
int64_t memory_limit(int threads, int64_t mapped_bytes) {
#if defined(__SANITIZE_ADDRESS__)
  return 0;  // its shadow memory takes terabytes of address space
#endif
  return free_memory_bytes() / 10 * 9 + mapped_bytes + kLibraries + threads * (kArena + kThreadStackBytes);
}

/// Ends the threads of this process that wait for its next parallel region: with OMP_WAIT_POLICY=active they
/// do so on the processors on which the worker times kernels.
void end_waiting_threads() {
#if defined(__clang__) || __GNUC__ >= 9
  omp_pause_resource_all(omp_pause_soft);
#endif
}

void apply(const Preparation& preparation, Measurement& measurement) {
  measurement.status = preparation.status;
  measurement.message = preparation.message;
  measurement.max_rel_error = preparation.max_rel_error;
  measurement.pack_ns = preparation.pack_ns;
  measurement.stored_bytes = preparation.stored_bytes;
  measurement.num_stored = preparation.num_stored;
  measurement.censored = preparation.censored;
}

void apply(const ContestantTimes& times, double baseline_ns, Measurement& measurement) {
  measurement.samples_ns = times.samples_ns;
  measurement.time_ns = times.time_ns;
  measurement.speedup = times.speedup;
  measurement.num_rounds = times.num_rounds;
  measurement.rejected_share = times.rejected_share;
  measurement.is_disturbed = times.is_disturbed;
  measurement.baseline_median_ns = baseline_ns;
}

/// What was right before it was timed has to be so after thousands of calls.
void apply_check(const Preparation& check, Measurement& measurement) {
  measurement.max_rel_error = std::max(measurement.max_rel_error, check.max_rel_error);
  if (check.status == Status::kOk) return;
  measurement.status = check.status;
  measurement.message = "after it was timed, " + check.message;
}

/// A candidate that was stopped after its first runs: all that is known is about how slow it is.
void apply_censored(double run_ns, double baseline_ns, Measurement& measurement) {
  measurement.samples_ns = {run_ns};
  measurement.time_ns = {run_ns, run_ns, run_ns};
  const double speedup = baseline_ns / std::max(run_ns, 1.0);
  measurement.speedup = {speedup, speedup, speedup};
  measurement.baseline_median_ns = baseline_ns;
}

}  // namespace

double preparation_limit_s(const schedule::SuperSchedule& point, int64_t num_nonzeros,
                           double candidate_limit_s, double fixed_csr_s) {
  const double clustering_s =
      point.format.clustered() ? kClusteringLimit_s * static_cast<double>(num_nonzeros) : 0;
  return candidate_limit_s + 10 * fixed_csr_s + clustering_s;
}

CandidateRunner::CandidateRunner(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                                 int threads, const MeasureOptions& options,
                                 std::function<Candidate(int)> compile_baseline)
    : problem_(problem),
      num_nonzeros_(tensor.num_nonzeros()),
      threads_(threads),
      options_(options),
      compile_baseline_(std::move(compile_baseline)),
      memory_(tensor),
      program_(find_worker(options.worker)) {}

json CandidateRunner::open_command() const {
  json open = {{"command", "open"}, {"name", memory_.name()}};
  open["op"] = schedule::name(problem_.op);
  open["type"] = schedule::name(problem_.type);
  open["rhs"] = problem_.rhs;
  open["seed"] = options_.seed;
  open["reference_limit"] = options_.reference_limit;
  open["single_run_ns"] = options_.single_run_ns;
  open["threads"] = threads_;
  open["memory_limit_bytes"] = memory_limit(threads_, memory_.bytes());
  return open;
}

void CandidateRunner::set_baseline(Candidate& baseline) {
  baseline_ = baseline.contestant;
  worker_ = std::make_unique<WorkerProcess>(program_, memory_.fd(), threads_);
  worker_->send(open_command());
  json message;
  Reply reply = worker_->receive(message, kStartLimit_s, options_.stop);
  if (reply == Reply::kMessage && message.at("event") != "opened") {
    throw Unmeasurable(fmt::format("measuring can't start: {}", message.value("message", "")));
  }
  if (reply != Reply::kMessage) return lose(baseline, reply, kStartLimit_s);

  json request = {{"command", "baseline"}};
  request["contestant"] = baseline_;
  request["timing"] = options_.final;
  end_waiting_threads();
  const auto start = std::chrono::steady_clock::now();
  worker_->send(request);
  double limit_s = kStartLimit_s;
  while ((reply = worker_->receive(message, limit_s, options_.stop)) == Reply::kMessage) {
    if (message.at("event") == "result") {
      const auto preparation = message.at("preparation").get<Preparation>();
      baseline_preparation_s_ = seconds_since(start);
      limit_s += kTimedCalls * preparation.first_run_ns * 1e-9;
      apply(preparation, baseline.measurement);
      baseline.needed_pos_bytes = preparation.needed_pos_bytes;
      baseline.unloadable = preparation.unloadable;
      continue;
    }
    if (message.at("event") != "timed") {
      throw Unmeasurable(fmt::format("measuring can't start: {}", message.value("message", "")));
    }
    const auto times = message.at("times").get<std::vector<ContestantTimes>>();
    if (!times.empty()) {
      baseline_ns_ = times[0].time_ns.median;
      apply_check(message.at("checks").at(0).get<Preparation>(), baseline.measurement);
      if (baseline.measurement.ok()) apply(times[0], baseline_ns_, baseline.measurement);
    }
    baseline.done = true;
    return;
  }
  lose(baseline, reply, limit_s);
}

bool CandidateRunner::start() {
  if (worker_) return true;
  Candidate baseline;
  baseline.contestant = baseline_;
  set_baseline(baseline);
  if (baseline.unloadable) {
    baseline = compile_baseline_(baseline_.pos_bytes);
    if (!baseline.done && !baseline.contestant.library.empty()) set_baseline(baseline);
  }
  if (!baseline.done) return false;
  if (!baseline.measurement.ok()) {
    check_machine(baseline.measurement);
    throw Unmeasurable(
        fmt::format("fixed_csr worked before and fails now: {}", baseline.measurement.message));
  }
  return true;
}

void CandidateRunner::run(std::vector<Candidate*> group, const TimingOptions& timing, double censor_ratio) {
  const auto is_open = [](const Candidate* candidate) {
    return !candidate->done && !candidate->needs_compiling();
  };
  bool again = false;
  while (!options_.stop()) {
    std::erase_if(group, [&](const Candidate* candidate) { return !is_open(candidate); });
    if (group.empty() || !start()) return;
    if (run_once(group, timing, censor_ratio, again)) continue;
    again = std::all_of(group.begin(), group.end(), is_open);
    // Died while several were timed together: nobody knows whose fault it was. Each on its own from here on.
    if (again && group.size() > 1) {
      for (Candidate* candidate : group) run({candidate}, timing, censor_ratio);
      return;
    }
  }
}

/// One conversation about a group. False when the worker was lost; the culprit, if it is known, is then done.
/// A worker that was lost before it began with any was ended by something else; the second time running
/// (`again`) the first of the group answers for it.
bool CandidateRunner::run_once(const std::vector<Candidate*>& group, const TimingOptions& timing,
                               double censor_ratio, bool again) {
  const auto count = static_cast<double>(group.size());
  double timing_s = options_.candidate_limit_s + 10 * baseline_preparation_s_ +
                    (count + 1) * (8 * timing.budget_s + 100 * baseline_ns_ * 1e-9);
  json request = {{"command", "measure"}};
  request["contestants"] = json::array();
  for (const Candidate* candidate : group) request["contestants"].push_back(candidate->contestant);
  request["timing"] = timing;
  request["censor_ratio"] = censor_ratio;
  end_waiting_threads();
  worker_->send(request);

  Candidate* current = again ? group[0] : nullptr;
  size_t num_prepared = 0;
  for (;;) {
    const double limit_s = num_prepared == group.size()
                               ? timing_s
                               : preparation_limit_s(group[num_prepared]->contestant.point, num_nonzeros_,
                                                     options_.candidate_limit_s, baseline_preparation_s_);
    json message;
    const Reply reply = worker_->receive(message, limit_s, options_.stop);
    if (reply != Reply::kMessage) {
      Candidate nobody;
      lose(current != nullptr ? *current : nobody, reply, limit_s);
      return false;
    }
    const std::string event = message.at("event");
    if (event == "started") {
      current = group.at(message.at("contestant"));
    } else if (event == "result") {
      Candidate& candidate = *group.at(message.at("contestant"));
      const auto preparation = message.at("preparation").get<Preparation>();
      apply(preparation, candidate.measurement);
      candidate.needed_pos_bytes = preparation.needed_pos_bytes;
      candidate.unloadable = preparation.unloadable;
      const bool timed_later = preparation.status == Status::kOk && !preparation.censored;
      candidate.done = !timed_later && !candidate.needs_compiling();
      if (preparation.censored) apply_censored(preparation.first_run_ns, baseline_ns_, candidate.measurement);
      if (timed_later) timing_s += kTimedCalls * preparation.first_run_ns * 1e-9;
      ++num_prepared;
      if (group.size() > 1) current = nullptr;
    } else if (event == "timed") {
      return take_times(group, message);
    } else {
      throw Unmeasurable(fmt::format("measuring failed: {}", message.value("message", "")));
    }
  }
}

bool CandidateRunner::take_times(const std::vector<Candidate*>& group, const json& message) {
  const auto timed = message.at("timed").get<std::vector<size_t>>();
  const auto times = message.at("times").get<std::vector<ContestantTimes>>();
  const auto checks = message.at("checks").get<std::vector<Preparation>>();
  for (size_t n = 0; n < timed.size(); ++n) {  // times[0] is the baseline's
    Candidate& candidate = *group.at(timed[n]);
    apply_check(checks.at(n), candidate.measurement);
    if (candidate.measurement.ok()) apply(times.at(n + 1), times[0].time_ns.median, candidate.measurement);
    candidate.done = true;
  }
  return true;
}

/// The worker died, hung or was overtaken by a stop request while it worked on `candidate`.
void CandidateRunner::lose(Candidate& candidate, Reply reply, double limit_s) {
  const WorkerProcess::End end = worker_->end();
  worker_.reset();
  // A signal may reach both processes, ours a moment later.
  if (reply == Reply::kStopped || options_.stop()) return;
  candidate.done = true;
  Measurement& measurement = candidate.measurement;
  if (reply == Reply::kTimeout) {
    measurement.status = Status::kTimeout;
    measurement.message = fmt::format("not finished after {:.0f} s", limit_s);
  } else {
    measurement.status = end.killed ? Status::kConstraint : Status::kCrash;
    measurement.message = fmt::format("its process ended with {}", end.how);
    if (end.killed) measurement.message += ", most likely for want of memory";
  }
}

}  // namespace waco::measure
