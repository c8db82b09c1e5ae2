// Scales the terms of the closed-form model so that patterns of all sizes look alike.
#include "waco/model/learned/cost_features.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/error.hpp"

namespace waco::model {
namespace {

constexpr double kLeastShare = 1.0 / 4096;  // of a total; smaller shares do not matter
constexpr double kMostLog = 40;

/// log2(a / b) of what should be positive; 0 where nothing can be said.
float log_ratio(double a, double b) {
  if (!(a > 0) || !(b > 0)) return 0;
  const double log = std::log2(a) - std::log2(b);
  return static_cast<float>(std::isnan(log) ? 0 : std::clamp(log, -kMostLog, kMostLog));
}

/// log2(part / whole), floored.
float log_share(double part, double whole) {
  if (!(whole > 0) || std::isnan(part)) return log_ratio(kLeastShare, 1);
  return log_ratio(std::max(part, kLeastShare * whole), whole);
}

float share(double part, double whole) {
  const double ratio = whole > 0 ? part / whole : 0;
  return static_cast<float>(std::isfinite(ratio) ? std::clamp(ratio, 0.0, 1.0) : 0.0);
}

double nonzeros_of(const CostTerms& terms) {
  return std::max(1.0, terms.fill > 0 ? terms.stored_values / terms.fill : terms.stored_values);
}

double bytes_beyond_l1(const CostTerms& terms) {
  double sum = 0;
  for (int l = 1; l < kNumMemoryLevels; ++l) sum += terms.traffic.level_bytes[static_cast<size_t>(l)];
  return sum;
}

}  // namespace

const std::vector<std::string>& cost_feature_names() {
  static const std::vector<std::string> kNames{"total_to_csr",
                                               "arithmetic_share",
                                               "latency_share",
                                               "loop_share",
                                               "locate_share",
                                               "memory_share",
                                               "output_share",
                                               "dispatch_share",
                                               "l2_share",
                                               "l3_share",
                                               "dram_share",
                                               "imbalance",
                                               "fill",
                                               "threads",
                                               "threads_to_csr",
                                               "a_bytes",
                                               "dense_bytes",
                                               "out_bytes",
                                               "moved_bytes",
                                               "moved_to_csr",
                                               "l2_traffic",
                                               "l3_traffic",
                                               "dram_traffic",
                                               "bodies",
                                               "flops_to_csr",
                                               "body_ns",
                                               "csr_total",
                                               "csr_memory_share",
                                               "csr_dispatch_share",
                                               "csr_loop_share",
                                               "csr_imbalance"};
  return kNames;
}

std::vector<float> cost_features(const CostTerms& t, const CostTerms& csr) {
  const double nonzeros = nonzeros_of(csr);
  const double moved = bytes_beyond_l1(t);
  const auto& level_ns = t.traffic.level_ns;
  const auto& level_bytes = t.traffic.level_bytes;
  const std::vector<float> result{
      log_ratio(t.total_ns, csr.total_ns),
      log_share(t.arithmetic_ns, t.total_ns),
      log_share(t.latency_ns, t.total_ns),
      log_share(t.loop_ns, t.total_ns),
      log_share(t.locate_ns, t.total_ns),
      log_share(t.memory_ns, t.total_ns),
      log_share(t.output_ns, t.total_ns),
      log_share(t.dispatch_ns, t.total_ns),
      log_share(level_ns[1], t.total_ns),
      log_share(level_ns[2], t.total_ns),
      log_share(level_ns[3], t.total_ns),
      log_ratio(t.imbalance, 1),
      log_ratio(t.fill, 1),
      log_ratio(t.threads, 1),
      log_ratio(t.threads, csr.threads),
      log_ratio(1 + t.traffic.a_bytes, nonzeros),
      log_ratio(1 + t.traffic.dense_bytes, nonzeros),
      log_ratio(1 + t.traffic.out_bytes, nonzeros),
      log_ratio(1 + moved, nonzeros),
      log_ratio(1 + moved, 1 + bytes_beyond_l1(csr)),
      share(level_bytes[1], moved),
      share(level_bytes[2], moved),
      share(level_bytes[3], moved),
      log_ratio(1 + t.bodies, nonzeros),
      log_ratio(t.flops, csr.flops),
      log_ratio(t.arithmetic_ns * t.threads, std::max(1.0, t.bodies)),
      log_ratio(csr.total_ns, 1000),
      share(csr.memory_ns, csr.total_ns),
      share(csr.dispatch_ns, csr.total_ns),
      share(csr.loop_ns, csr.total_ns),
      log_ratio(csr.imbalance, 1),
  };
  WACO_ASSERT(result.size() == cost_feature_names().size());
  return result;
}

}  // namespace waco::model
