// Setting up our kernels and the peers, and calling them in turn.
#include "apps/bench/contestants.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/measure/requests.hpp"
#include "waco/measure/session.hpp"
#include "waco/measure/set_up_time.hpp"

namespace waco::bench {

using measure::Preparation;
using schedule::SuperSchedule;

namespace {

/// What a censored peer gets beyond the calls that verify it, which may have been cold.
constexpr int kMoreCalls = 4;
constexpr double kMoreCalls_ns = 1e9;
constexpr const char* kNoMemory = "not enough memory";

/// Why no library can take this operand, or nullopt.
std::optional<std::string> unfit_reason(const matrix::SparseTensor& tensor) {
  if (tensor.order() != 2) return "takes no 3-D tensor";
  if (!CsrArrays::fits(tensor)) return "the matrix needs 64-bit indices";
  return std::nullopt;
}

/// As the peer says; one that has no room to find out does not take part either.
std::optional<std::string> refusal_of(const Peer& peer, const PeerInput& input) {
  try {
    return peer.refusal(input);
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  }
}

measure::ForeignKernel kernel_of(PreparedPeer& peer) {
  return {[&peer](void* out) { peer.run(out); }, [&peer](void* out) { peer.finish(out); }};
}

/// Lets the library of a peer start, once a process, which is no part of setting up a matrix: by a small
/// full one, whose blocks are full, too.
void start_library(const Peer& peer, const schedule::Problem& problem, int threads) {
  constexpr int64_t kSize = 12;
  static std::set<std::string> started;
  if (!started.insert(peer.library).second) return;
  try {
    matrix::SparseTensor full;
    full.dims = {kSize, kSize};
    full.coords.resize(2);
    for (int64_t n = 0; n < kSize * kSize; ++n) {
      full.coords[0].push_back(n / kSize);
      full.coords[1].push_back(n % kSize);
    }
    full.values.assign(kSize * kSize, 1);
    const CsrArrays arrays(full, problem.type, threads);
    const auto dense_bytes = static_cast<size_t>(kSize * problem.rhs * schedule::value_bytes(problem.type));
    Buffer b(dense_bytes), c(dense_bytes), out(dense_bytes);
    const PeerInput input{problem,
                          threads,
                          &full,
                          arrays.row_begin(),
                          arrays.columns(),
                          arrays.values(),
                          {b.data(), c.data()},
                          out.data()};
    if (!peer.refusal(input)) peer.prepare(input)->run(out.data());
  } catch (const std::exception& error) {
    spdlog::debug("{}: {}", peer.library, error.what());  // as it will say of the matrix itself
  }
}

}  // namespace

Contestants::Contestants(matrix::SparseTensor tensor, const measure::KernelCache& cache, Record& record)
    : cache_(cache),
      record_(record),
      pos_bytes_(measure::usual_pos_bytes(tensor)),
      bench_(std::move(tensor), record.problem, record.seed, record.threads) {}

void Contestants::add_fixed_csr(const char* name, const StopToken& stop) {
  add_kernel(name, schedule::csr_point(record_.problem, record_.threads), true, stop);
}

void Contestants::add_point(const char* name, const SuperSchedule& point, const StopToken& stop) {
  add_kernel(name, point, false, stop);
}

void Contestants::take(const Preparation& preparation, Entry& entry) {
  entry.status = measure::name(preparation.status);
  entry.message = preparation.message;
  entry.max_rel_error = preparation.max_rel_error;
  entry.censored = preparation.censored;
  if (!entry.ok() || !entry.censored) return;
  const double ns = preparation.first_run_ns;
  entry.time_ns = {ns, ns, ns};
}

void Contestants::add_kernel(const char* name, const SuperSchedule& point, bool fixed_csr,
                             const StopToken& stop) {
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
        measure::kCompileLimit_s, stop);
    if (kernel.stopped)
      throw Stopped(
          fmt::format("{}: stopped by {} while a kernel was compiled", record_.matrix.name, stop.reason()));
    measure::check_machine(kernel);  // a record would pass for what the kernel is like, for ever
    if (!kernel.ok()) {
      preparation.status = measure::Status::kCompile;
      preparation.message = kernel.diagnostic;
      break;
    }
    runner.entrant = measure::Entrant();
    preparation = bench_.prepare({point, kernel.library, pos_bytes, fixed_csr}, 0, runner.entrant);
    if (preparation.unloadable) throw EnvironmentError(preparation.message);
  } while (preparation.needed_pos_bytes != 0 && preparation.needed_pos_bytes != pos_bytes);
  take(preparation, entry);
  entry.setup_ns = static_cast<double>(preparation.pack_ns);
  entry.stored_bytes = preparation.stored_bytes;
  if (record_.entries.size() == 1) censor_ns_ = kCensorRatio * preparation.first_run_ns;
}

void Contestants::add_peers(const std::vector<Peer>& peers, const StopToken& stop) {
  const matrix::SparseTensor& tensor = bench_.tensor();
  std::optional<std::string> unfit = unfit_reason(tensor);
  try {
    if (!unfit && !peers.empty()) arrays_.emplace(tensor, record_.problem.type, record_.threads);
  } catch (const std::bad_alloc&) {
    unfit = kNoMemory;
  }
  for (const Peer& peer : peers) {
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
    if (const auto reason = refusal_of(peer, input)) {
      record_.absent.push_back({peer.name, *reason});
    } else {
      add_peer(peer, input);
    }
  }
}

void Contestants::add_peer(const Peer& peer, const PeerInput& input) {
  Runner& runner = runners_.emplace_back();
  Entry& entry = record_.entries.emplace_back();
  entry.name = peer.name;
  entry.library = peer.library;
  entry.note = peer.note;
  entry.remark = peer.remark;
  entry.status = measure::name(measure::Status::kConstraint);
  start_library(peer, input.problem, input.threads);
  try {
    entry.setup_ns =
        measure::shortest_set_up_ns([&] { runner.peer.reset(); }, [&] { runner.peer = peer.prepare(input); });
    entry.stored_bytes = runner.peer->stored_bytes();
    take(bench_.prepare(kernel_of(*runner.peer), censor_ns_), entry);
  } catch (const std::bad_alloc&) {
    entry.message = kNoMemory;
  } catch (const EnvironmentError& error) {
    entry.message = error.what();
  }
  const size_t n = record_.entries.size() - 1;
  if (entry.ok() && entry.censored) call_again(n);
  if (!entry.ok()) drop(n);
}

void Contestants::call_again(size_t n) {
  Entry& entry = record_.entries[n];
  const std::function<void()> call = call_of(n);
  double fastest_ns = entry.time_ns.median, left_ns = kMoreCalls_ns;
  try {
    for (int calls = 0; calls < kMoreCalls && fastest_ns < left_ns; ++calls) {
      const auto start = std::chrono::steady_clock::now();
      call();
      const double ns = ns_since(start);
      fastest_ns = std::min(fastest_ns, ns);
      left_ns -= ns;
    }
  } catch (const std::exception&) {
    return;  // its entry says so
  }
  entry.censored = fastest_ns > censor_ns_;
  entry.time_ns =
      entry.censored ? measure::Estimate{fastest_ns, fastest_ns, fastest_ns} : measure::Estimate();
}

void Contestants::drop(size_t n) {
  const Entry& entry = record_.entries[n];
  spdlog::warn("{}: {} is {}: {}", record_.matrix.name, entry.name, entry.status, entry.message);
  runners_[n].peer.reset();
}

std::function<void()> Contestants::call_of(size_t n) {
  Runner& runner = runners_[n];
  if (runner.peer == nullptr) return [this, &runner] { bench_.run(runner.entrant); };
  return [this, &runner, &entry = record_.entries[n]] {
    try {
      runner.peer->run(bench_.output());
    } catch (const std::exception& error) {
      entry.status = measure::name(measure::Status::kCrash);
      entry.message = fmt::format("while it was timed: {}", error.what());
      throw;
    }
  };
}

void Contestants::time_all(const measure::TimingOptions& options, const StopToken& stop) {
  std::vector<std::function<void()>> calls;
  std::vector<size_t> timed;
  for (size_t n = 0; n < runners_.size(); ++n) {
    const Entry& entry = record_.entries[n];
    if (!entry.ok() || entry.censored) continue;
    calls.push_back(call_of(n));
    timed.push_back(n);
  }
  std::vector<measure::ContestantTimes> times;
  try {
    measure::Workbench::end_waiting_threads();
    times = measure::time_contestants(calls, options, {}, stop);
  } catch (const Stopped&) {
    throw;
  } catch (const std::exception&) {
    const auto failed =
        std::find_if(timed.begin(), timed.end(), [&](size_t n) { return !record_.entries[n].ok(); });
    if (failed == timed.end()) throw;
    drop(*failed);
    return time_all(options, stop);  // the others, from the start
  }
  for (size_t n = 0; n < timed.size(); ++n) {
    Entry& entry = record_.entries[timed[n]];
    check_again(timed[n]);
    if (!entry.ok()) {
      drop(timed[n]);
      continue;
    }
    entry.samples_ns = times[n].samples_ns;
    entry.time_ns = times[n].time_ns;
    entry.speedup = times[n].speedup;
    entry.rejected_share = times[n].rejected_share;
  }
}

void Contestants::check_again(size_t n) {
  Runner& runner = runners_[n];
  Entry& entry = record_.entries[n];
  const Preparation check =
      runner.peer == nullptr ? bench_.check(runner.entrant) : bench_.prepare(kernel_of(*runner.peer), 0);
  entry.max_rel_error = std::max(entry.max_rel_error, check.max_rel_error);
  if (check.status == measure::Status::kOk) return;
  entry.status = measure::name(check.status);
  entry.message = "after it was timed, " + check.message;
}

}  // namespace waco::bench
