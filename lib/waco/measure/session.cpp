// From points to measurements: source, compile in parallel, run alone.
#include "waco/measure/session.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/measure/candidate_run.hpp"
#include "waco/measure/kernel_cache.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

/// A bound of positions that makes codegen::bind choose this pos width.
int64_t bound_for(int pos_bytes) {
  return pos_bytes == 4 ? 0 : int64_t{1} << 32;
}

std::array<int64_t, 3> three_dims(const matrix::SparseTensor& tensor) {
  std::array<int64_t, 3> dims{1, 1, 1};
  std::copy(tensor.dims.begin(), tensor.dims.end(), dims.begin());
  return dims;
}

}  // namespace

class Session::State {
 public:
  State(const matrix::SparseTensor& tensor, const schedule::Problem& problem, MeasureOptions options)
      : tensor_(tensor),
        problem_(problem),
        options_(std::move(options)),
        threads_(options_.threads > 0 ? options_.threads : usable_threads()),
        cache_(Compiler::find(options_.compiler), choose_cache_folder()),
        runner_(tensor, problem, threads_, options_) {
    WACO_ASSERT(tensor.order() == schedule::sparse_order(problem.op));
    cache_.require_openmp();
    // What most formats need; the worker tells when a format needs the other width.
    const int64_t positions =
        std::max(tensor.num_nonzeros(), *std::max_element(tensor.dims.begin(), tensor.dims.end()));
    pos_bytes_ = positions <= INT32_MAX ? 4 : 8;
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
    std::vector<Candidate> candidates = compile(points, pos_bytes_);
    run(candidates, together);
    measure_other_width(candidates);
    std::vector<Measurement> results;
    for (Candidate& candidate : candidates) {
      if (candidate.done) results.push_back(std::move(candidate.measurement));
    }
    return results;
  }

  Measurement measure_source(const schedule::SuperSchedule& point, const std::string& source,
                             const std::string& flags) {
    baseline();
    std::vector<Candidate> candidates = compile({point}, {{source, flags}}, 0);
    run(candidates, false);
    if (!candidates[0].done) throw EnvironmentError("stopped before the measurement was done");
    return candidates[0].measurement;
  }

 private:
  fs::path choose_cache_folder() {
    if (!options_.cache_folder.empty()) return options_.cache_folder;
    try {
      return waco::cache_folder() / "kernels";
    } catch (const EnvironmentError& error) {
      spdlog::warn("{}; kernels compiled in this run will not be kept", error.what());
      temporary_cache_.emplace("waco-kernels-");
      return temporary_cache_->path() / "kernels";
    }
  }

  codegen::Binding bind(const schedule::SuperSchedule& point, int pos_bytes) const {
    return codegen::bind(point, three_dims(tensor_), bound_for(pos_bytes),
                         cache_.compiler().target().vector_bytes);
  }

  std::vector<Candidate> compile(const std::vector<schedule::SuperSchedule>& points, int pos_bytes) const {
    std::vector<CompileRequest> requests;
    for (const schedule::SuperSchedule& point : points) {
      WACO_ASSERT(point.problem == problem_);
      requests.push_back({codegen::kernel_source(point, bind(point, pos_bytes)), codegen::kKernelFlags});
    }
    return compile(points, requests, pos_bytes);
  }

  std::vector<Candidate> compile(const std::vector<schedule::SuperSchedule>& points,
                                 const std::vector<CompileRequest>& requests, int pos_bytes) const {
    const std::vector<CompiledKernel> kernels =
        cache_.get_all(requests, threads_, options_.compile_limit_s, options_.stop);
    std::vector<Candidate> candidates(points.size());
    for (size_t n = 0; n < points.size(); ++n) {
      candidates[n].contestant = {points[n], kernels[n].library, pos_bytes};
      Measurement& measurement = candidates[n].measurement;
      measurement.point = points[n];
      measurement.compile_ns = kernels[n].compile_ns;
      if (kernels[n].ok() || kernels[n].stopped) continue;
      measurement.status = Status::kCompile;
      measurement.message = kernels[n].diagnostic;
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
      for (Candidate* candidate : group) {
        runner_.run({candidate}, options_.quick, options_.censor_ratio);
        report(*candidate);
      }
    }
    for (const Candidate& candidate : candidates) {
      if (together || std::find(group.begin(), group.end(), &candidate) == group.end()) report(candidate);
    }
  }

  /// The few whose packed positions turned out wider or narrower than expected, compiled and run again.
  void measure_other_width(std::vector<Candidate>& candidates) {
    for (Candidate& candidate : candidates) {
      if (candidate.done || candidate.needed_pos_bytes == 0) continue;
      std::vector<Candidate> again = compile({candidate.contestant.point}, candidate.needed_pos_bytes);
      run(again, false);
      candidate = std::move(again[0]);
    }
  }

  void report(const Candidate& candidate) const {
    if (candidate.done && options_.on_result) options_.on_result(candidate.measurement);
  }

  /// The baseline's source follows from the widths of its arrays alone.
  std::string baseline_source(const schedule::SuperSchedule& point, int pos_bytes) const {
    waco_storage shape{};
    shape.format = codegen::to_abi(point.format, problem_.op);
    shape.pos_bytes = pos_bytes;
    const int64_t largest = *std::max_element(tensor_.dims.begin(), tensor_.dims.end());
    shape.level[shape.format.num_levels - 1].crd_bytes = largest > int64_t{1} << 31 ? 8 : 4;
    return codegen::fixed_csr_source(problem_, codegen::Storage(shape));
  }

  Candidate compile_baseline(int pos_bytes) const {
    const schedule::SuperSchedule point = schedule::csr_point(problem_, threads_);
    const bool generated = options_.baseline_source.empty();
    const std::string source = generated ? baseline_source(point, pos_bytes) : options_.baseline_source;
    std::vector<Candidate> candidates =
        compile({point}, {{source, codegen::kBaselineFlags}}, generated ? pos_bytes : 0);
    candidates[0].contestant.fixed_csr = true;
    return std::move(candidates[0]);
  }

  void measure_baseline() {
    if (options_.stop()) throw EnvironmentError("stopped before anything was measured");
    Candidate candidate = compile_baseline(pos_bytes_);
    if (!candidate.done && !candidate.contestant.library.empty()) runner_.set_baseline(candidate);
    if (candidate.needed_pos_bytes != 0) {
      candidate = compile_baseline(candidate.needed_pos_bytes);
      if (!candidate.done && !candidate.contestant.library.empty()) runner_.set_baseline(candidate);
    }
    if (!candidate.done) throw EnvironmentError("stopped before anything was measured");
    const Measurement& measurement = candidate.measurement;
    if (!measurement.ok()) {
      const ExitCode code = measurement.status == Status::kCompile ? ExitCode::kCompiler
                            : measurement.status == Status::kWrong ? ExitCode::kVerification
                                                                   : ExitCode::kFailed;
      throw EnvironmentError(
          fmt::format("fixed_csr can't be measured ({}): {}", name(measurement.status), measurement.message),
          code);
    }
    baseline_ = measurement;
  }

  const matrix::SparseTensor& tensor_;
  const schedule::Problem problem_;
  const MeasureOptions options_;
  const int threads_;
  std::optional<TemporaryFolder> temporary_cache_;
  KernelCache cache_;
  CandidateRunner runner_;
  int pos_bytes_ = 4;
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
