// Records as JSON, and the split of originals.
#include "waco/dataset/record.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/schedule/legal_choices.hpp"

namespace waco::dataset {
namespace {

using nlohmann::json;

constexpr size_t kMaxMessage = 300;

/// A few significant digits are all that a ratio of noisy times holds.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

template <class Enum, class Parse>
Enum known(const json& document, const char* field, Parse parse) {
  const auto text = document.at(field).get<std::string>();
  const auto value = parse(text);
  if (!value) throw UsageError(fmt::format("unknown {} '{}'", field, text));
  return *value;
}

/// Throws UsageError beyond the bounds, of which the lower one is not negative.
int64_t bounded(const json& document, const char* field, int64_t least,
                int64_t most = std::numeric_limits<int64_t>::max()) {
  const json& value = document.at(field);
  const auto number = value.get<int64_t>();  // negative from 2^63 on
  if (!value.is_number_float() && number >= least && number <= most) return number;
  throw UsageError(fmt::format("its {} is {}", field, value.dump()));
}

std::optional<Split> parse_split(std::string_view text) {
  if (text == name(Split::kTraining)) return Split::kTraining;
  if (text == name(Split::kValidation)) return Split::kValidation;
  return std::nullopt;
}

}  // namespace

std::string_view name(Split split) {
  return split == Split::kTraining ? "training" : "validation";
}

Split split_of(std::string_view original, uint64_t seed, double validation_share) {
  const std::string hash = content_hash(fmt::format("split {} {}", seed, original));
  const double drawn = static_cast<double>(std::stoull(hash.substr(0, 13), nullptr, 16)) * 0x1.0p-52;
  return drawn < validation_share ? Split::kValidation : Split::kTraining;
}

std::string group(const Record& record) {
  return fmt::format("{} {} {} {} {} {}", schedule::name(record.problem.op),
                     schedule::name(record.problem.type), record.problem.rhs, record.threads,
                     record.machine.value_or(0), record.matrix_hash);
}

std::string key(const Record& record) {
  return fmt::format("{} {}", group(record), record.plan);
}

void set_measurement(Record& record, const measure::Measurement& measurement) {
  record.plan = schedule::to_text(measurement.point);
  record.status = measurement.status;
  record.message = measurement.message.substr(0, kMaxMessage);
  record.samples_ns.clear();
  for (const double sample : measurement.samples_ns) record.samples_ns.push_back(std::llround(sample));
  record.time_ns = std::llround(measurement.time_ns.median);
  record.fixed_csr_ns = std::llround(measurement.baseline_median_ns);
  record.speedup = rounded(measurement.speedup.median);
  record.censored = measurement.censored;
  record.rejected_share = std::round(measurement.rejected_share * 100) / 100;
  record.disturbed = measurement.is_disturbed;
  record.pack_ns = measurement.pack_ns;
  record.stored_bytes = measurement.stored_bytes;
}

nlohmann::ordered_json to_json(const Record& record) {
  nlohmann::ordered_json json = {{"matrix", record.matrix},     {"matrix_hash", record.matrix_hash},
                                 {"original", record.original}, {"source", record.source},
                                 {"rows", record.dims.at(0)},   {"cols", record.dims.at(1)}};
  if (record.dims.size() > 2) json["depth"] = record.dims[2];
  json["nnz"] = record.num_nonzeros;
  json["split"] = name(record.split);
  json["op"] = schedule::name(record.problem.op);
  json["type"] = schedule::name(record.problem.type);
  json["rhs"] = record.problem.rhs;
  json["threads"] = record.threads;
  json["seed"] = record.seed;
  json["stratum"] = record.stratum;
  json["plan"] = record.plan;
  json["status"] = measure::name(record.status);
  if (!record.message.empty()) json["message"] = record.message;
  json["samples_ns"] = record.samples_ns;
  json["time_ns"] = record.time_ns;
  json["fixed_csr_ns"] = record.fixed_csr_ns;
  json["speedup"] = record.speedup;
  if (record.censored) json["censored"] = true;
  if (record.rejected_share > 0) json["rejected_share"] = record.rejected_share;
  if (record.disturbed) json["disturbed"] = true;
  json["pack_ns"] = record.pack_ns;
  json["stored_bytes"] = record.stored_bytes;
  if (record.machine) json["machine"] = *record.machine;
  return json;
}

schedule::Problem problem_from_json(const json& document) {
  return {known<schedule::Op>(document, "op", schedule::parse_op),
          known<schedule::ValueType>(document, "type", schedule::parse_value_type),
          bounded(document, "rhs", 1, schedule::kMaxRhs)};
}

schedule::SuperSchedule point_of(const Record& record, const std::filesystem::path& dataset) {
  try {
    schedule::SuperSchedule point = schedule::parse(record.plan);
    if (!(point.problem == record.problem)) throw UsageError("its plan is of another problem");
    return point;
  } catch (const UsageError& fault) {
    throw InputError(dataset.string(), 0, fmt::format("a record of {}: {}", record.matrix, fault.what()));
  }
}

Record record_from_json(const json& document) {
  Record record;
  record.matrix = document.at("matrix");
  record.matrix_hash = document.at("matrix_hash");
  record.original = document.value("original", record.matrix);
  record.source = document.value("source", "");
  record.dims = {bounded(document, "rows", 0), bounded(document, "cols", 0)};
  if (document.contains("depth")) record.dims.push_back(bounded(document, "depth", 0));
  record.num_nonzeros = bounded(document, "nnz", 0);
  record.split = known<Split>(document, "split", parse_split);
  record.problem = problem_from_json(document);
  record.threads = static_cast<int>(bounded(document, "threads", 1, schedule::kMaxThreads));
  record.seed = document.value("seed", uint64_t{0});
  record.stratum = document.at("stratum");
  record.plan = document.at("plan");
  record.status = known<measure::Status>(document, "status", measure::parse_status);
  record.message = document.value("message", "");
  record.samples_ns = document.at("samples_ns").get<std::vector<int64_t>>();
  if (std::ranges::any_of(record.samples_ns, [](int64_t sample) { return sample < 0; }))
    throw UsageError("a sample of it is negative");
  record.time_ns = bounded(document, "time_ns", 0);
  record.fixed_csr_ns = bounded(document, "fixed_csr_ns", 0);
  record.speedup = document.at("speedup");
  record.censored = document.value("censored", false);
  record.rejected_share = document.value("rejected_share", 0.0);
  record.disturbed = document.value("disturbed", false);
  record.pack_ns = document.value("pack_ns", int64_t{0});
  record.stored_bytes = document.value("stored_bytes", int64_t{0});
  if (document.contains("machine")) record.machine = document.at("machine").get<int>();
  return record;
}

}  // namespace waco::dataset
