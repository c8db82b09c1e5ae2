// JSON forms of what goes over the channel. Both ends are of one version, so every field is required.
#include "waco/measure/protocol.hpp"

namespace waco::measure {
namespace {

nlohmann::json estimate_json(const Estimate& estimate) {
  return {estimate.median, estimate.low, estimate.high};
}

Estimate estimate_from(const nlohmann::json& json) {
  return {json.at(0), json.at(1), json.at(2)};
}

/// As numbers: a path need not be UTF-8, which texts of JSON are.
std::vector<unsigned char> bytes_of(const std::filesystem::path& path) {
  const std::string& text = path.native();
  return {text.begin(), text.end()};
}

std::filesystem::path path_from(const nlohmann::json& json) {
  const auto bytes = json.get<std::vector<unsigned char>>();
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

void to_json(nlohmann::json& json, const Contestant& contestant) {
  json = {{"plan", schedule::to_text(contestant.point)},
          {"library", bytes_of(contestant.library)},
          {"pos_bytes", contestant.pos_bytes},
          {"fixed_csr", contestant.fixed_csr}};
}

void from_json(const nlohmann::json& json, Contestant& contestant) {
  contestant.point = schedule::parse(json.at("plan").get<std::string>());
  contestant.library = path_from(json.at("library"));
  json.at("pos_bytes").get_to(contestant.pos_bytes);
  json.at("fixed_csr").get_to(contestant.fixed_csr);
}

void to_json(nlohmann::json& json, const Preparation& preparation) {
  json = {{"status", name(preparation.status)},
          {"message", preparation.message},
          {"needed_pos_bytes", preparation.needed_pos_bytes},
          {"unloadable", preparation.unloadable},
          {"censored", preparation.censored},
          {"first_run_ns", preparation.first_run_ns},
          {"max_rel_error", std::min(preparation.max_rel_error, 1e308)},  // JSON has no infinity
          {"pack_ns", preparation.pack_ns},
          {"stored_bytes", preparation.stored_bytes},
          {"num_stored", preparation.num_stored}};
}

void from_json(const nlohmann::json& json, Preparation& preparation) {
  preparation.status = parse_status(json.at("status").get<std::string>()).value();
  json.at("message").get_to(preparation.message);
  json.at("needed_pos_bytes").get_to(preparation.needed_pos_bytes);
  json.at("unloadable").get_to(preparation.unloadable);
  json.at("censored").get_to(preparation.censored);
  json.at("first_run_ns").get_to(preparation.first_run_ns);
  json.at("max_rel_error").get_to(preparation.max_rel_error);
  json.at("pack_ns").get_to(preparation.pack_ns);
  json.at("stored_bytes").get_to(preparation.stored_bytes);
  json.at("num_stored").get_to(preparation.num_stored);
}

void to_json(nlohmann::json& json, const ContestantTimes& times) {
  json = {{"samples_ns", times.samples_ns},          {"time_ns", estimate_json(times.time_ns)},
          {"speedup", estimate_json(times.speedup)}, {"num_rounds", times.num_rounds},
          {"rejected_share", times.rejected_share},  {"disturbed", times.is_disturbed}};
}

void from_json(const nlohmann::json& json, ContestantTimes& times) {
  json.at("samples_ns").get_to(times.samples_ns);
  times.time_ns = estimate_from(json.at("time_ns"));
  times.speedup = estimate_from(json.at("speedup"));
  json.at("num_rounds").get_to(times.num_rounds);
  json.at("rejected_share").get_to(times.rejected_share);
  json.at("disturbed").get_to(times.is_disturbed);
}

}  // namespace waco::measure
