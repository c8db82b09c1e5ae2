// The worker's bench: one tensor with its dense operands, output and reference, on which kernels are packed
// for, verified and made ready to be timed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "waco/base/buffer.hpp"
#include "waco/codegen/storage.hpp"
#include "waco/measure/operands.hpp"
#include "waco/measure/protocol.hpp"
#include "waco/measure/reference.hpp"

namespace waco::measure {

/// A kernel's shared object, loaded.
class KernelLibrary {
 public:
  /// Throws EnvironmentError when it can't be loaded.
  explicit KernelLibrary(const std::filesystem::path& file);
  ~KernelLibrary();
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  waco_kernel_function kernel() const { return kernel_; }  ///< null where it has no waco_kernel

 private:
  void* handle_ = nullptr;
  waco_kernel_function kernel_ = nullptr;
};

/// A contestant that is packed, verified and ready to be timed. Stays valid as long as its bench.
struct Entrant {
  std::unique_ptr<KernelLibrary> library;
  std::unique_ptr<codegen::Storage> storage;
  std::vector<int64_t> partition;
  Buffer scratch;
  waco_call call{};
};

/// A contestant that is no kernel of ours, such as a library's.
struct ForeignKernel {
  /// Writes the whole result to `out`; of sddmm one value for each nonzero, in the order of the input.
  std::function<void(void* out)> run;
  /// Untimed: brings the result to `out` when `run` leaves it elsewhere. May be empty.
  std::function<void(void* out)> finish;
};

class Workbench {
 public:
  /// The tensor's values are replaced (draw_values), where it can be by such that sums are exact.
  /// `reference_limit`: see Reference.
  Workbench(matrix::SparseTensor tensor, const schedule::Problem& problem, uint64_t seed, int threads,
            int64_t reference_limit = Reference::kMaxStored);

  /// Before kernels are timed: threads of this program's OpenMP runtime that wait for its next region, which
  /// with OMP_WAIT_POLICY=active they do on the CPUs of kernels that have a runtime of their own.
  static void end_waiting_threads();

  /// A contestant whose first run takes longer is run only once by prepare(); 0: none is.
  void set_single_run(double ns) { single_run_ns_ = ns; }

  /// Packs, loads, runs twice and compares both results; `entrant` is ready when the status is ok. A
  /// contestant whose fastest run takes longer than `censor_ns` (0: no limit) is marked censored. It is run
  /// only once when that is far off, and a few times more when it is so short that the scheduler may be to
  /// blame, after a pause, too, in which others may be done.
  Preparation prepare(const Contestant& contestant, double censor_ns, Entrant& entrant);

  /// Runs a contestant that was prepared once more, and compares the result: after it was timed.
  Preparation check(Entrant& entrant);

  /// As prepare(), for a kernel from elsewhere; what it throws makes its status kCrash, unless it is a lack
  /// of memory.
  Preparation prepare(const ForeignKernel& kernel, double censor_ns);

  /// One call of the kernel; its status code.
  int run(Entrant& entrant);

  const matrix::SparseTensor& tensor() const { return tensor_; }
  const DenseOperands& operands() const { return operands_; }
  /// Where results go: room for the result of every contestant prepared so far (null before the first). Moves
  /// when a later contestant needs more.
  void* output() const { return output_.bytes() > 0 ? output_.as<unsigned char>() + kBeforeOutput : nullptr; }

 private:
  /// Guard bytes: a page, so that the output stays aligned to one.
  static constexpr int64_t kBeforeOutput = 4096;

  /// How one contestant is called, and its result judged.
  struct Trial {
    std::function<int()> run;
    std::function<Verification()> compare;
  };

  /// How long a call took. That it is slow is proved by what is left without the longest that a thread of
  /// this process waited for a CPU, as far as the system tells.
  struct RunTime {
    double ns = 0;
    double proved_ns = 0;
  };
  static RunTime time_of(const std::function<void()>& call);

  Preparation guarded(const std::function<void(Preparation&)>& body) const;
  Preparation pack(const Contestant& contestant, Entrant& entrant);
  void run_and_compare(const Trial& trial, double censor_ns, Preparation& preparation);
  bool run_once(const Trial& trial, Preparation& preparation, RunTime& time);
  Verification compare(const Entrant& entrant);
  Verification compare_input_order();
  void reserve_output(int64_t num_stored);
  void poison(void* memory, int64_t size) const;
  void poison_output();
  bool overrun() const;
  bool needs_second_run(const RunTime& first, double censor_ns) const;

  std::optional<ExactBits> exact_;  ///< of the values of all operands
  matrix::SparseTensor tensor_;
  schedule::Problem problem_;
  int threads_;
  double single_run_ns_ = 0;
  DenseOperands operands_;
  Reference reference_;
  Buffer output_;
  std::vector<double> values_;  ///< of a sparse output, in the order of the input, while it is compared
  int64_t output_bytes_ = 0;    ///< of the current contestant, between guard bytes
};

}  // namespace waco::measure
