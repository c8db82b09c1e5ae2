// waco-codegen: writes the kernel of a schedule or of a tuned plan; with a matrix it checks it first.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "waco/base/command_line.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/signals.hpp"
#include "waco/base/version.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/session.hpp"
#include "waco/schedule/storage_size.hpp"
#include "waco/tune/emit.hpp"
#include "waco/tune/problem_options.hpp"
#include "waco/tune/tuned_plans.hpp"

namespace {

using namespace waco;

constexpr const char* kProgram = "waco-codegen";
constexpr const char* kExamples = R"(Examples:
  waco-codegen --schedule "spmm f32 J=256 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 j | par: i1 static x2" -o kernel.cpp
  waco-codegen plan.json mesh.mtx -o kernel.cpp
  waco-tune mesh.mtx --op spmv --json | waco-codegen - -o kernel.cpp
  waco-codegen results.jsonl mesh.mtx -o kernel.cpp     (of waco-tune --list matrices.txt --op spmv -o results.jsonl)
  waco-codegen plan.json | g++ -O3 -march=native -fassociative-math -fno-signed-zeros -fno-trapping-math -fopenmp \
    -x c++ -c - -o kernel.o

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input, 4 verification failed, 5 compiler unusable.)";

struct Options {
  CommonOptions common;
  tune::ProblemOptions problem;
  std::vector<std::string> files;  ///< as typed: plans when no schedule is given, then a matrix
  std::string output = "-";
  int vector_bytes = 0;    ///< 0: of the compiler's target
  int position_bytes = 4;  ///< without a matrix, at least
};

/// What the files mean once it is known whether a schedule was given.
struct Job {
  schedule::SuperSchedule point;
  codegen::KernelKind kind = codegen::KernelKind::kGenerated;
  codegen::OperandShape shape = codegen::any_shape();  ///< where there is no matrix
  codegen::Provenance from;                            ///< the same
  int vector_bytes = 0;                                ///< by which the plan was tuned; 0: unknown
  std::string matrix;                                  ///< empty: none
  std::optional<matrix::SparseTensor> tensor;          ///< that is in it
};

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Writes the C++ kernel of a schedule or of a tuned plan, packing and C interface included.",
               kProgram);
  app.footer(kExamples);
  app.add_option(
         "FILE", options.files,
         "A plan, or the results of a list (without --schedule), then a matrix to make the kernel for "
         "and check it on")
      ->expected(0, 2);
  tune::add_problem_options(app, options.problem);
  app.add_option("-o,--output", options.output, "Write here (default: -, stdout)");
  app.add_option("--vector-bytes", options.vector_bytes,
                 "Vector registers of the target, without a matrix (default: the plan's, of a schedule this "
                 "machine's)")
      ->check(CLI::IsMember({16, 32, 64}));
  app.add_option("--position-bytes", options.position_bytes,
                 "Without a matrix: 8 for operands of 2^31 and more stored values (default: 4, fewer)")
      ->check(CLI::IsMember({4, 8}));
  add_common_options(app, kProgram, options.common);
  app.get_option("--schedule")->description("The SuperSchedule in its text form");
  app.get_option("--threads")->description("Threads of the kernel (default: the plan's or schedule's own)");
  return parse_command_line(app, argc, argv, options.common);
}

/// So many threads instead of the schedule's own; a serial one has no loop to divide.
void set_threads(Job& job, int threads) {
  if (job.kind == codegen::KernelKind::kFixedCsr) {
    job.point = schedule::csr_point(job.point.problem, threads);
  } else {
    job.point = schedule::with_threads(job.point, threads);
    if (std::max(1, job.point.compute.threads) != threads)
      spdlog::warn("the schedule is serial, so that its kernel runs on one thread, not on {}", threads);
  }
}

void read_matrix(Job& job, schedule::Op op, const StopToken& stop) {
  if (job.matrix.empty()) return;
  matrix::ReadResult input =
      matrix::read_tensor(job.matrix, {.order = schedule::sparse_order(op), .stop = stop});
  for (const std::string& note : input.notes) spdlog::info("{}: {}", job.matrix, note);
  job.tensor = std::move(input.tensor);
}

Job choose_job(const Options& options, const StopToken& stop) {
  const size_t num_schedules = options.problem.schedules.size();
  if (num_schedules > 1) throw UsageError("one kernel, one --schedule");
  if (num_schedules == 0 && options.files.empty())
    throw UsageError("give a plan or a --schedule (see waco-codegen --help)");
  if (num_schedules == 1 && options.files.size() > 1)
    throw UsageError("with --schedule there is at most one file, the matrix");
  if (std::ranges::count(options.files, "-") > 1)
    throw UsageError("stdin is the plan or the matrix, not both");
  Job job;
  job.from.tool = version_line(kProgram);
  const size_t matrix = 1 - num_schedules;
  if (options.files.size() > matrix) job.matrix = options.files[matrix];
  if (!job.matrix.empty() && options.vector_bytes > 0)
    throw UsageError("--vector-bytes takes no matrix: what is checked here is made for this machine");
  if (!job.matrix.empty() && options.position_bytes > 4)
    throw UsageError("--position-bytes takes no matrix: a kernel for one has what that needs");
  if (num_schedules == 1) {
    job.point = tune::choose_problem(options.problem).points[0];
    job.shape = codegen::any_shape(job.point.format.skewed());
    read_matrix(job, job.point.problem.op, stop);
  } else {
    const tune::TunedPlans plans = tune::TunedPlans::read(options.files[0]);
    const schedule::Problem problem = plans.choose_problem(options.problem);
    if (!plans.for_all() && job.matrix.empty())
      throw UsageError(fmt::format("{} holds plans of a list; name a matrix of it, too", options.files[0]));
    read_matrix(job, problem.op, stop);
    const std::string hash = job.tensor ? matrix::pattern_hash(*job.tensor) : std::string();
    const int threads = threads_or_all(options.common.threads);
    const tune::TunedPlan& plan = plans.find(job.matrix, hash, problem, threads);
    job.point = *plan.point;
    // Divisors and widths as they were when it was tuned: for any shape the kernel could be much slower. One
    // that stored more than int32 counts takes as many positions.
    const std::vector<int64_t>& dims = plan.matrix.dims;
    std::copy_n(dims.begin(), std::min(dims.size(), job.shape.dims.size()), job.shape.dims.begin());
    job.shape.num_positions_bound = std::max(
        {job.shape.num_positions_bound, plan.num_stored,
         schedule::most_positions_above(plan.point->format, job.shape.dims, plan.matrix.num_nonzeros)});
    if (plan.matrix.num_nonzeros > 0)
      job.shape.fill = static_cast<double>(plan.num_stored) / static_cast<double>(plan.matrix.num_nonzeros);
    if (!plan.matrix.hash.empty())
      job.from = tune::provenance(plan.matrix, plan.machine, version_line(kProgram));
    if (!plan.machine.compiler.fingerprint.empty()) job.vector_bytes = plan.machine.compiler.vector_bytes;
    if (plan.is_baseline) job.kind = codegen::KernelKind::kFixedCsr;
  }
  if (options.position_bytes > 4)
    job.shape.num_positions_bound = std::max(job.shape.num_positions_bound, int64_t{1} << 31);
  if (options.common.threads > 0) set_threads(job, options.common.threads);
  return job;
}

/// One measurement on the matrix; throws unless the kernel's result is right. Returns how many values it
/// stores.
int64_t check(const Job& job, measure::Session& session) {
  if (job.kind == codegen::KernelKind::kFixedCsr) {
    const measure::Measurement& csr = session.baseline();
    spdlog::info("verified on {}: largest relative error {:.2g}", job.matrix, csr.max_rel_error);
    return csr.num_stored;
  }
  const std::vector<measure::Measurement> results = session.measure({job.point});
  if (results.empty()) throw EnvironmentError("stopped before the kernel was checked");
  const measure::Measurement& m = results[0];
  if (m.ok()) {
    spdlog::info("verified on {}: largest relative error {:.2g}, {:.2f} times as fast as fixed_csr",
                 job.matrix, m.max_rel_error, m.speedup.median);
    return m.num_stored;
  }
  throw EnvironmentError(
      fmt::format("the kernel failed on {} ({}): {}", job.matrix, measure::name(m.status), m.message),
      m.failed_verification() ? ExitCode::kVerification : ExitCode::kFailed);
}

std::string emit_for_matrix(const Options& options, const Job& job, const StopToken& stop) {
  const matrix::SparseTensor& tensor = *job.tensor;
  measure::MeasureOptions measuring;
  measuring.threads =
      options.common.threads > 0 ? options.common.threads : std::max(1, job.point.compute.threads);
  measuring.compiler = options.common.compiler;
  measuring.seed = options.common.seed;
  measuring.quick.budget_s = measuring.final.budget_s = 0.05;
  measuring.stop = stop;
  measure::Session session(tensor, job.point.problem, measuring);
  const int64_t num_stored = check(job, session);
  const int vector_bytes = session.target().vector_bytes;
  if (job.vector_bytes > 0 && job.vector_bytes != vector_bytes)
    spdlog::info("written for the vectors of {} bytes that are here; it was tuned by those of {}",
                 vector_bytes, job.vector_bytes);
  const Machine machine = describe_machine(session.target());
  return codegen::emit_standalone(job.point, tune::operand_shape(tensor, job.point, num_stored), vector_bytes,
                                  tune::provenance(tune::summarize(tensor), machine, version_line(kProgram)),
                                  job.kind);
}

/// A plan's kernel is the one that was tuned, whichever machine writes it.
int target_vector_bytes(const Options& options, const Job& job) {
  if (options.vector_bytes > 0) return options.vector_bytes;
  try {
    const int here = measure::Compiler::find(options.common.compiler).target().vector_bytes;
    if (job.vector_bytes == 0 || job.vector_bytes == here) return here;
    spdlog::info("written for vectors of {} bytes, by which it was tuned; here they have {} (--vector-bytes)",
                 job.vector_bytes, here);
    return job.vector_bytes;
  } catch (const EnvironmentError& error) {
    if (!options.common.compiler.empty()) throw;
    if (job.vector_bytes > 0) return job.vector_bytes;
    spdlog::warn("{}; writing for 32-byte vectors", error.what());
    return 32;
  }
}

ExitCode run(const Options& options, const StopToken& stop) {
  refuse_same_files(options.files, {{"-o", options.output}});
  check_can_be_written(options.output);
  const Job job = choose_job(options, stop);
  std::string kernel;
  if (!job.tensor) {
    kernel =
        codegen::emit_standalone(job.point, job.shape, target_vector_bytes(options, job), job.from, job.kind);
  } else {
    kernel = emit_for_matrix(options, job, stop);
  }
  write_file_atomically(options.output, kernel);
  log_written(options.output);
  return ExitCode::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    const StopToken stop = stop_on_signals();
    Options options;
    return parse(argc, argv, options) ? run(options, stop) : ExitCode::kDone;
  });
}
