// Records with known numbers, for the tests of this folder.
#pragma once

#include <string>

#include "apps/bench/record.hpp"

namespace waco::bench::testing {

inline Entry timed(const std::string& name, const std::string& library, double median_ns) {
  Entry entry;
  entry.name = name;
  entry.library = library;
  entry.note = "how <it> is called";
  entry.status = "ok";
  entry.samples_ns = {median_ns * 0.9, median_ns, median_ns * 1.1};
  entry.time_ns = {median_ns, median_ns * 0.9, median_ns * 1.1};
  entry.speedup = {1000 / median_ns, 900 / median_ns, 1100 / median_ns};
  entry.setup_ns = 5e4;
  entry.stored_bytes = 4096;
  entry.bound = {median_ns / 2, median_ns / 4, 1, 8192};
  return entry;
}

inline Entry wrong(const std::string& name, const std::string& library) {
  Entry entry;
  entry.name = name;
  entry.library = library;
  entry.status = "wrong";
  entry.message = "element [3, 1] is 2, expected 1";
  return entry;
}

/// fixed_csr takes 1000 ns, balanced_csr 800.
inline Record record(const std::string& matrix, double waco_ns, double fast_peer_ns, double slow_peer_ns) {
  Record record;
  record.machine.cpu_model = "Test CPU";
  record.machine.num_cores = record.machine.num_logical_cpus = 2;
  record.matrix = {matrix, {10, 20}, 50, "0123456789abcdef"};
  record.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 32};
  record.threads = 2;
  record.effort = "normal";
  record.plan = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2";
  record.plan_origin = {PlanOrigin::kTuning, "closed-form", "neighbours", "normal"};
  record.tuning_s = 1.5;
  record.flops = 3200;
  record.ceilings = model::default_ceilings(2);
  record.entries = {timed(kFixedCsr, "", 1000),          timed(kBalancedCsr, "", 800),
                    timed(kWaco, "", waco_ns),           timed("fast", "alpha", fast_peer_ns),
                    timed("slow", "beta", slow_peer_ns), wrong("broken", "beta")};
  record.entries[3].remark = "takes its <generic> path";
  record.absent = {{"absent", "it has no spmm"}};
  record.warnings = {"this machine is busy"};
  return record;
}

}  // namespace waco::bench::testing
