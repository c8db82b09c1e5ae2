// From points to measurements: source, compile in parallel, run alone.
#include "waco/measure/session.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/measure/candidate_run.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/operands.hpp"
#include "waco/measure/requests.hpp"
#include "waco/measure/tensor_memory.hpp"

namespace waco::measure {

namespace {

void check_compiling(bool failed, bool disk_full, const std::string& message) {
  if (!failed) return;
  const auto tell = [&](const char* what) {
    return fmt::format("a kernel could not be compiled: {}; free {}", message, what);
  };
  if (disk_full) throw EnvironmentError(tell("disk space"));
  throw Unmeasurable(tell("memory, or raise the limits of this job"));
}

}  // namespace

void check_operands_fit(const schedule::Problem& problem, const std::vector<int64_t>& dims,
                        int64_t num_nonzeros) {
  constexpr double kGB = 1e9;
  const std::array<int64_t, 2> dense = dense_elements(problem, dims);
  const double bytes = schedule::value_bytes(problem.type) *
                       (static_cast<double>(dense[0]) + static_cast<double>(dense[1]) +
                        static_cast<double>(output_elements(problem, dims, num_nonzeros)));
  // Of each row, empty ones too, or of each nonzero of sddmm: what the reference holds, and of sddmm the
  // values that are compared with it.
  constexpr double kReference = 4 * sizeof(double);
  const bool is_sparse = schedule::output_is_sparse(problem.op);
  // Row pointers, those of packing besides.
  constexpr double kRowPointers = sizeof(int64_t) + sizeof(int32_t);
  const double row_bytes = static_cast<double>(dims[0]) * (kRowPointers + (is_sparse ? 0 : kReference));
  const double nonzero_bytes = static_cast<double>(copy_bytes(dims, num_nonzeros)) +
                               static_cast<double>(num_nonzeros) * (is_sparse ? kReference : 0);
  const double needed_bytes = bytes + row_bytes + nonzero_bytes;
  const auto free_bytes = static_cast<double>(free_memory_bytes());
  if (needed_bytes <= free_bytes) return;
  const bool is_wide = schedule::has_dense_index(problem.op) && bytes > row_bytes;
  throw Unmeasurable(fmt::format(
      "a copy of the tensor, the dense operands, the result and its reference take {:.1f} GB, and "
      "{:.1f} GB are free; {}",
      needed_bytes / kGB, free_bytes / kGB,
      nonzero_bytes > bytes + row_bytes ? "use a smaller matrix or a machine with more memory"
      : is_wide                         ? "choose a smaller --rhs"
                                        : "remove empty rows and columns"));
}

void check_machine(const Measurement& measurement) {
  check_compiling(measurement.machine_failed, measurement.disk_full, measurement.message);
}

void check_machine(const CompiledKernel& kernel) {
  check_compiling(kernel.machine_failed, kernel.disk_full, kernel.diagnostic);
}

bool is_of_machine(const std::exception& fault) {
  if (dynamic_cast<const std::system_error*>(&fault) != nullptr) return true;
  return dynamic_cast<const EnvironmentError*>(&fault) != nullptr &&
         dynamic_cast<const TooLargeError*>(&fault) == nullptr &&
         dynamic_cast<const Unmeasurable*>(&fault) == nullptr &&
         dynamic_cast<const Stopped*>(&fault) == nullptr;
}

class Session::State {
 public:
  State(const matrix::SparseTensor& tensor, const schedule::Problem& problem, MeasureOptions options)
      : tensor_(tensor),
        problem_(problem),
        options_(std::move(options)),
        threads_(threads_or_all(options_.threads)),
        cache_(options_.kernels_of ? *options_.kernels_of : Compiler::find(options_.compiler, options_.stop),
               options_.cache_folder, kernel_cache_limit(),
               options_.kernels_of ? Compiling::kNever : Compiling::kAllowed),
        runner_(tensor, problem, threads_, options_,
                [this](int pos_bytes) { return compile_baseline(pos_bytes); }) {
    WACO_ASSERT(tensor.order() == schedule::sparse_order(problem.op));
    check_operands_fit(problem, tensor.dims, tensor.num_nonzeros());
    if (!options_.kernels_of) cache_.require_openmp(options_.stop);
    pos_bytes_ = usual_pos_bytes(tensor);
  }

  const KernelCache& cache() const { return cache_; }
  int threads() const { return threads_; }

  const Measurement& baseline() {
    if (!baseline_) measure_baseline();
    return *baseline_;
  }

  /// One group of candidates timed together, or each on its own.
  std::vector<Measurement> measure(const std::vector<schedule::SuperSchedule>& points, bool together) {
    baseline();
    std::vector<Candidate> candidates = compile(points);
    run(candidates, together);
    compile_again(candidates, together);
    std::vector<Measurement> results;
    for (Candidate& candidate : candidates) {
      if (candidate.done) results.push_back(std::move(candidate.measurement));
    }
    return results;
  }

  Measurement measure_source(const schedule::SuperSchedule& point, const std::string& source,
                             const std::string& flags) {
    baseline();
    std::vector<Candidate> candidates = compile({point}, {{source, flags}}, {0});
    run(candidates, false);
    check_loading(candidates[0]);
    if (!candidates[0].done) throw Stopped("stopped before the measurement was done");
    return candidates[0].measurement;
  }

 private:
  /// Width of the positions of a point's format: as it was once packed, else the usual one.
  int pos_bytes_of(const schedule::SuperSchedule& point) const {
    const auto known = known_pos_bytes_.find(schedule::to_text(point.format, problem_.op));
    return known == known_pos_bytes_.end() ? pos_bytes_ : known->second;
  }

  std::vector<Candidate> compile(const std::vector<schedule::SuperSchedule>& points) const {
    std::vector<CompileRequest> requests;
    std::vector<int> pos_bytes;
    for (const schedule::SuperSchedule& point : points) {
      WACO_ASSERT(point.problem == problem_);
      pos_bytes.push_back(pos_bytes_of(point));
      requests.push_back(
          kernel_request(point, tensor_.dims, pos_bytes.back(), cache_.compiler().target().vector_bytes));
    }
    return compile(points, requests, pos_bytes);
  }

  std::vector<Candidate> compile(const std::vector<schedule::SuperSchedule>& points,
                                 const std::vector<CompileRequest>& requests,
                                 const std::vector<int>& pos_bytes) const {
    const std::vector<CompiledKernel> kernels =
        cache_.get_all(requests, num_compilers(), kCompileLimit_s, options_.stop);
    std::vector<Candidate> candidates(points.size());
    for (size_t n = 0; n < points.size(); ++n) {
      candidates[n].contestant = {points[n], kernels[n].library, pos_bytes[n]};
      Measurement& measurement = candidates[n].measurement;
      measurement.point = points[n];
      measurement.compile_ns = kernels[n].compile_ns;
      if (kernels[n].ok() || kernels[n].stopped) continue;
      measurement.status = Status::kCompile;
      measurement.message = kernels[n].diagnostic;
      measurement.machine_failed = kernels[n].machine_failed;
      measurement.disk_full = kernels[n].disk_full;
      candidates[n].done = true;
    }
    return candidates;
  }

  void run(std::vector<Candidate>& candidates, bool together) {
    std::vector<Candidate*> group;
    for (Candidate& candidate : candidates) {
      if (!candidate.done && !candidate.contestant.library.empty()) group.push_back(&candidate);
    }
    if (together) {
      // None is censored: their times were seen to be worth it before.
      runner_.run(group, options_.final, 0);
    } else {
      const auto size = static_cast<size_t>(std::max(options_.group, 1));
      for (size_t begin = 0; begin < group.size(); begin += size) {
        // What was compiled in time is not thrown away whole.
        if (begin > 0 && options_.no_more()) break;
        const std::vector<Candidate*> some(
            group.begin() + static_cast<std::ptrdiff_t>(begin),
            group.begin() + static_cast<std::ptrdiff_t>(std::min(begin + size, group.size())));
        runner_.run(some, options_.quick, options_.censor_ratio);
        for (const Candidate* candidate : some) report(*candidate);
      }
    }
    for (const Candidate& candidate : candidates) {
      if (together || std::find(group.begin(), group.end(), &candidate) == group.end()) report(candidate);
    }
  }

  /// The few whose packed positions turned out wider or narrower than expected, or whose library is gone, are
  /// compiled and run again. Formats are compiled for the width that was found from here on.
  void compile_again(std::vector<Candidate>& candidates, bool together) {
    for (Candidate& candidate : candidates) {
      if (candidate.done || !candidate.needs_compiling() || options_.no_more()) continue;
      const schedule::SuperSchedule point = candidate.contestant.point;
      if (candidate.needed_pos_bytes != 0)
        known_pos_bytes_[schedule::to_text(point.format, problem_.op)] = candidate.needed_pos_bytes;
      std::vector<Candidate> again = compile({point});
      run(again, together);
      candidate = std::move(again[0]);
      check_loading(candidate);
    }
  }

  /// What can't be loaded just after it was compiled is the machine's fault, not the point's.
  static void check_loading(const Candidate& candidate) {
    if (candidate.unloadable) throw EnvironmentError(candidate.measurement.message);
  }

  void report(const Candidate& candidate) const {
    if (candidate.done && options_.on_result) options_.on_result(candidate.measurement);
  }

  Candidate compile_baseline(int pos_bytes) const {
    const schedule::SuperSchedule point = schedule::csr_point(problem_, threads_);
    const bool generated = options_.baseline_source.empty();
    CompileRequest request = baseline_request(problem_, tensor_.dims, pos_bytes);
    if (!generated) request.source = options_.baseline_source;
    std::vector<Candidate> candidates = compile({point}, {request}, {generated ? pos_bytes : 0});
    candidates[0].contestant.fixed_csr = true;
    return std::move(candidates[0]);
  }

  void measure_baseline() {
    if (options_.stop()) throw Stopped("stopped before anything was measured");
    Candidate candidate = compile_baseline(pos_bytes_);
    if (!candidate.done && !candidate.contestant.library.empty()) runner_.set_baseline(candidate);
    if (candidate.needs_compiling()) {
      const int pos_bytes = candidate.needed_pos_bytes;
      candidate = compile_baseline(pos_bytes != 0 ? pos_bytes : pos_bytes_);
      if (!candidate.done && !candidate.contestant.library.empty()) runner_.set_baseline(candidate);
      check_loading(candidate);
    }
    if (!candidate.done) throw Stopped("stopped before anything was measured");
    const Measurement& measurement = candidate.measurement;
    check_machine(measurement);
    if (!measurement.ok()) {
      const std::string what =
          fmt::format("fixed_csr can't be measured ({}): {}", name(measurement.status), measurement.message);
      if (measurement.status == Status::kCompile) throw EnvironmentError(what, ExitCode::kCompiler);
      // What OpenMP says where the job may have no more threads, which the next input would meet as well.
      if (measurement.message.find("Thread creation failed") != std::string::npos)
        throw EnvironmentError(fmt::format("{}; raise the limit of threads, or use fewer (--threads)", what));
      const bool wrong = measurement.status == Status::kWrong;
      throw Unmeasurable(what, wrong ? ExitCode::kVerification : ExitCode::kFailed);
    }
    baseline_ = measurement;
  }

  const matrix::SparseTensor& tensor_;
  const schedule::Problem problem_;
  const MeasureOptions options_;
  const int threads_;
  KernelCache cache_;
  CandidateRunner runner_;
  int pos_bytes_ = 4;
  std::map<std::string, int> known_pos_bytes_;  ///< by the text of the format
  std::optional<Measurement> baseline_;
};

Session::Session(const matrix::SparseTensor& tensor, const schedule::Problem& problem, MeasureOptions options)
    : state_(std::make_unique<State>(tensor, problem, std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const CompilerTarget& Session::target() const {
  return state_->cache().compiler().target();
}
int Session::threads() const {
  return state_->threads();
}
const Measurement& Session::baseline() {
  return state_->baseline();
}

std::vector<Measurement> Session::measure(const std::vector<schedule::SuperSchedule>& points) {
  return state_->measure(points, false);
}

std::vector<Measurement> Session::compete(const std::vector<schedule::SuperSchedule>& finalists) {
  return state_->measure(finalists, true);
}

Measurement Session::measure_source(const schedule::SuperSchedule& point, const std::string& source,
                                    const std::string& flags) {
  return state_->measure_source(point, source, flags);
}

}  // namespace waco::measure
