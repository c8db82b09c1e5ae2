// waco-tune --calls: verdicts of what was measured, and of what is only predicted.
#include "program.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

TEST_CASE("cli: told how often the kernel runs, tuning says what pays", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const auto verdict = [&](const char* calls, const std::vector<std::string>& more = {}) {
    Program program = waco_tune().with(matrix, "--op", "spmv", "--calls", calls, "--json");
    for (const std::string& option : more) program.with(option);
    const json document = document_of(program);
    INFO(calls);
    CHECK(document.at("verdict").at("calls") == std::stoll(calls));
    CHECK(document.at("verdict").at("forecasts").size() == 5);
    return document;
  };
  const json once = verdict("1");
  CHECK(once.at("verdict").at("chosen").is_null());
  CHECK(once.at("verdict").at("pays") == false);
  CHECK(once.at("verdict").at("break_even_calls").get<int64_t>() > 1);
  CHECK(once.at("candidates").empty());  // not even ranked
  CHECK(once.at("best").at("is_baseline") == true);
  CHECK(once.at("verdict").at("happened").is_null());
  CHECK(once.at("verdict").at("predicted").at("effort").is_null());
  CHECK(once.at("verdict").at("spent_ns").get<double>() > 0);
  CHECK(once.at("verdict").at("csr_ns").get<double>() > 0);
  const json often = verdict("1000000000000");
  CHECK(!often.at("verdict").at("chosen").is_null());
  CHECK(often.at("verdict").at("happened").at("kernel_ns").get<double>() > 0);
  // Told an effort, it is taken; CSR still wins when packing is not repaid.
  const json quick = verdict("1", {"--effort", "quick"});
  CHECK(quick.at("verdict").at("chosen") == "quick");
  CHECK(quick.at("best").at("is_baseline") == true);
  CHECK(quick.at("verdict").at("predicted").is_null());
}

TEST_CASE("cli: a plan that was not timed has to pay by what is predicted", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const auto ranked = [&](const char* calls) {
    const RunResult result =
        run_well(waco_tune().with(matrix, "--op", "spmm", "--calls", calls, "--effort", "none", "--json"));
    CHECK(result.err.find("predicted as nothing was timed") != std::string::npos);
    const json document = json::parse(result.out), verdict = document.at("verdict");
    CHECK(verdict.at("happened").is_null());
    const json& way = verdict.at("predicted");
    CHECK(way.at("effort") == "none");
    // Nothing but compiling was to come: ranking was spent.
    CHECK(way.at("tune_ns").get<double>() == Approx(verdict.at("spent_ns").get<double>() +
                                                    verdict.at("forecasts")[1].at("tune_ns").get<double>()));
    const double from_now_on = way.at("total_ns").get<double>() - verdict.at("spent_ns").get<double>();
    CHECK(verdict.at("pays") == (from_now_on < verdict.at("csr_ns").get<double>() * std::stod(calls)));
    CHECK(document.at("best").at("is_baseline") == !verdict.at("pays").get<bool>());
    return document;
  };
  const json once = ranked("0"), often = ranked("1000000000000");
  CHECK(once.at("verdict").at("pays") == false);
  CHECK(once.at("best").at("plan") == "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,32 x2");
  REQUIRE(often.at("verdict").at("pays") == true);
  CHECK(often.at("best").at("plan") == often.at("candidates")[0].at("plan"));
  CHECK(often.at("verdict").at("break_even_calls").get<int64_t>() >= 1);
}

TEST_CASE("cli: the verdict on given schedules is of their answer, whatever their order", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,128 x2";
  const std::string blocks = "spmv f32 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 static x2";
  const std::string excluded = "spmv f32 | A: i:U k:C | loop: i k | par: i static x4";
  const auto tuned = [&](const std::vector<std::string>& points) {
    Program program = waco_tune().with(matrix, "--effort", "none", "--calls", "1000000000000", "--json");
    for (const std::string& point : points) program.with("--schedule", point);
    return document_of(program);
  };
  const json one = tuned({csr, blocks, excluded}), other = tuned({excluded, blocks, csr});
  CHECK(one.at("best").at("plan") == other.at("best").at("plan"));
  const json way = one.at("verdict").at("forecasts")[1];
  for (const char* key : {"kernel_ns", "convert_ns"})
    CHECK(way.at(key) == other.at("verdict").at("forecasts")[1].at(key));
  CHECK(one.at("verdict").at("predicted").at("kernel_ns") == way.at("kernel_ns"));
}

TEST_CASE("cli: a verdict on what is only ranked compiles nothing", "[cli]") {
  Workspace work;
  run_well(waco_tune()
               .with(work.matrix(), "--op", "spmv", "--effort", "none", "--calls", "1000")
               .environment("XDG_CACHE_HOME", work.path("cache")));
  CHECK(std::filesystem::is_empty(work.path("cache/waco/kernels")));
}
