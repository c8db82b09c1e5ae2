// Whole measurements through a worker process, with good kernels and with every kind of bad one.
#include "waco/measure/session.hpp"

#include <catch2/catch.hpp>
#include <csignal>

#include "../scoped_address_limit.hpp"
#include "small_tensors.hpp"
#include "spmv_source.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/requests.hpp"

using namespace waco;
using namespace waco::measure;
using schedule::Op;
using schedule::Problem;
using schedule::ValueType;

namespace {

/// One cache for all cases, so that a baseline is compiled once.
const TemporaryFolder& shared_folder() {
  static const TemporaryFolder folder("waco-session-test-");
  return folder;
}

MeasureOptions quick_options() {
  MeasureOptions options;
  options.threads = 2;
  options.cache_folder = shared_folder().path() / "kernels";
  options.worker = std::string(WACO_BIN_DIR) + "/waco-worker";
  options.quick.budget_s = 0.01;
  options.final.budget_s = 0.01;
  options.censor_ratio = 0;  // the machine may be busy: nothing here depends on time
  return options;
}

const matrix::SparseTensor& matrix_a() {
  static const matrix::SparseTensor tensor = testing::random_tensor({300, 200}, 3000);
  return tensor;
}

const Problem kSpmv{Op::kSpmv, ValueType::kF32, 1};

constexpr const char* kGoodRow = "y[i] = sum;";

Measurement measure_spmv(Session& session, const std::string& before, const std::string& row = kGoodRow) {
  return session.measure_source(schedule::csr_point(kSpmv, 1), testing::spmv_source(before, row),
                                codegen::kKernelFlags);
}

bool has_openmp(const std::string& compiler) {
  const TemporaryFolder folder;
  try {
    return Compiler::find(compiler).compile("#include <omp.h>\n", "", folder.path(), 60, {}).ok();
  } catch (const EnvironmentError&) {  // it is not installed
    return false;
  }
}

struct BadKernel {
  const char* fault;
  const char* before;  ///< what the kernel does first
  const char* row;     ///< and with the sum of each row
  Status status;
  const char* message;  ///< holds this
};

const BadKernel kBadKernels[] = {
    {"a crash", "*(volatile int*)8 = 1;", kGoodRow, Status::kCrash, "signal 11"},
    {"an abort with a message on stderr", "__builtin_printf(\"\"); ::abort();", kGoodRow, Status::kCrash,
     "signal 6"},
    {"an exit", "::exit(3);", kGoodRow, Status::kCrash, "exit code 3"},
    {"a hang", "for (volatile int n = 0;;) n = n;", kGoodRow, Status::kTimeout, "not finished"},
    {"a wrong result", "", "y[i] = i == 17 ? sum + 1 : sum;", Status::kWrong, "[17, 0]"},
    {"an element that is never written", "", "if (i != 20) y[i] = sum;", Status::kWrong, "[20, 0] is NaN"},
    {"accumulation into the output on the second call", "static int calls = 0; ++calls;",
     "y[i] = calls == 1 ? sum : y[i] + sum;", Status::kWrong, "second call"},
    {"a write past the end of the output", "y[a->dim[0]] = 0;", kGoodRow, Status::kWrong, "past the end"},
    {"a write before the output", "y[-1] = 0;", kGoodRow, Status::kWrong, "before the begin"},
    {"an error status", "if (x) return 2;", kGoodRow, Status::kWrong, "status 2"},
    {"a source that does not compile", "nonsense;", kGoodRow, Status::kCompile, "nonsense"},
};

}  // namespace

TEST_CASE("session: threads of a kernel have CPUs of their own, whatever OpenMP its compiler brings",
          "[measure]") {
  const std::string compiler = GENERATE("g++", "clang++");
  if (allowed_cpus().size() < 2) {
    SUCCEED("left out: there is only one CPU");
    return;
  }
  if (!has_openmp(compiler)) {
    SUCCEED("left out: there is no " << compiler << " with OpenMP");
    return;
  }
  MeasureOptions options = quick_options();
  options.compiler = compiler;
  Session session(matrix_a(), kSpmv, options);
  const Measurement m = measure_spmv(session, R"~(
    cpu_set_t cpus[2];
    _Pragma("omp parallel num_threads(2)")
    sched_getaffinity(0, sizeof *cpus, &cpus[omp_get_thread_num()]);
    for (const cpu_set_t& own : cpus)
      if (CPU_COUNT(&own) != 1) return 2;
    if (CPU_EQUAL(&cpus[0], &cpus[1])) return 2;
  )~");
  INFO(compiler << ": " << m.message);
  CHECK(m.ok());
}

TEST_CASE("session: fixed_csr and a CSR kernel are verified and timed for every op and type", "[measure]") {
  const Op op = GENERATE(Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp);
  const ValueType type = GENERATE(ValueType::kF32, ValueType::kF64);
  INFO(schedule::name(op) << ' ' << schedule::name(type));
  const Problem problem{op, type, op == Op::kSpmv ? 1 : 32};
  std::vector<int64_t> dims = {120, 90};
  if (op == Op::kMttkrp) dims.push_back(50);
  const matrix::SparseTensor tensor = testing::random_tensor(dims, 900);
  Session session(tensor, problem, quick_options());
  const Measurement& baseline = session.baseline();
  CHECK(baseline.ok());
  CHECK(baseline.speedup.median == 1);
  CHECK(baseline.median_ns() > 0);
  const std::vector<Measurement> results = session.measure({schedule::csr_point(problem, 2)});
  REQUIRE(results.size() == 1);
  const Measurement& result = results[0];
  INFO(result.message);
  CHECK(result.ok());
  CHECK(result.point == schedule::csr_point(problem, 2));
  CHECK(result.samples_ns.size() >= 3);
  CHECK(result.time_ns.low <= result.median_ns());
  CHECK(result.median_ns() <= result.time_ns.high);
  CHECK(result.speedup.median > 0);
  CHECK(result.baseline_median_ns > 0);
  CHECK(result.stored_bytes > 0);
  CHECK(result.num_stored == tensor.num_nonzeros());
  CHECK(result.max_rel_error < 1e-4);
}

TEST_CASE("session: a right kernel from elsewhere is ok", "[measure]") {
  Session session(matrix_a(), kSpmv, quick_options());
  const Measurement result = measure_spmv(session, "");
  INFO(result.message);
  CHECK(result.ok());
}

TEST_CASE("session: bad kernels get their status and the next one is measured", "[measure]") {
  MeasureOptions options = quick_options();
  options.candidate_limit_s = 1;
  Session session(matrix_a(), kSpmv, options);
  session.baseline();

  for (const BadKernel& bad : kBadKernels) {
    DYNAMIC_SECTION(bad.fault) {
      const Measurement result = measure_spmv(session, bad.before, bad.row);
      CHECK(result.status == bad.status);
      CHECK_THAT(result.message, Catch::Contains(bad.message));
    }
  }
  SECTION("a library without the entry point") {
    const Measurement result = session.measure_source(schedule::csr_point(kSpmv, 1),
                                                      "extern \"C\" int other() { return 0; }", "-O1");
    CHECK(result.status != Status::kOk);
    CHECK_THAT(result.message, Catch::Contains("waco_kernel"));
  }
  const Measurement next = measure_spmv(session, "");
  INFO(next.message);
  CHECK(next.ok());
}

TEST_CASE("session: fixed_csr reads the widths of coordinates that it is packed with", "[measure]") {
  const int64_t beyond = (int64_t{1} << 31) + GENERATE(int64_t{0}, int64_t{1}, int64_t{1} << 31);
  const int bytes = beyond > int64_t{1} << 31 ? 8 : 4;
  const Problem problem =
      GENERATE(Problem{Op::kSpmv, ValueType::kF32, 1}, Problem{Op::kMttkrp, ValueType::kF32, 4});
  std::vector<int64_t> dims = {40, beyond};
  if (problem.op == Op::kMttkrp) dims.push_back(30);
  const matrix::SparseTensor tensor = testing::random_tensor(dims, 200);
  const codegen::Storage packed = codegen::pack_fixed_csr(tensor, problem, 2);
  codegen::Binding binding;
  binding.pos_bytes = packed.abi().pos_bytes;
  for (int l = 0; l < packed.abi().format.num_levels; ++l) {
    const int crd_bytes = packed.abi().level[l].crd_bytes;
    binding.crd_bytes[static_cast<size_t>(l)] = crd_bytes;
    if (packed.abi().level[l].crd != nullptr) CHECK(crd_bytes == bytes);
  }
  CHECK(codegen::fixed_csr_source(problem, binding) == baseline_request(problem, dims, 4).source);
}

TEST_CASE("session: a kernel far slower than fixed_csr is recorded as at least that slow",
          "[measure][timing]") {
  MeasureOptions options = quick_options();
  options.censor_ratio = 4;
  Session session(matrix_a(), kSpmv, options);
  const double baseline_ns = session.baseline().median_ns();
  // Waits a hundred times as long as the baseline takes, whatever that is on a busy machine.
  const std::string wait = "volatile double z = 0; for (long n = 0; n < " +
                           std::to_string(static_cast<long>(baseline_ns * 100 + 1e7)) + "; ++n) z = z + 1;";
  const Measurement result = measure_spmv(session, wait);
  INFO(result.message);
  CHECK(result.ok());
  CHECK(result.censored);
  CHECK_FALSE(result.significantly_faster());
  CHECK(result.samples_ns.size() == 1);
  CHECK(result.median_ns() > 4 * baseline_ns);
}

TEST_CASE("session: a slow fixed_csr is not called once more to see how slow it is", "[measure]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "calls";
  MeasureOptions options = quick_options();
  options.baseline_source = testing::spmv_source("usleep(50000); if (FILE* f = fopen(\"" + file.string() +
                                                 "\", \"a\")) { fputc('.', f); fclose(f); }");
  Session session(matrix_a(), kSpmv, options);
  CHECK(session.baseline().ok());
  // Twice to be verified, in three rounds, and to be checked after that.
  CHECK(read_file(file).size() == 6);
}

#if !defined(__SANITIZE_ADDRESS__)  // which needs terabytes of address space
TEST_CASE("session: a worker keeps to a lower limit of the job's address space", "[measure]") {
  const ScopedAddressLimit limit(int64_t{4} << 30);
  REQUIRE(limit.bytes() > 0);
  Session session(matrix_a(), kSpmv, quick_options());
  const Measurement result =
      measure_spmv(session, "rlimit own; getrlimit(RLIMIT_AS, &own); if (own.rlim_cur > " +
                                std::to_string(limit.bytes()) + "ull) return 2;");
  INFO(result.message);
  CHECK(result.ok());
}
#endif

TEST_CASE("session: what a worker needs for each nonzero has to fit", "[measure]") {
  const int64_t free = free_memory_bytes();
  // Of spmv 24 bytes, its copy of the tensor; of sddmm also results and what they are compared with.
  const Problem sddmm{Op::kSddmm, ValueType::kF32, 1};
  CHECK_THROWS_AS(check_operands_fit(kSpmv, {1000, 1000}, free / 12), Unmeasurable);
  CHECK_NOTHROW(check_operands_fit(kSpmv, {1000, 1000}, free / 48));
  CHECK_THROWS_AS(check_operands_fit(sddmm, {1000, 1000}, free / 30), Unmeasurable);
  CHECK_NOTHROW(check_operands_fit(sddmm, {1000, 1000}, free / 120));
}

TEST_CASE("session: finalists compete in the same rounds", "[measure]") {
  MeasureOptions options = quick_options();
  int reported = 0;
  options.on_result = [&](const Measurement&) { ++reported; };
  Session session(matrix_a(), kSpmv, options);
  const auto serial = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  const auto dynamic = schedule::csr_point(kSpmv, 2);
  const std::vector<Measurement> results = session.compete({serial, dynamic});
  REQUIRE(results.size() == 2);
  CHECK(results[0].ok());
  CHECK(results[1].ok());
  CHECK(results[0].point == serial);
  CHECK(results[0].baseline_median_ns == results[1].baseline_median_ns);
  CHECK(reported == 2);
}

TEST_CASE("session: a group of candidates shares its rounds of fixed_csr", "[measure]") {
  MeasureOptions options = quick_options();
  options.group = 2;
  Session session(matrix_a(), kSpmv, options);
  const auto serial = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  const auto unrolled = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial | unroll 4");
  const std::vector<Measurement> results = session.measure({serial, unrolled, schedule::csr_point(kSpmv, 2)});
  REQUIRE(results.size() == 3);
  for (const Measurement& result : results) CHECK(result.ok());
  CHECK(results[0].baseline_median_ns == results[1].baseline_median_ns);
  CHECK(results[2].point == schedule::csr_point(kSpmv, 2));
}

TEST_CASE("session: after a stop request the candidates that were not reached are missing", "[measure]") {
  MeasureOptions options = quick_options();
  options.stop = stop_on_signals();
  options.on_result = [](const Measurement&) { std::raise(SIGUSR1); };
  Session session(matrix_a(), kSpmv, options);
  const auto serial = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  const std::vector<Measurement> results = session.measure({serial, schedule::csr_point(kSpmv, 2), serial});
  REQUIRE(results.size() == 1);
  CHECK(results[0].ok());
}

TEST_CASE("session: kernels whose files are removed are compiled again", "[measure]") {
  const TemporaryFolder folder;
  MeasureOptions options = quick_options();
  options.cache_folder = folder.path() / "kernels";
  options.group = 1;
  int num_reported = 0;
  options.on_result = [&](const Measurement&) {
    if (num_reported++ > 0) return;
    for (const auto& file : std::filesystem::directory_iterator(options.cache_folder))
      std::filesystem::remove(file.path());
  };
  Session session(matrix_a(), kSpmv, options);
  const auto serial = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  const auto unrolled = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial | unroll 4");
  for (const Measurement& result : session.measure({serial, unrolled})) {
    INFO(result.message);
    CHECK(result.ok());
  }
  CHECK(num_reported == 2);
}

TEST_CASE("session: where no more candidates are wanted finalists still compete", "[measure]") {
  MeasureOptions options = quick_options();
  options.no_more = StopToken().with_budget(-1);
  Session session(matrix_a(), kSpmv, options);
  const auto csr = schedule::csr_point(kSpmv, 2);
  const auto serial = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial");
  CHECK(session.measure({csr, serial}).size() == 1);
  const std::vector<Measurement> finals = session.compete({csr});
  REQUIRE(finals.size() == 1);
  CHECK(finals[0].ok());
}

TEST_CASE("session: a wrong fixed_csr is a verification error", "[measure]") {
  MeasureOptions options = quick_options();
  options.baseline_source = testing::spmv_source("", "y[i] = sum + 1;");
  const auto tensor = testing::random_tensor({30, 20}, 100);
  Session session(tensor, kSpmv, options);
  try {
    session.baseline();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kVerification);
  }
}

TEST_CASE("session: a stop request before anything is measured is an error that says so", "[measure]") {
  MeasureOptions options = quick_options();
  options.stop = StopToken().with_budget(-1);
  // With a compiler that is to be tried first, or without.
  CHECK_THROWS_WITH(Session(matrix_a(), kSpmv, options).baseline(), Catch::Contains("stopped before"));
}

TEST_CASE("session: a missing worker program is named", "[measure]") {
  MeasureOptions options = quick_options();
  options.worker = "/no/such/waco-worker";
  CHECK_THROWS_WITH(Session(matrix_a(), kSpmv, options), Catch::Contains("/no/such/waco-worker"));
}

TEST_CASE("session: matrices without rows or nonzeros are measured", "[measure]") {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{5, 5}, {1, 7}, {7, 1}}) {
    const matrix::SparseTensor tensor = testing::random_tensor(dims, dims[0] == 5 ? 0 : 3);
    Session session(tensor, kSpmv, quick_options());
    const std::vector<Measurement> results = session.measure({schedule::csr_point(kSpmv, 2)});
    REQUIRE(results.size() == 1);
    INFO(results[0].message);
    CHECK(results[0].ok());
  }
}
