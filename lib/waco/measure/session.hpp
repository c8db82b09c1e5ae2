// Measuring candidates on one tensor and machine: the interface of this folder.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/signals.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/measurement.hpp"
#include "waco/measure/reference.hpp"
#include "waco/measure/timing.hpp"

namespace waco::measure {

struct CompiledKernel;

struct MeasureOptions {
  int threads = 0;       ///< of fixed_csr, packing and compiling; 0: all usable ones
  std::string compiler;  ///< command; empty: $CXX or the system's
  /// Only kernels that this compiler left in the cache are measured, and nothing is compiled (see
  /// compiler_of_kernels); `compiler` is ignored.
  std::optional<Compiler> kernels_of = std::nullopt;
  std::filesystem::path
      cache_folder;              ///< of compiled kernels; empty: the user's, or a temporary one without it
  std::filesystem::path worker;  ///< the worker program; empty: found beside the running program
  uint64_t seed = 1;             ///< of the dense operands
  double censor_ratio = 4;  ///< a candidate slower than this many times fixed_csr is not timed; 0: all are
  double candidate_limit_s =
      20;  ///< for packing, running and verifying one; see preparation_limit_s() for what is added
  double single_run_ns =
      0;          ///< a candidate whose first run takes longer is verified by that run alone; 0: none is
  int group = 1;  ///< candidates that measure() times in the same rounds
  int64_t reference_limit = Reference::kMaxStored;  ///< elements of a result compared one by one
  TimingOptions quick = {};                         ///< of measure()
  TimingOptions final = {
      .budget_s = 0.6, .precision = 0.01, .min_rounds = 15};  ///< of baseline() and compete()
  StopToken stop;     ///< when it asks to stop, what has been measured is returned
  StopToken no_more;  ///< when it asks to stop, measure() begins with no candidate but the first
  std::function<void(const Measurement&)> on_result;  ///< called with each result as it arrives
  std::string baseline_source;                        ///< replaces fixed_csr's generated source; for tests
};

/// Nothing can be measured on this tensor, whatever the machine does next: fixed_csr fails on it, or the
/// worker or the compiler has no memory beside it. The exit code is kVerification when the result of
/// fixed_csr is wrong.
class Unmeasurable : public EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

/// Throws Unmeasurable where the worker's copy of the tensor, the dense operands, the result and its
/// reference do not fit in the memory that is free.
void check_operands_fit(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                        int64_t num_nonzeros);

/// Throws when the machine, not the kernel, was at fault: nothing is known of the point then, and those that
/// follow would fare no better. EnvironmentError where a disk is full; otherwise memory was short, beside
/// this tensor, and that is Unmeasurable.
void check_machine(const Measurement& measurement);
/// The same of a kernel that was to be compiled.
void check_machine(const CompiledKernel& kernel);

/// Whether other inputs would meet the fault, too: it is of the machine, and not of the input or a stop
/// request.
bool is_of_machine(const std::exception& fault);

/// Measures candidates in a worker process, each against fixed_csr in interleaved rounds. A candidate that
/// does not compile, crashes, hangs or answers wrongly is a Measurement with that status. The tensor must
/// outlive the session, and so must the thread that measures first: the worker ends with it.
///
/// Throws EnvironmentError when nothing can be measured at all: the compiler can't be used (exit code
/// kCompiler), the worker can't be started, a disk is full; Unmeasurable when that is the tensor's fault, and
/// Stopped.
class Session {
 public:
  Session(const matrix::SparseTensor& tensor, const schedule::Problem& problem, MeasureOptions options);
  Session(matrix::SparseTensor&&, const schedule::Problem&, MeasureOptions) = delete;  // it would be gone
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// What the compiler makes code for; kernels are generated for its vector width.
  const CompilerTarget& target() const;
  int threads() const;

  /// fixed_csr itself, verified and timed alone; measured on the first call. A stop request before it is done
  /// throws Stopped.
  const Measurement& baseline();

  /// Each candidate (or group of them) against fixed_csr, one after the other, in the order given; all are
  /// compiled first, in parallel. After a request of `stop` or `no_more` the rest is missing from the result.
  std::vector<Measurement> measure(const std::vector<schedule::SuperSchedule>& points);

  /// All finalists and fixed_csr in the same rounds, with the longer budget; their times compare with each
  /// other.
  std::vector<Measurement> compete(const std::vector<schedule::SuperSchedule>& finalists);

  /// A kernel from anywhere, with the entry point of kernels-templates/abi.hpp, for the format of `point`.
  Measurement measure_source(const schedule::SuperSchedule& point, const std::string& source,
                             const std::string& flags);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace waco::measure
