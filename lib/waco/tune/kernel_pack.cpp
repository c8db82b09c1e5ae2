// Votes for kernels, and compiling the elected ones.
#include "waco/tune/kernel_pack.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "waco/base/clock.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/progress.hpp"
#include "waco/matrix/corpus.hpp"
#include "waco/measure/requests.hpp"
#include "waco/tune/ranking.hpp"

namespace waco::tune {
namespace {

using schedule::SuperSchedule;
using Clock = std::chrono::steady_clock;

/// Weight of the kernels that a point has elsewhere, all together, over that of the one it has here.
constexpr double kElsewhere = 1.5;
/// Coordinates are 2 or 4 bytes wide on nearly all matrices: extents on either side of 2^16.
constexpr int64_t kSmallDim = 30000, kLargeDim = 3000000;
constexpr double kLargeCorpusPattern = 2e6;  // nonzeros: patterns beyond vote like those below, and take long

/// All shapes on which the kernel of a point may differ: small and large modes, cut evenly by their split or
/// not.
std::vector<std::vector<int64_t>> shapes_of(const SuperSchedule& point) {
  std::vector<std::vector<int64_t>> shapes{{}};
  const int order = schedule::sparse_order(point.problem.op);
  for (int mode = 0; mode < order; ++mode) {
    const int64_t split = point.format.split[static_cast<size_t>(mode)];
    std::vector<int64_t> dims;
    for (const int64_t dim : {kSmallDim, kLargeDim}) {
      const int64_t even = (dim / split + 1) * split;
      dims.push_back(even);
      if (split > 1) dims.push_back(even + 1);
    }
    std::vector<std::vector<int64_t>> longer;
    for (const auto& shape : shapes)
      for (const int64_t dim : dims) {
        longer.push_back(shape);
        longer.back().push_back(dim);
      }
    shapes = std::move(longer);
  }
  return shapes;
}

/// Kernels by how often they are wanted.
class Ballot {
 public:
  /// fixed_csr, which every run measures, is elected already.
  Ballot(const schedule::Problem& problem, int vector_bytes) : vector_bytes_(vector_bytes) {
    const std::vector<int64_t> dims(static_cast<size_t>(schedule::sparse_order(problem.op)), kSmallDim);
    requests_.push_back(measure::baseline_request(problem, dims, 4));
    weights_.push_back(1e300);
  }

  void vote(const SuperSchedule& point, const matrix::SparseTensor& tensor, double weight) {
    add(point, tensor.dims, measure::usual_pos_bytes(tensor), weight);
    const auto shapes = shapes_of(point);
    for (const auto& shape : shapes)
      add(point, shape, 4, weight * kElsewhere / static_cast<double>(shapes.size()));
  }

  std::vector<measure::CompileRequest> elected(int most) && {
    std::vector<std::pair<double, size_t>> order;
    for (size_t n = 0; n < requests_.size(); ++n) order.emplace_back(-weights_[n], n);
    std::sort(order.begin(), order.end());
    std::vector<measure::CompileRequest> chosen;
    for (const auto& [weight, n] : order) {
      if (static_cast<int>(chosen.size()) == most) break;
      chosen.push_back(std::move(requests_[n]));
    }
    return chosen;
  }

 private:
  void add(const SuperSchedule& point, const std::vector<int64_t>& dims, int pos_bytes, double weight) {
    measure::CompileRequest request = measure::kernel_request(point, dims, pos_bytes, vector_bytes_);
    const auto [at, is_new] = places_.try_emplace(request.source, requests_.size());
    if (is_new) {
      requests_.push_back(std::move(request));
      weights_.push_back(0);
    }
    weights_[at->second] += weight;
  }

  int vector_bytes_;
  std::map<std::string, size_t> places_;  ///< by source
  std::vector<measure::CompileRequest> requests_;
  std::vector<double> weights_;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::vector<schedule::Problem> usual_problems(schedule::ValueType type) {
  constexpr int64_t kNarrow = 32;
  using schedule::Op;
  std::vector<schedule::Problem> problems;
  for (const Op op : schedule::kAllOps) problems.push_back({op, type, schedule::default_rhs(op)});
  problems.push_back({Op::kSpmm, type, kNarrow});
  return problems;
}

std::vector<measure::CompileRequest> choose_kernels(const TuneOptions& tuning, const PackOptions& options,
                                                    const StopToken& stop) {
  const int threads = tuning.num_threads();
  const CompilerTarget target = measure::remembered_target(tuning.compiler, stop);
  const model::Ceilings ceilings =
      model::load_or_measure_ceilings(threads, cache_folder()).with_vectors_of(target.vector_bytes);
  Ballot ballot(tuning.problem, target.vector_bytes);
  const int order = schedule::sparse_order(tuning.problem.op);
  const EffortPlan plan = plan_of(Effort::kNormal);
  const int64_t evaluations = search::needs_index(tuning.search) ? plan.index_evaluations : plan.evaluations;
  Progress progress("ranking synthetic patterns", options.num_patterns);
  for (const matrix::CorpusItem& item : matrix::synthetic_corpus(options.num_patterns, order, tuning.seed)) {
    if (stop.stop_requested()) break;
    const matrix::SparseTensor tensor = matrix::make(item);
    progress.advance();
    if (static_cast<double>(tensor.num_nonzeros()) > kLargeCorpusPattern || tensor.num_nonzeros() == 0)
      continue;
    Ranking ranking(tensor, tuning, threads, ceilings);
    const auto candidates = ranking.search(options.candidates, evaluations, {.num_sure = 0});
    for (size_t n = 0; n < candidates.size(); ++n)
      ballot.vote(candidates[n].measurement.point, tensor, 1 / (3 + static_cast<double>(n)));
  }
  return std::move(ballot).elected(options.num_kernels);
}

PackReport prepare_kernels(const TuneOptions& tuning, const PackOptions& options, const StopToken& stop) {
  const std::filesystem::path folder = cache_folder() / "kernels";
  const measure::KernelCache cache(measure::Compiler::find(tuning.compiler, stop), folder);
  if (cache.folder() != folder)
    throw EnvironmentError(fmt::format("{}: kernels can't be loaded from there", folder.string()));
  if (!cache.keeps_new_kernels())
    throw EnvironmentError(
        fmt::format("{}: can't be written to, and kernels would not be kept", folder.string()));
  cache.require_openmp(stop);
  PackReport report;
  const auto start = Clock::now();
  const std::vector<measure::CompileRequest> chosen = choose_kernels(tuning, options, stop);
  report.num_chosen = std::ssize(chosen);
  report.choosing_s = seconds_since(start);
  spdlog::info("{} chosen in {:.1f} s", counted(chosen.size(), "kernel"), report.choosing_s);

  const auto compiling = Clock::now();
  Progress progress("compiling kernels", report.num_chosen);
  const int threads = measure::num_compilers();
  const size_t batch = static_cast<size_t>(8 * threads);  // progress is told and stops are seen in between
  for (size_t begin = 0; begin < chosen.size() && !stop.stop_requested() && !report.machine_failed;
       begin += batch) {
    const std::vector<measure::CompileRequest> some(
        chosen.begin() + static_cast<std::ptrdiff_t>(begin),
        chosen.begin() + static_cast<std::ptrdiff_t>(std::min(chosen.size(), begin + batch)));
    for (const measure::CompiledKernel& kernel :
         cache.get_all(some, threads, measure::kCompileLimit_s, stop)) {
      if (kernel.stopped) continue;
      if (!kernel.ok() && report.num_failed++ == 0) report.fault = first_line(kernel.diagnostic);
      report.machine_failed = report.machine_failed || kernel.machine_failed;
      report.num_there += kernel.from_cache ? 1 : 0;
      report.num_compiled += kernel.ok() && !kernel.from_cache ? 1 : 0;
      std::error_code error;
      if (kernel.ok())
        report.bytes += static_cast<int64_t>(std::filesystem::file_size(kernel.library, error));
      kernel.from_cache ? progress.skip(1) : progress.advance();
    }
  }
  report.compiling_s = seconds_since(compiling);
  report.complete = report.num_there + report.num_compiled == report.num_chosen && !stop.stop_requested();
  return report;
}

}  // namespace waco::tune
