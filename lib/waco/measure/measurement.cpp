// Names of statuses and the JSON form of measurements.
#include "waco/measure/measurement.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "waco/base/error.hpp"

namespace waco::measure {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"ok",    "constraint", "compile",
                                                    "crash", "timeout",    "wrong"};

nlohmann::json interval(const Estimate& estimate) {
  return {estimate.low, estimate.high};
}

Estimate estimate_from(const nlohmann::json& json, const char* median, const char* bounds) {
  Estimate estimate;
  estimate.median = json.value(median, 0.0);
  const auto pair = json.value(bounds, std::array<double, 2>{0, 0});
  estimate.low = pair[0];
  estimate.high = pair[1];
  return estimate;
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
          // JSON has no infinity; an unbounded error is that of a wrong result.
          {"max_rel_error", std::min(measurement.max_rel_error, 1e308)},
          {"pack_ns", measurement.pack_ns},
          {"stored_bytes", measurement.stored_bytes},
          {"num_stored", measurement.num_stored},
          {"compile_ns", measurement.compile_ns}};
}

void from_json(const nlohmann::json& json, Measurement& measurement) {
  measurement.point = schedule::parse(json.at("plan").get<std::string>());
  const auto status = json.at("status").get<std::string>();
  const std::optional<Status> parsed = parse_status(status);
  if (!parsed) throw UsageError(fmt::format("unknown measurement status '{}'", status));
  measurement.status = *parsed;
  measurement.message = json.value("message", "");
  measurement.samples_ns = json.value("samples_ns", std::vector<double>());
  measurement.time_ns = estimate_from(json, "median_ns", "interval_ns");
  measurement.baseline_median_ns = json.value("baseline_median_ns", 0.0);
  measurement.speedup = estimate_from(json, "speedup", "speedup_interval");
  measurement.censored = json.value("censored", false);
  measurement.rejected_share = json.value("rejected_share", 0.0);
  measurement.max_rel_error = json.value("max_rel_error", 0.0);
  measurement.pack_ns = json.value("pack_ns", int64_t{0});
  measurement.stored_bytes = json.value("stored_bytes", int64_t{0});
  measurement.num_stored = json.value("num_stored", int64_t{0});
  measurement.compile_ns = json.value("compile_ns", int64_t{0});
}

}  // namespace waco::measure
