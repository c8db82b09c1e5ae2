// Small collections, and what their runs must agree on.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

namespace waco::cli {

using nlohmann::json;

inline Program collect() {
  return Program("waco-collect").with("--threads", "2");
}

/// Three small matrices of different kinds.
inline std::vector<std::string> matrices(const Workspace& work) {
  std::vector<std::string> files;
  Random random(5);
  for (int kind = 0; kind < 3; ++kind) {
    std::string entries;
    int count = 0;
    for (int r = 1; r <= 300; ++r)
      for (int c = 1; c <= 240; ++c) {
        const bool nonzero = kind == 0   ? random.chance(0.02)
                             : kind == 1 ? std::abs(r - c) < 5
                                         : (r / 4 * 7 + c / 4) % 31 == 0;
        if (nonzero) entries += fmt::format("{} {} {:.4f}\n", r, c, random.uniform() - 0.5), ++count;
      }
    files.push_back(work.write(
        fmt::format("kind{}.mtx", kind),
        fmt::format("%%MatrixMarket matrix coordinate real general\n300 240 {}\n{}", count, entries)));
  }
  return files;
}

inline Program spmv_collection(const std::vector<std::string>& files, const std::string& output) {
  Program program = collect().with("--op", "spmv", "--per-matrix", "20", "--seed", "7", "-o", output);
  for (const std::string& file : files) program.with(file);
  return program;
}

/// The records of a file whose lines must all be whole, but for the last one if `may_be_torn`.
inline std::vector<json> records_of(const std::string& file, bool may_be_torn = false) {
  const std::string text = read_file(file);
  const size_t end = text.rfind('\n') + 1;
  if (!may_be_torn) CHECK(end == text.size());
  std::vector<json> records = documents_of(text.substr(0, end));
  REQUIRE_FALSE(records.empty());
  CHECK(records[0].at("format") == "waco-dataset");
  records.erase(records.begin());
  return records;
}

/// What every run of a collection must agree on: counts by matrix and stratum, and the keys of all strata
/// that do not depend on times.
struct Outline {
  std::map<std::string, int> counts;
  std::set<std::string> keys;
  int num_doubled = 0;
  bool operator==(const Outline&) const = default;
};

inline Outline outline_of(const std::vector<json>& records) {
  Outline outline;
  std::set<std::string> all;
  for (const json& record : records) {
    const std::string stratum = record.at("stratum");
    const std::string key = fmt::format("{} {}", record.at("matrix_hash").get<std::string>(),
                                        record.at("plan").get<std::string>());
    ++outline.counts[record.at("matrix").get<std::string>() + " " + stratum];
    if (!all.insert(key).second) ++outline.num_doubled;
    if (stratum != "neighbours") outline.keys.insert(stratum + " " + key);
  }
  return outline;
}

}  // namespace waco::cli
