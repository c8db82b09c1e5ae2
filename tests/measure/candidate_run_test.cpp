// Groups of candidates on one worker: who is lost, who is not.
#include "waco/measure/candidate_run.hpp"

#include <signal.h>

#include <catch2/catch.hpp>

#include "small_tensors.hpp"
#include "spmv_source.hpp"
#include "waco/base/files.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/measure/kernel_cache.hpp"

using namespace waco;
using namespace waco::measure;

namespace {

const schedule::Problem kSpmv{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};

/// A runner with a serial CSR kernel as its baseline, and candidates with that kernel or spoiled ones.
class Group {
 public:
  explicit Group(const char* kernels = "kernels") : cache_(Compiler::find(), folder_.path() / kernels) {
    options_.worker = std::string(WACO_BIN_DIR) + "/waco-worker";
    options_.final.budget_s = 0.01;
    options_.candidate_limit_s = 1;
    runner_ =
        std::make_unique<CandidateRunner>(tensor_, kSpmv, 2, options_, [this](int) { return candidate(""); });
    Candidate baseline = candidate("");
    runner_->set_baseline(baseline);
    REQUIRE(baseline.done);
    INFO(baseline.measurement.message);
    REQUIRE(baseline.measurement.ok());
  }

  Candidate candidate(const std::string& before) {
    const CompiledKernel kernel = cache_.get({testing::spmv_source(before), "-O1"}, 60);
    REQUIRE(kernel.ok());
    Candidate candidate;
    candidate.contestant = {schedule::csr_point(kSpmv, 1), kernel.library, 0};
    return candidate;
  }

  std::vector<Candidate> run(const std::vector<std::string>& kernels) {
    std::vector<Candidate> candidates;
    for (const std::string& before : kernels) candidates.push_back(candidate(before));
    std::vector<Candidate*> group;
    for (Candidate& each : candidates) group.push_back(&each);
    runner_->run(group, options_.final, 0);
    return candidates;
  }

  void remove_kernels() {
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder_.path()))
      if (file.path().extension() == ".so") std::filesystem::remove(file.path());
  }

  void run_one(Candidate& candidate) { runner_->run({&candidate}, options_.final, 0); }

 private:
  matrix::SparseTensor tensor_ = testing::random_tensor({100, 80}, 700);
  TemporaryFolder folder_;
  KernelCache cache_;
  MeasureOptions options_;
  std::unique_ptr<CandidateRunner> runner_;
};

}  // namespace

TEST_CASE("candidate_run: a crash and a hang in a group lose only themselves", "[measure]") {
  Group group;
  const std::vector<Candidate> candidates =
      group.run({"", "*(volatile int*)8 = 1;", "for (volatile int n = 0;;) n = n;", "y[0] = 1;"});
  for (const Candidate& candidate : candidates) REQUIRE(candidate.done);
  CHECK(candidates[0].measurement.ok());
  CHECK(candidates[1].measurement.status == Status::kCrash);
  CHECK(candidates[2].measurement.status == Status::kTimeout);
  CHECK(candidates[3].measurement.ok());
  CHECK(candidates[0].measurement.baseline_median_ns == candidates[3].measurement.baseline_median_ns);
}

TEST_CASE("candidate_run: what the system kills is no wrong kernel", "[measure]") {
  Group group;
  const std::vector<Candidate> candidates = group.run({"", "kill(getpid(), SIGKILL);"});
  CHECK(candidates[0].measurement.ok());
  CHECK(candidates[1].measurement.status == Status::kConstraint);
  CHECK(candidates[1].measurement.message.find("memory") != std::string::npos);
}

TEST_CASE("candidate_run: the limit of timing allows for how slow the candidates are", "[measure]") {
  Group group;
  // Six calls at least while it is timed, longer than a worker may hang.
  const std::vector<Candidate> slow = group.run({"usleep(300000);"});
  INFO(slow[0].measurement.message);
  CHECK(slow[0].measurement.ok());
}

TEST_CASE("candidate_run: clustering rows has the time that it may take on one thread", "[measure]") {
  constexpr int64_t kNonzeros = 100000000;
  const schedule::SuperSchedule given = schedule::csr_point(kSpmv, 2);
  CHECK(preparation_limit_s(given, kNonzeros, 5, 0.5) == Approx(10));
  CHECK(preparation_limit_s(schedule::clustered(given, 0), kNonzeros, 5, 0.5) >= 10 + 2 * kNonzeros * 180e-9);
}

TEST_CASE("candidate_run: a crash while a group is timed is traced to its candidate", "[measure]") {
  Group group;
  // Right twice, while it is verified; dead once it is timed.
  const std::vector<Candidate> candidates =
      group.run({"", "static int calls = 0; if (++calls > 2) ::abort();", ""});
  for (const Candidate& candidate : candidates) REQUIRE(candidate.done);
  CHECK(candidates[0].measurement.ok());
  CHECK(candidates[1].measurement.status == Status::kCrash);
  CHECK(candidates[2].measurement.ok());
}

TEST_CASE("candidate_run: a kernel that goes wrong while it is timed is found out", "[measure]") {
  Group group;
  const std::vector<Candidate> candidates =
      group.run({"", "static int calls = 0; if (++calls > 2) return 0;", ""});
  for (const Candidate& candidate : candidates) REQUIRE(candidate.done);
  CHECK(candidates[0].measurement.ok());
  CHECK(candidates[1].measurement.status == Status::kWrong);
  CHECK_THAT(candidates[1].measurement.message, Catch::StartsWith("after it was timed, element "));
  CHECK(candidates[1].measurement.samples_ns.empty());
  CHECK(candidates[2].measurement.ok());
}

TEST_CASE("candidate_run: a worker that is killed while it waits costs no candidate", "[measure]") {
  Group group;
  const TemporaryFolder folder;
  const auto file = folder.path() / "pid";
  // A kernel that tells which process it runs in.
  const std::string tell =
      "if (FILE* f = fopen(\"" + file.string() + "\", \"w\")) { fprintf(f, \"%d\", getpid()); fclose(f); }";
  const std::vector<Candidate> told = group.run({tell});
  INFO(told[0].measurement.message);
  REQUIRE(told[0].measurement.ok());
  const pid_t worker = std::stoi(read_file(file));
  const int num_candidates = GENERATE(1, 2);
  REQUIRE(::kill(worker, SIGKILL) == 0);
  const std::vector<Candidate> next = group.run(std::vector<std::string>(num_candidates));
  for (const Candidate& candidate : next) {
    INFO(candidate.measurement.message);
    CHECK(candidate.done);
    CHECK(candidate.measurement.ok());
  }
}

TEST_CASE("candidate_run: a baseline that is gone when a worker is restarted is compiled again",
          "[measure]") {
  Group group;
  Candidate crash = group.candidate("*(volatile int*)8 = 1;");
  group.run_one(crash);
  CHECK(crash.measurement.status == Status::kCrash);
  group.remove_kernels();
  Candidate next = group.candidate("y[0] = 2;");
  group.run_one(next);
  INFO(next.measurement.message);
  REQUIRE(next.done);
  CHECK(next.measurement.ok());
}

TEST_CASE("candidate_run: kernels may lie where the path is not UTF-8", "[measure]") {
  Group group("kern\xe9ls");
  const std::vector<Candidate> candidates = group.run({""});
  INFO(candidates[0].measurement.message);
  CHECK(candidates[0].measurement.ok());
}

TEST_CASE("candidate_run: a kernel for another width of positions is sent back", "[measure]") {
  Group group;
  Candidate candidate = group.candidate("");
  candidate.contestant.pos_bytes = 8;
  group.run_one(candidate);
  CHECK_FALSE(candidate.done);
  CHECK(candidate.needed_pos_bytes == 4);
}
