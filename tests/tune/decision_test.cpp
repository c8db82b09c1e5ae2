// Who enters the final round, who wins, and what follows for the report.
#include "waco/tune/decision.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "waco/base/machine.hpp"

using namespace waco;
using namespace waco::tune;
using measure::Measurement;
using measure::Status;

namespace {

const schedule::Problem kProblem{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};

/// A measured point of many rounds, told from others by its chunk.
Measurement timed(int chunk, double speedup, double half_width, double baseline_ns = 1000) {
  Measurement m;
  m.point = schedule::parse(fmt::format("spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,{} x2", chunk));
  m.status = Status::kOk;
  m.speedup = {speedup, speedup - half_width, speedup + half_width};
  m.time_ns = {baseline_ns / speedup, baseline_ns / speedup, baseline_ns / speedup};
  m.num_rounds = 15;
  return m;
}

Measurement baseline(int64_t pack_ns = 0) {
  Measurement m = timed(128, 1, 0);
  m.point = schedule::csr_point(kProblem, 2);
  m.pack_ns = pack_ns;
  return m;
}

Candidate measured(Measurement m) {
  Candidate candidate;
  candidate.measurement = std::move(m);
  candidate.measured = true;
  return candidate;
}

}  // namespace

TEST_CASE("decision: the fastest wins when its interval lies above 1", "[tune]") {
  const Best best = decide(baseline(), {timed(1, 1.2, 0.05), timed(2, 1.5, 0.1), timed(4, 1.4, 0.01)}, 2);
  CHECK_FALSE(best.is_baseline);
  CHECK(best.significant);
  CHECK(best.verified);
  CHECK(best.point.compute.chunk == 2);
}

TEST_CASE("decision: a difference inside the interval leaves fixed_csr the winner", "[tune]") {
  const Best best = decide(baseline(), {timed(1, 1.02, 0.05)}, 2);
  CHECK(best.is_baseline);
  CHECK_FALSE(best.significant);
  CHECK(best.speedup.median == 1);
  CHECK(best.point == schedule::csr_point(kProblem, 2));
}

TEST_CASE("decision: in few rounds one has to be well ahead", "[tune]") {
  const auto wins = [](int rounds, double speedup) {
    Measurement m = timed(1, speedup, 0.01);
    m.num_rounds = rounds;
    return !decide(baseline(), {m}, 2).is_baseline;
  };
  CHECK(wins(6, 1.02));
  CHECK_FALSE(wins(5, 1.02));
  CHECK_FALSE(wins(3, 1.05));
  CHECK(wins(3, 1.07));
}

TEST_CASE("decision: a final is open while one outside did better than all in it", "[tune]") {
  std::vector<Candidate> candidates = {measured(timed(1, 1.3, 0.01)), measured(timed(2, 0.8, 0.01)),
                                       measured(timed(4, 2.6, 0.05)), measured(timed(8, 2.0, 0.05))};
  CHECK_FALSE(is_final_open(candidates));  // none was held
  candidates[0].finalist = candidates[1].finalist = true;
  CHECK(is_final_open(candidates));
  // Packing takes the lead away from those ahead, unless there are calls enough.
  candidates[2].measurement.pack_ns = candidates[3].measurement.pack_ns = 10000;
  CHECK_FALSE(is_final_open(candidates, {10, 1000}));
  CHECK(is_final_open(candidates, {100, 1000}));
  candidates[2].measurement.censored = true;
  candidates[3].measurement.status = Status::kConstraint;
  CHECK_FALSE(is_final_open(candidates));

  // Within the intervals there is nothing to hold again.
  CHECK_FALSE(is_final_open({candidates[0], measured(timed(16, 1.35, 0.05))}));
  CHECK(is_final_open({candidates[0], measured(timed(16, 1.35, 0.03))}));
  // Nor where no finalist could be timed: why is unknown.
  candidates[0].measurement.status = Status::kConstraint;
  CHECK_FALSE(is_final_open({candidates[0], measured(timed(16, 1.35, 0.01))}));
}

TEST_CASE("decision: a dynamic partition has to win by more than what wandering costs", "[tune]") {
  const auto chosen = [](double ahead, int threads) {
    Measurement fixed = timed(1, 2 / ahead, 0.01), dynamic = timed(2, 2, 0.01);
    fixed.point = schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: i static x2");
    dynamic.point.compute.threads = threads;
    return decide(baseline(), {dynamic, fixed}, threads).point.compute.policy;
  };
  const double cost = wandering_cost(timed(2, 2, 0.01).point, is_virtual_machine());
  CHECK(chosen(cost - 0.01, 2) == schedule::Policy::kStatic);
  CHECK(chosen(cost + 0.01, 2) == schedule::Policy::kDynamic);
  CHECK(chosen(cost - 0.01, 1) == schedule::Policy::kDynamic);  // one thread has one cache
}

TEST_CASE("decision: wandering costs more where processors may move", "[tune]") {
  const auto cost = [](const std::string& text, bool virtual_machine) {
    return wandering_cost(schedule::parse(text), virtual_machine);
  };
  const std::string spmm = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i ";
  const std::string sddmm = "sddmm f32 K=32 | A: i:U j:C | loop: i j k | par: i ";
  CHECK(cost(spmm + "dynamic,64 x2", true) == 1.15);
  CHECK(cost(spmm + "dynamic,64 x2", false) == 1.03);
  CHECK(cost(sddmm + "dynamic,64 x2", true) == 1.03);
  for (const char* policy : {"static x2", "balanced x2"}) CHECK(cost(spmm + policy, true) == 1);
}

TEST_CASE("decision: one that is noisy does not stand in the way of the next", "[tune]") {
  const Best best = decide(baseline(), {timed(1, 1.21, 0.3), timed(2, 1.2, 0.05)}, 2);
  CHECK_FALSE(best.is_baseline);
  CHECK(best.point.compute.chunk == 2);
}

TEST_CASE("decision: told the number of calls, the least of packing and all calls wins", "[tune]") {
  Measurement fast = timed(1, 3, 0.1, 1e6), light = timed(2, 2.8, 0.1, 1e6), slow = timed(4, 2, 0.1, 1e6);
  fast.pack_ns = 100000000;
  light.pack_ns = 2000000;
  Measurement csr = baseline();
  csr.time_ns = {1e6, 1e6, 1e6};
  const auto chunk = [&](std::optional<int64_t> calls) {
    return decide(csr, {fast, light, slow}, 2, calls).point.compute.chunk;
  };
  CHECK(chunk(std::nullopt) == 1);
  CHECK(chunk(50) == 2);
  CHECK(chunk(1000000) == 1);
  CHECK(chunk(2) == 4);
  // Who is far from the fastest may be the best, and has to be in the final then.
  std::vector<Candidate> candidates{measured(fast), measured(light), measured(slow)};
  CHECK(pick_finalists(candidates, 3).size() == 2);
  CHECK(best_finalist(candidates) == nullptr);
  candidates[1].finalist = candidates[2].finalist = true;
  CHECK(best_finalist(candidates) == &candidates[1]);
  CHECK(best_finalist(candidates, {2, 1e6}) == &candidates[2]);
  REQUIRE(pick_finalists(candidates, 3, {2, 1e6}).size() == 1);
  CHECK(pick_finalists(candidates, 3, {2, 1e6})[0].compute.chunk == 4);
}

TEST_CASE("decision: wrong, censored and crashed candidates never win", "[tune]") {
  Measurement wrong = timed(1, 9, 0), censored = timed(2, 8, 0), crashed = timed(4, 7, 0);
  wrong.status = Status::kWrong;
  censored.censored = true;
  crashed.status = Status::kCrash;
  CHECK(decide(baseline(), {wrong, censored, crashed}, 2).is_baseline);
  const std::vector<Candidate> candidates{measured(wrong), measured(censored), measured(crashed)};
  CHECK(pick_finalists(candidates, 3).empty());
}

TEST_CASE("decision: what the final finds wrong is wrong, whatever was found before", "[tune]") {
  std::vector<Candidate> candidates{measured(timed(1, 2, 0.1)), measured(timed(2, 1.9, 0.1)),
                                    measured(timed(4, 1.8, 0.1)), measured(timed(8, 1.7, 0.1))};
  for (Candidate& candidate : candidates) candidate.measurement.compile_ns = 7;
  Measurement right = timed(1, 2.2, 0.1), crashed = timed(2, 0, 0), unpacked = timed(4, 0, 0);
  crashed.status = Status::kCrash;
  unpacked.status = Status::kConstraint;
  enter_finals({right, crashed, unpacked}, candidates);
  CHECK(candidates[0].measurement.speedup.median == 2.2);
  CHECK(candidates[1].measurement.status == Status::kCrash);
  CHECK(candidates[2].measurement.speedup.median == 1.8);
  CHECK(candidates[3].measurement.speedup.median == 1.7);
  CHECK(candidates[0].finalist);
  CHECK_FALSE(candidates[2].finalist);
  for (const Candidate& candidate : candidates) CHECK(candidate.measurement.compile_ns == 7);
}

TEST_CASE("decision: finalists are close to the fastest, fastest first, at most as many as asked for",
          "[tune]") {
  const std::vector<Candidate> candidates{measured(timed(1, 1.45, 0.1)), measured(timed(2, 1.5, 0.1)),
                                          measured(timed(4, 1.1, 0.05)), measured(timed(8, 1.4, 0.1))};
  const auto three = pick_finalists(candidates, 3);
  REQUIRE(three.size() == 3);
  CHECK(three[0].compute.chunk == 2);
  CHECK(three[1].compute.chunk == 1);
  CHECK(three[2].compute.chunk == 8);
  CHECK(pick_finalists(candidates, 1).size() == 1);
  CHECK(pick_finalists({measured(timed(1, 0.9, 0.05))}, 3).empty());
}

TEST_CASE("decision: the one that took the least time is a finalist, too, whatever fixed_csr took beside it",
          "[tune]") {
  std::vector<Candidate> candidates{measured(timed(1, 5.5, 0.1, 1334)), measured(timed(2, 5.4, 0.1, 1334)),
                                    measured(timed(4, 4.1, 0.1, 770)), measured(timed(8, 3.8, 0.1, 770))};
  const auto three = pick_finalists(candidates, 3);
  REQUIRE(three.size() == 3);
  CHECK(three[0].compute.chunk == 1);
  CHECK(three[1].compute.chunk == 2);
  CHECK(three[2].compute.chunk == 4);
  const auto two = pick_finalists(candidates, 2);
  REQUIRE(two.size() == 2);
  CHECK(two[0].compute.chunk == 1);
  CHECK(two[1].compute.chunk == 4);
  CHECK(pick_finalists(candidates, 1)[0].compute.chunk == 1);
  candidates[2].measurement.speedup = {0.9, 0.85, 0.95};  // clearly slower than fixed_csr
  CHECK(pick_finalists(candidates, 3)[2].compute.chunk == 8);
}

TEST_CASE("decision: finalists come first, then candidates by speed, censored, unmeasured, failed",
          "[tune]") {
  Measurement wrong = timed(1, 9, 0), censored = timed(2, 0.1, 0);
  wrong.status = Status::kWrong;
  censored.censored = true;
  Candidate waiting;
  waiting.measurement = timed(4, 0, 0);
  std::vector<Candidate> candidates{measured(wrong),
                                    waiting,
                                    measured(censored),
                                    measured(timed(8, 1.1, 0)),
                                    measured(timed(16, 1.3, 0)),
                                    measured(timed(32, 1.2, 0))};
  candidates.back().finalist = candidates.front().finalist = true;
  sort_candidates(candidates);
  std::vector<int> chunks;
  for (const Candidate& candidate : candidates) chunks.push_back(candidate.measurement.point.compute.chunk);
  CHECK(chunks == std::vector<int>{32, 16, 8, 2, 4, 1});
}

TEST_CASE("result: break-even counts the calls that repay packing", "[tune]") {
  TuneResult result;
  result.baseline = baseline(1000);
  Measurement winner = timed(1, 2, 0.1);  // 500 ns a call, saves 500 ns
  winner.pack_ns = 11000;
  result.best = decide(*result.baseline, {winner}, 2);
  CHECK(result.break_even_calls() == 22);  // who stays on CSR packs nothing
  CHECK(result.break_even_calls(5000) == 32);
  winner.pack_ns = 10;
  result.best = decide(*result.baseline, {winner}, 2);
  CHECK(result.break_even_calls() == 1);
  result.best = decide(*result.baseline, {}, 2);
  CHECK_FALSE(result.break_even_calls().has_value());
}

TEST_CASE("result: the document keeps statuses and nulls what was not measured", "[tune]") {
  TuneResult result;
  result.matrix = {"m", {3, 4}, 5, "0123456789abcdef"};
  result.problem = kProblem;
  Candidate waiting;
  waiting.measurement = timed(4, 1.2, 0);
  waiting.predicted_cost_ns = 12.5;
  Measurement wrong = timed(2, 1, 0);
  wrong.status = Status::kWrong;
  result.candidates = {waiting, measured(wrong)};
  const nlohmann::json document = to_json(result);
  CHECK(document["candidates"][0]["status"] == "not measured");
  CHECK(document["candidates"][0]["median_ns"].is_null());
  CHECK(document["candidates"][0]["predicted_cost_ns"] == 12.5);
  CHECK(document["candidates"][1]["status"] == "wrong");
  CHECK(document["candidates"][1]["predicted_cost_ns"].is_null());
  CHECK(document["best"].is_null());
  CHECK(document["baseline"].is_null());
  CHECK(document["parts"].empty());
  CHECK(document["matrix"]["cols"] == 4);
}

TEST_CASE("result: the table names the winner and every failure", "[tune]") {
  TuneResult result;
  result.matrix = {"m", {3, 4}, 5, ""};
  result.problem = kProblem;
  result.baseline = baseline();
  Measurement crashed = timed(2, 1, 0);
  crashed.status = Status::kCrash;
  crashed.message = "signal 11";
  result.candidates = {measured(timed(1, 2, 0.1)), measured(crashed)};
  result.best = decide(*result.baseline, {result.candidates[0].measurement}, 2);
  const std::string table = to_table(result);
  CHECK(table.find("best: 2.00x over fixed_csr, 500 ns a call on ") != std::string::npos);
  CHECK(table.find(fmt::format("({:.3g} GFLOP/s)", 2.0 * 5 * kProblem.rhs / 500)) != std::string::npos);
  CHECK(table.find("crash") != std::string::npos);
  CHECK(table.find("signal 11") != std::string::npos);
  CHECK(table.find("before the last rounds") == std::string::npos);
  result.candidates.insert(result.candidates.begin(), measured(timed(4, 1.9, 0.1)));
  result.candidates[0].finalist = true;
  const std::string divided = to_table(result);
  const size_t final = divided.find("1.90x"), divider = divided.find("measured before the last rounds:");
  CHECK(final < divider);
  CHECK(divider < divided.find("2.00x"));

  TuneResult untimed;
  untimed.best.emplace().is_baseline = true;
  CHECK(to_table(untimed) == "best: fixed_csr, which was not timed\n");
}
