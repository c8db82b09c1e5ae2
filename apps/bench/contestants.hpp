// The contestants on one tensor: set up, verified, and timed in the same rounds.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "apps/bench/peers/csr_arrays.hpp"
#include "apps/bench/peers/peer.hpp"
#include "apps/bench/record.hpp"
#include "waco/base/signals.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/timing.hpp"
#include "waco/measure/workbench.hpp"

namespace waco::bench {

/// Adds an entry to `record.entries` for each contestant. The first must be fixed_csr: what is much slower
/// than it is censored. `record` (with problem and threads) and `cache` must outlive this.
class Contestants {
 public:
  Contestants(matrix::SparseTensor tensor, const measure::KernelCache& cache, Record& record);

  /// Throws what measure::check_machine does when the machine kept a kernel from being compiled, and Stopped.
  void add_fixed_csr(const char* name, const StopToken& stop = {});
  void add_point(const char* name, const schedule::SuperSchedule& point, const StopToken& stop = {});
  /// Those that do not take part go to `record.absent`. Ends early when it is asked to stop.
  void add_peers(const std::vector<Peer>& peers, const StopToken& stop);

  /// Times all that are verified and not censored, and verifies them once more: what was right before has to
  /// be so after thousands of calls. A peer that fails meanwhile is left out, and says so. Throws Stopped.
  void time_all(const measure::TimingOptions& options, const StopToken& stop = {});

 private:
  /// What of a contestant must live while it is timed.
  struct Runner {
    measure::Entrant entrant;
    std::unique_ptr<PreparedPeer> peer;
  };

  void add_kernel(const char* name, const schedule::SuperSchedule& point, bool fixed_csr,
                  const StopToken& stop);
  void add_peer(const Peer& peer, const PeerInput& input);
  void take(const measure::Preparation& preparation, Entry& entry);
  /// Times a few more calls of a censored peer, which takes part in the rounds if they are fast enough.
  void call_again(size_t n);
  /// Runs one that was timed, and compares its result.
  void check_again(size_t n);
  /// Says what became of an entry that is not ok, and lets go of its peer.
  void drop(size_t n);
  std::function<void()> call_of(size_t n);

  const measure::KernelCache& cache_;
  Record& record_;
  int pos_bytes_;
  measure::Workbench bench_;
  std::optional<CsrArrays> arrays_;  ///< of the peers; outlives them
  std::deque<Runner> runners_;       ///< [record_.entries]
  double censor_ns_ = 0;
};

}  // namespace waco::bench
