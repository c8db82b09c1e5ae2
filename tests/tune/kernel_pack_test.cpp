// Which kernels are compiled ahead.
#include "waco/tune/kernel_pack.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace waco;

namespace {

tune::TuneOptions tuning() {
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  options.threads = 2;
  return options;
}

std::vector<measure::CompileRequest> choose(int num_kernels) {
  return tune::choose_kernels(tuning(), {.num_kernels = num_kernels, .num_patterns = 2, .candidates = 4}, {});
}

}  // namespace

TEST_CASE("kernel_pack: kernels are distinct, and fewer are the first of more", "[tune]") {
  const auto all = choose(100000), some = choose(5);
  REQUIRE(some.size() == 5);
  REQUIRE(all.size() > 8);
  for (size_t n = 0; n < some.size(); ++n) CHECK(some[n].source == all[n].source);
  std::set<std::string> sources;
  for (const auto& request : all) sources.insert(request.source);
  CHECK(sources.size() == all.size());
}

TEST_CASE("kernel_pack: a stop request ends the vote", "[tune]") {
  const StopToken stop = waco::StopToken().with_budget(0);
  const auto chosen = tune::choose_kernels(tuning(), {.num_kernels = 10, .num_patterns = 2}, stop);
  CHECK(chosen.size() == 1);  // fixed_csr, which needs no vote
}
