// What plans and kernels have to be like, whoever writes them.
#pragma once

#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "program.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::cli {

inline std::set<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

inline std::set<std::string> keys_of(const nlohmann::json& document) {
  std::set<std::string> keys;
  for (const auto& [key, value] : document.items()) keys.insert(key);
  return keys;
}

/// As docs/file-formats.md lists them; a line of a list has more.
inline void check_keys(const nlohmann::json& document) {
  std::string keys =
      "format version created_by machine complete stopped_by machine_failed matrix op type rhs threads "
      "effort seed cost_model search space model other_models no_compile num_without_kernel parts baseline "
      "candidates best verdict break_even_calls break_even_calls_with_tuning num_ranked stages_s disturbed "
      "warnings";
  if (document.contains("input")) keys += " input asked status exit_code error";
  CHECK(keys_of(document) == words_of(keys));
  CHECK(
      keys_of(document.at("best")) ==
      words_of("plan is_baseline median_ns interval_ns speedup speedup_interval gflops significant verified "
               "pack_ns stored_bytes"));
  const std::string measured =
      "plan status message samples_ns median_ns interval_ns baseline_median_ns speedup speedup_interval "
      "censored rejected_share disturbed pack_ns stored_bytes num_stored max_rel_error compile_ns";
  if (!document.at("baseline").is_null()) CHECK(keys_of(document.at("baseline")) == words_of(measured));
  CHECK(keys_of(document.at("candidates").at(0)) == words_of(measured + " predicted_cost_ns finalist"));
}

inline void check_document(const nlohmann::json& document, const std::string& op, bool verified = true) {
  check_keys(document);
  CHECK(document.at("format") == "waco-plan");
  CHECK(document.at("version") == 1);
  CHECK(document.at("created_by").at("program") == "waco-tune");
  CHECK(!document.at("machine").at("cpu").get<std::string>().empty());
  CHECK(document.at("complete") == true);
  CHECK(document.at("op") == op);
  CHECK(document.at("matrix").at("hash").get<std::string>().size() == 16);
  CHECK(document.at("parts").size() == 1);
  const nlohmann::json& best = document.at("best");
  CHECK(best.at("verified") == verified);
  CHECK(document.at("parts")[0].at("plan") == best.at("plan"));
  CHECK_NOTHROW(schedule::parse(best.at("plan").get<std::string>()));
  for (const char* stage :
       {"load", "read", "machine", "features", "search", "rank", "convert", "measure", "total"})
    CHECK(document.at("stages_s").at(stage).get<double>() >= 0);
  CHECK(document.at("stages_s").at("read").get<double>() > 0);
  CHECK(document.at("stages_s").at("search").get<double>() > 0);
  CHECK(document.at("stages_s").at("total").get<double>() >
        document.at("stages_s").at("search").get<double>());
}

/// Compiles an emitted file alone and lets it judge itself on `input`.
inline void check_kernel(const Workspace& work, const std::string& kernel, const std::string& input) {
  const std::string program = work.path("self_test");
  const RunResult compiled = run_process({"g++", "-std=c++17", "-O1", "-march=native", "-fopenmp",
                                          "-Wno-psabi", "-DWACO_SELF_TEST", kernel, "-o", program});
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  const RunResult run = run_process({program, input});
  INFO(run.out << run.err);
  CHECK(run.ok());
  CHECK(run.out.find("passed") != std::string::npos);
}

/// The program with `file` as its stdin, of which the shell command `before` reads first.
inline RunResult run_on(const Program& program, const std::string& file, const std::string& before = "") {
  return run_by_shell(program, fmt::format("exec < '{}'; {}exec \"$@\"", file, before));
}

}  // namespace waco::cli
