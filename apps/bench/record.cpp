// Records to JSON and back (docs/file-formats.md).
#include "apps/bench/record.hpp"

#include <limits>

#include "waco/base/artifact.hpp"
#include "waco/dataset/record.hpp"

namespace waco::bench {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json bound_json(const Entry& entry) {
  const Bound& bound = entry.bound;
  return {{"ns", bound.ns()},
          {"memory_ns", bound.memory_ns},
          {"compute_ns", bound.compute_ns},
          {"bytes", bound.bytes},
          {"level", model::kMemoryLevelNames[bound.level]},
          {"binding", bound.binding()},
          {"share", entry.bound_share()}};
}

ordered_json entry_json(const Entry& entry, double flops) {
  const bool timed = entry.timed();
  return {{"name", entry.name},
          {"library", entry.library},
          {"note", entry.note},
          {"remark", entry.remark},
          {"status", entry.status},
          {"message", entry.message},
          {"median_ns", timed ? json(entry.time_ns.median) : json(nullptr)},
          {"interval_ns", timed ? json{entry.time_ns.low, entry.time_ns.high} : json(nullptr)},
          {"speedup", timed ? json(entry.speedup.median) : json(nullptr)},
          {"speedup_interval", timed ? json{entry.speedup.low, entry.speedup.high} : json(nullptr)},
          {"gflops", timed ? json(flops / entry.time_ns.median) : json(nullptr)},
          {"censored", entry.censored},
          {"rejected_share", entry.rejected_share},
          {"max_rel_error", entry.max_rel_error},
          {"setup_ns", entry.setup_ns},
          {"stored_bytes", entry.stored_bytes},
          {"bound", bound_json(entry)},
          {"samples_ns", entry.samples_ns}};
}

/// [low, high] and the median; zeros where they are null.
measure::Estimate estimate_from(const json& entry, const char* median, const char* interval) {
  if (entry.at(median).is_null()) return {};
  return {entry.at(median).get<double>(), entry.at(interval).at(0).get<double>(),
          entry.at(interval).at(1).get<double>()};
}

Bound bound_from(const json& json) {
  Bound bound;
  bound.memory_ns = json.at("memory_ns").get<double>();
  bound.compute_ns = json.at("compute_ns").get<double>();
  bound.bytes = json.at("bytes").get<int64_t>();
  for (int level = 0; level < model::kNumMemoryLevels; ++level)
    if (json.at("level") == model::kMemoryLevelNames[level]) bound.level = level;
  return bound;
}

Entry entry_from(const json& json) {
  Entry entry;
  entry.name = json.at("name").get<std::string>();
  entry.library = json.at("library").get<std::string>();
  entry.note = json.at("note").get<std::string>();
  entry.remark = json.value("remark", "");
  entry.status = json.at("status").get<std::string>();
  entry.message = json.at("message").get<std::string>();
  entry.time_ns = estimate_from(json, "median_ns", "interval_ns");
  entry.speedup = estimate_from(json, "speedup", "speedup_interval");
  entry.censored = json.at("censored").get<bool>();
  entry.rejected_share = json.at("rejected_share").get<double>();
  const auto& error = json.at("max_rel_error");  // null: it was not finite
  entry.max_rel_error = error.is_null() ? std::numeric_limits<double>::infinity() : error.get<double>();
  entry.setup_ns = json.at("setup_ns").get<double>();
  entry.stored_bytes = json.at("stored_bytes").get<int64_t>();
  entry.bound = bound_from(json.at("bound"));
  entry.samples_ns = json.at("samples_ns").get<std::vector<double>>();
  return entry;
}

json or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

ordered_json origin_json(const PlanOrigin& origin) {
  return {{"source", or_null(origin.source)},
          {"cost_model", or_null(origin.cost_model)},
          {"search", or_null(origin.search)},
          {"effort", or_null(origin.effort)}};
}

/// Empty texts where a field is null, or the record is from before there were origins.
PlanOrigin origin_from(const json& record) {
  const json origin = record.value("plan_origin", json::object());
  const auto text = [&](const char* key) {
    const auto at = origin.find(key);
    return at == origin.end() || at->is_null() ? std::string() : at->get<std::string>();
  };
  return {text("source"), text("cost_model"), text("search"), text("effort")};
}

tune::MatrixSummary matrix_from(const json& json) {
  return {json.at("name").get<std::string>(), json.at("dims").get<std::vector<int64_t>>(),
          json.at("nnz").get<int64_t>(), json.at("hash").get<std::string>()};
}

}  // namespace

const Entry* Record::find(std::string_view name) const {
  for (const Entry& entry : entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

const Entry* Record::best_peer() const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries)
    if (entry.is_peer() && entry.timed() && (best == nullptr || entry.speedup.median > best->speedup.median))
      best = &entry;
  return best;
}

std::string model_text(const std::string& cost_model) {
  return cost_model == "closed-form" ? "the closed-form model"
                                     : fmt::format("the learned model {:.12}", cost_model);
}

double speedup_over(const Entry* own, const Entry* other) {
  if (own == nullptr || other == nullptr || !own->timed() || !other->timed()) return 0;
  return own->speedup.median / other->speedup.median;
}

ordered_json to_json(const Record& record, const std::string& command) {
  ordered_json document = artifact_header(kBenchFormat, kBenchVersion, kBenchFormat, command, record.machine);
  const tune::MatrixSummary& matrix = record.matrix;
  document["matrix"] = {
      {"name", matrix.name}, {"dims", matrix.dims}, {"nnz", matrix.num_nonzeros}, {"hash", matrix.hash}};
  document["op"] = schedule::name(record.problem.op);
  document["type"] = schedule::name(record.problem.type);
  document["rhs"] = record.problem.rhs;
  document["threads"] = record.threads;
  document["effort"] = record.effort;
  document["seed"] = record.seed;
  document["plan"] = record.plan;
  document["plan_origin"] = origin_json(record.plan_origin);
  document["tuning_s"] = record.tuning_s;
  document["flops"] = record.flops;
  document["ceilings"] = model::to_json(record.ceilings);
  document["contestants"] = ordered_json::array();
  for (const Entry& entry : record.entries)
    document["contestants"].push_back(entry_json(entry, record.flops));
  document["absent"] = ordered_json::array();
  for (const Absence& absence : record.absent)
    document["absent"].push_back({{"name", absence.name}, {"reason", absence.reason}});
  document["disturbed"] = measure::name(record.disturbed);
  document["warnings"] = record.warnings;
  return document;
}

Record record_from_json(const json& json) {
  Record record;
  record.machine = json.at("machine").get<Machine>();
  record.matrix = matrix_from(json.at("matrix"));
  record.problem = dataset::problem_from_json(json);
  record.threads = json.at("threads").get<int>();
  record.effort = json.at("effort").get<std::string>();
  record.seed = json.at("seed").get<uint64_t>();
  record.plan = json.at("plan").get<std::string>();
  record.plan_origin = origin_from(json);
  record.tuning_s = json.at("tuning_s").get<double>();
  record.flops = json.at("flops").get<double>();
  record.ceilings = model::ceilings_from_json(json.at("ceilings"));
  for (const auto& entry : json.at("contestants")) record.entries.push_back(entry_from(entry));
  for (const auto& absence : json.at("absent"))
    record.absent.push_back({absence.at("name").get<std::string>(), absence.at("reason").get<std::string>()});
  record.warnings = json.at("warnings").get<std::vector<std::string>>();
  record.disturbed = measure::parse_disturbance(json.value("disturbed", ""));
  if (!json.contains("disturbed"))  // an older record
    for (const std::string& warning : record.warnings)
      if (warning.find("of the samples were thrown away") != std::string::npos)
        record.disturbed = measure::Disturbance::kOtherWork;
  return record;
}

}  // namespace waco::bench
