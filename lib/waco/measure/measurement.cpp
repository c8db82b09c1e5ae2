// Names of statuses and the JSON form of measurements.
#include "waco/measure/measurement.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace waco::measure {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"ok",    "constraint", "compile",
                                                    "crash", "timeout",    "wrong"};

nlohmann::json interval(const Estimate& estimate) {
  return {estimate.low, estimate.high};
}

}  // namespace

std::string_view name(Status status) {
  return kNames[static_cast<size_t>(status)];
}

std::optional<Status> parse_status(std::string_view text) {
  for (size_t n = 0; n < kNames.size(); ++n) {
    if (kNames[n] == text) return static_cast<Status>(n);
  }
  return std::nullopt;
}

void to_json(nlohmann::json& json, const Measurement& measurement) {
  json = {{"plan", schedule::to_text(measurement.point)},
          {"status", name(measurement.status)},
          {"message", measurement.message},
          {"samples_ns", measurement.samples_ns},
          {"median_ns", measurement.time_ns.median},
          {"interval_ns", interval(measurement.time_ns)},
          {"baseline_median_ns", measurement.baseline_median_ns},
          {"speedup", measurement.speedup.median},
          {"speedup_interval", interval(measurement.speedup)},
          {"censored", measurement.censored},
          {"rejected_share", measurement.rejected_share},
          {"disturbed", measurement.is_disturbed},
          // JSON has no infinity; an unbounded error is that of a wrong result.
          {"max_rel_error", std::min(measurement.max_rel_error, 1e308)},
          {"pack_ns", measurement.pack_ns},
          {"stored_bytes", measurement.stored_bytes},
          {"num_stored", measurement.num_stored},
          {"compile_ns", measurement.compile_ns}};
}

}  // namespace waco::measure
