// The steps of one matrix: tune, set up, verify, time, bound.
#include "apps/bench/contest.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "apps/bench/csr_arrays.hpp"
#include "apps/bench/pinning.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/bench.hpp"
#include "waco/measure/requests.hpp"
#include "waco/measure/timing.hpp"

namespace waco::bench {
namespace {

using measure::Preparation;
using schedule::SuperSchedule;

/// Slower peers get a few calls only: they would stretch every round of the others.
constexpr double kCensorRatio = 8;
constexpr double kCompileLimit_s = 120;
constexpr double kBusyShare = 0.2;

measure::TimingOptions timing_of(tune::Effort effort) {
  measure::TimingOptions timing;
  const bool quick = effort == tune::Effort::kQuick || effort == tune::Effort::kNone;
  timing.budget_s = quick ? 0.15 : 0.6;
  timing.precision = quick ? 0.02 : 0.01;
  timing.min_rounds = quick ? 7 : 15;
  return timing;
}

/// fixed_csr's format and loops, with rows in ranges of equal nonzeros.
SuperSchedule balanced_csr(const schedule::Problem& problem, int threads) {
  SuperSchedule point = schedule::csr_point(problem, threads);
  point.compute.policy = schedule::Policy::kBalanced;
  point.compute.chunk = 0;
  return schedule::canonical(point);
}

/// What of a contestant must live while it is timed.
struct Runner {
  measure::Entrant entrant;
  std::unique_ptr<PreparedPeer> peer;
};

class Contest {
 public:
  Contest(const ContestOptions& options, const measure::KernelCache& cache, matrix::SparseTensor tensor,
          Record& record)
      : options_(options),
        cache_(cache),
        record_(record),
        pos_bytes_(measure::usual_pos_bytes(tensor)),
        bench_(std::move(tensor), record.problem, options.tuning.seed, record.threads) {}

  void add_fixed_csr(const char* name) {
    const SuperSchedule point = schedule::csr_point(record_.problem, record_.threads);
    add_kernel(name, point, true);
  }
  void add_point(const char* name, const SuperSchedule& point) { add_kernel(name, point, false); }

  void add_peers(const StopToken& stop);
  void time_all();

 private:
  void add_kernel(const char* name, const SuperSchedule& point, bool fixed_csr);
  void add_peer(const Peer& peer, const PeerInput& input);
  void take(const Preparation& preparation, Entry& entry);
  std::function<void()> call_of(Runner& runner);

  const ContestOptions& options_;
  const measure::KernelCache& cache_;
  Record& record_;
  int pos_bytes_;
  measure::Bench bench_;
  std::optional<CsrArrays> arrays_;  ///< of the peers; outlives them
  std::deque<Runner> runners_;       ///< [record_.entries]
  double censor_ns_ = 0;
};

void Contest::take(const Preparation& preparation, Entry& entry) {
  entry.status = measure::name(preparation.status);
  entry.message = preparation.message;
  entry.max_rel_error = preparation.max_rel_error;
  entry.censored = preparation.censored;
  if (!entry.ok() || !entry.censored) return;
  const double ns = preparation.first_run_ns;
  entry.time_ns = {ns, ns, ns};
}

void Contest::add_kernel(const char* name, const SuperSchedule& point, bool fixed_csr) {
  Runner& runner = runners_.emplace_back();
  Entry& entry = record_.entries.emplace_back();
  entry.name = name;
  entry.note = fixed_csr ? kFixedCsr : schedule::to_text(point);
  Preparation preparation;
  int pos_bytes = pos_bytes_;
  do {  // again when packing needs positions of the other width
    if (preparation.needed_pos_bytes != 0) pos_bytes = preparation.needed_pos_bytes;
    const std::vector<int64_t>& dims = bench_.tensor().dims;
    const measure::CompiledKernel kernel = cache_.get(
        fixed_csr ? measure::baseline_request(record_.problem, dims, pos_bytes)
                  : measure::kernel_request(point, dims, pos_bytes, cache_.compiler().target().vector_bytes),
        kCompileLimit_s);
    if (!kernel.ok()) {
      preparation.status = measure::Status::kCompile;
      preparation.message = kernel.diagnostic;
      break;
    }
    runner.entrant = measure::Entrant();
    preparation = bench_.prepare({point, kernel.library, pos_bytes, fixed_csr}, 0, runner.entrant);
  } while (preparation.needed_pos_bytes != 0 && preparation.needed_pos_bytes != pos_bytes);
  take(preparation, entry);
  entry.setup_ns = static_cast<double>(preparation.pack_ns);
  entry.stored_bytes = preparation.stored_bytes;
  if (record_.entries.size() == 1) censor_ns_ = kCensorRatio * preparation.first_run_ns;
}

/// Why no library can take this operand, or nullopt.
std::optional<std::string> unfit_reason(const matrix::SparseTensor& tensor) {
  if (tensor.order() != 2) return "takes no 3-D tensor";
  if (!CsrArrays::fits(tensor)) return "the matrix needs 64-bit indices";
  return std::nullopt;
}

void Contest::add_peers(const StopToken& stop) {
  const matrix::SparseTensor& tensor = bench_.tensor();
  const std::optional<std::string> unfit = unfit_reason(tensor);
  if (!unfit && !options_.peers.empty()) arrays_.emplace(tensor, record_.problem.type);
  for (const Peer& peer : options_.peers) {
    if (stop()) return;
    if (unfit) {
      record_.absent.push_back({peer.name, *unfit});
      continue;
    }
    PeerInput input{record_.problem,
                    record_.threads,
                    &tensor,
                    arrays_->row_begin(),
                    arrays_->columns(),
                    arrays_->values(),
                    {bench_.operands().data(0), bench_.operands().data(1)},
                    bench_.output()};
    if (const auto reason = peer.refusal(input)) {
      record_.absent.push_back({peer.name, *reason});
    } else {
      add_peer(peer, input);
    }
  }
}

void Contest::add_peer(const Peer& peer, const PeerInput& input) {
  Runner& runner = runners_.emplace_back();
  Entry& entry = record_.entries.emplace_back();
  entry.name = peer.name;
  entry.library = peer.library;
  entry.note = peer.note;
  entry.status = measure::name(measure::Status::kConstraint);
  try {
    const auto start = std::chrono::steady_clock::now();
    runner.peer = peer.prepare(input);
    entry.setup_ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
    entry.stored_bytes = runner.peer->stored_bytes();
    PreparedPeer& prepared = *runner.peer;
    take(bench_.prepare({[&](void* out) { prepared.run(out); }, [&](void* out) { prepared.finish(out); }},
                        censor_ns_),
         entry);
  } catch (const std::bad_alloc&) {
    entry.message = "not enough memory";
  } catch (const EnvironmentError& error) {
    entry.message = error.what();
  }
  if (!entry.ok()) {
    spdlog::warn("{}: {} is {}: {}", record_.matrix.name, entry.name, entry.status, entry.message);
    runner.peer.reset();
  }
}

std::function<void()> Contest::call_of(Runner& runner) {
  if (runner.peer != nullptr) return [this, &runner] { runner.peer->run(bench_.output()); };
  return [this, &runner] { bench_.run(runner.entrant); };
}

void Contest::time_all() {
  std::vector<std::function<void()>> calls;
  std::vector<Entry*> timed;
  for (size_t n = 0; n < runners_.size(); ++n) {
    Entry& entry = record_.entries[n];
    if (!entry.ok() || entry.censored) continue;
    calls.push_back(call_of(runners_[n]));
    timed.push_back(&entry);
  }
  const auto times = measure::time_contestants(calls, timing_of(options_.tuning.effort));
  for (size_t n = 0; n < timed.size(); ++n) {
    timed[n]->samples_ns = times[n].samples_ns;
    timed[n]->time_ns = times[n].time_ns;
    timed[n]->speedup = times[n].speedup;
    timed[n]->rejected_share = times[n].rejected_share;
  }
}

/// Bounds of all, and the speedup of those that were not in the rounds.
void complete(Record& record, const Work& work) {
  const Entry& baseline = record.entries.front();
  const bool f64 = record.problem.type == schedule::ValueType::kF64;
  double rejected = 0;
  for (Entry& entry : record.entries) {
    entry.bound = bound_of(work, entry.stored_bytes, record.ceilings, record.threads, f64);
    rejected = std::max(rejected, entry.rejected_share);
    if (!entry.censored || !entry.ok()) continue;
    const double speedup = speedup_over(&entry, &baseline);
    entry.speedup = {speedup, speedup, speedup};
  }
  if (rejected > kBusyShare)
    record.warnings.push_back(
        fmt::format("this machine is busy: {:.0f} % of a contestant's samples were thrown away; times may be "
                    "off, run again when it is idle",
                    rejected * 100));
}

/// A record of a plan that was not searched to the end, or without some of the peers, would be kept as whole.
void check_going_on(const std::string& matrix, const StopToken& stop) {
  if (stop())
    throw EnvironmentError(fmt::format("{}: stopped by {} before it was timed", matrix, stop.reason()));
}

model::Ceilings find_ceilings(int threads) {
  try {
    return model::load_or_measure_ceilings(threads, cache_folder());
  } catch (const EnvironmentError& error) {
    spdlog::warn("{}; the machine is measured again in every run", error.what());
    return model::measure_ceilings(threads);
  }
}

}  // namespace

Arena::Arena(ContestOptions options) : options_(std::move(options)) {
  std::filesystem::path folder;
  try {
    folder = cache_folder() / "kernels";
  } catch (const EnvironmentError& error) {
    spdlog::warn("{}; kernels compiled in this run will not be kept", error.what());
    temporary_.emplace("waco-kernels-");
    folder = temporary_->path() / "kernels";
  }
  cache_ = std::make_unique<measure::KernelCache>(measure::Compiler::find(options_.tuning.compiler), folder);
  cache_->require_openmp();
  ceilings_ = find_ceilings(options_.tuning.threads);
}

Record Arena::hold(matrix::SparseTensor tensor, const StopToken& stop) const {
  tune::TuneOptions tuning = options_.tuning;
  // A given point is only verified here: its time is taken beside the others.
  if (!tuning.points.empty()) tuning.effort = tune::Effort::kNone;
  const tune::TuneResult tuned = tune::tune(tensor, tuning, stop);
  check_going_on(tensor.name, stop);
  if (!tuned.best || !tuned.best->verified)
    throw EnvironmentError(fmt::format("{}: no plan could be verified", tensor.name),
                           tuned.complete ? ExitCode::kVerification : ExitCode::kFailed);
  const Work work = work_of(tensor, tuned.problem);

  Record record;
  record.machine = tuned.machine;
  record.matrix = tuned.matrix;
  record.problem = tuned.problem;
  record.threads = tuned.threads;
  record.effort = tune::name(options_.tuning.effort);
  record.seed = tuned.seed;
  record.plan = tuned.best->is_baseline ? kFixedCsr : schedule::to_text(tuned.best->point);
  record.tuning_s = tuned.seconds.total;
  record.flops = work.flops;
  record.ceilings = ceilings_;
  record.warnings = tuned.warnings;

  const InitialThreadPinned pinned;
  Contest contest(options_, *cache_, std::move(tensor), record);
  contest.add_fixed_csr(kFixedCsr);
  if (!record.entries[0].ok())
    throw EnvironmentError(fmt::format("{}: fixed_csr can't be measured ({}): {}", record.matrix.name,
                                       record.entries[0].status, record.entries[0].message));
  contest.add_point(kBalancedCsr, balanced_csr(record.problem, record.threads));
  if (tuned.best->is_baseline) {
    contest.add_fixed_csr(kWaco);
  } else {
    contest.add_point(kWaco, tuned.best->point);
  }
  contest.add_peers(stop);
  check_going_on(record.matrix.name, stop);
  contest.time_all();
  complete(record, work);
  return record;
}

}  // namespace waco::bench
