// Running compiled candidates on a worker that is restarted whenever one of them takes it down.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "waco/measure/protocol.hpp"
#include "waco/measure/session.hpp"
#include "waco/measure/tensor_memory.hpp"
#include "waco/measure/worker_process.hpp"

namespace waco::measure {

/// A compiled candidate and its result so far.
struct Candidate {
  Contestant contestant;
  Measurement measurement;
  int needed_pos_bytes = 0;  ///< set when it must be compiled again for this width
  bool unloadable = false;   ///< set when its library can't be loaded, as when it was removed
  bool done = false;
  bool needs_compiling() const { return unloadable || needed_pos_bytes != 0; }
};

/// Seconds that packing, running and checking a candidate of a tensor with so many nonzeros may take:
/// `candidate_limit_s` of the options, ten times what fixed_csr took, and where rows are clustered what
/// finding their order may take.
double preparation_limit_s(const schedule::SuperSchedule& point, int64_t num_nonzeros,
                           double candidate_limit_s, double fixed_csr_s);

/// Owns the worker. The baseline is set once; it is prepared again in every new worker.
class CandidateRunner {
 public:
  /// `compile_baseline` makes the baseline again for a width of positions, where its library is gone when a
  /// worker is restarted.
  CandidateRunner(const matrix::SparseTensor& tensor, const schedule::Problem& problem, int threads,
                  const MeasureOptions& options, std::function<Candidate(int)> compile_baseline);

  /// Starts a worker with this baseline and times it. The candidate's status says how it went; `done` is
  /// false when a stop was requested.
  void set_baseline(Candidate& baseline);

  /// Runs the candidates of one group, timed together; those slower than `censor_ratio` times the baseline
  /// (0: none) are not timed. On return each is done, needs to be compiled again, or was overtaken by a
  /// stop request.
  void run(std::vector<Candidate*> group, const TimingOptions& timing, double censor_ratio);

 private:
  bool start();
  bool run_once(const std::vector<Candidate*>& group, const TimingOptions& timing, double censor_ratio,
                bool again);
  void lose(Candidate& candidate, WorkerProcess::Reply reply, double limit_s);
  bool take_times(const std::vector<Candidate*>& group, const nlohmann::json& message);
  nlohmann::json open_command() const;

  const schedule::Problem problem_;
  const int64_t num_nonzeros_;
  const int threads_;
  const MeasureOptions& options_;
  const std::function<Candidate(int)> compile_baseline_;
  TensorMemory memory_;
  std::filesystem::path program_;
  Contestant baseline_;
  double baseline_preparation_s_ = 0;
  double baseline_ns_ = 0;
  std::unique_ptr<WorkerProcess> worker_;
};

}  // namespace waco::measure
