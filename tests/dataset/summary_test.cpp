// The numbers that describe a dataset, and the noise of its labels.
#include "waco/dataset/summary.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sample_records.hpp"
#include "waco/dataset/agreement.hpp"

using namespace waco::dataset;
using waco::dataset::testing::sample_header;
using waco::dataset::testing::sample_record;

TEST_CASE("summary: records are counted by stratum and status, and against the best of their matrix",
          "[dataset]") {
  Record failed = sample_record("m1", 3, 0);
  failed.status = waco::measure::Status::kCompile;
  failed.time_ns = 0;
  Record censored = sample_record("m1", 4, 3.9);  // at most this fast: no candidate for the best
  censored.censored = true;
  std::vector<Record> records = {
      sample_record("m1", 1, 4), sample_record("m1", 2, 2), sample_record("m1", 5, 1.9), failed, censored,
      sample_record("m2", 1, 1)};
  records[5].stratum = "uniform";
  const Summary summary = summarize(records);
  CHECK(summary.num_records == 6);
  CHECK(summary.num_matrices == 2);
  CHECK(summary.num_within_2x == 3);  // speedups 4 and 2 on m1, 1 on m2
  CHECK(summary.num_censored == 1);
  CHECK(summary.per_status.at("compile") == 1);
  CHECK(summary.per_stratum.at("csr_like").num_records == 5);
  CHECK(summary.per_stratum.at("csr_like").num_ok == 4);
  CHECK(summary.per_stratum.at("uniform").num_best == 1);
  CHECK(summary.best_speedup == Approx(2));  // geometric mean of 4 and 1
  CHECK(to_json(summary).at("within_2x_of_best_share") == 0.5);
  CHECK(to_text(summary).find("50.0 % of the records") != std::string::npos);
}

TEST_CASE("summary: an empty dataset has no shares", "[dataset]") {
  const Summary summary = summarize({});
  CHECK(summary.num_records == 0);
  CHECK(to_json(summary).at("within_2x_of_best_share") == 0);
}

TEST_CASE("agreement: pairs beyond the margin count, and those that change order", "[dataset]") {
  const std::vector<Record> first = {sample_record("m", 1, 1.0), sample_record("m", 2, 1.05),
                                     sample_record("m", 3, 2.0), sample_record("other", 1, 5.0)};
  // 1 and 2 are within the margin; 3 is clearly the fastest at first and slower than 1 the second time.
  const std::vector<Record> second = {sample_record("m", 1, 1.8), sample_record("m", 2, 1.0),
                                      sample_record("m", 3, 1.7), sample_record("elsewhere", 1, 5.0)};
  const Agreement agreement = compare(first, second, Order::kRatio);
  CHECK(agreement.num_common == 3);
  CHECK(agreement.num_pairs == 2);
  CHECK(agreement.num_reversed == 1);
  CHECK(agreement.reversed_share() == 0.5);
  CHECK(compare(first, second, Order::kTime).num_pairs == 0);  // all took as long; fixed_csr did not
}

TEST_CASE("agreement: the order by time may be another than that by ratio", "[dataset]") {
  std::vector<Record> first = {sample_record("m", 1, 1), sample_record("m", 2, 1), sample_record("m", 3, 1)};
  for (Record& record : first) record.time_ns = 1000;
  std::vector<Record> second = first;
  first[2].time_ns = 2000;  // the slowest at first, the fastest then
  second[2].time_ns = 500;
  const Agreement agreement = compare(first, second, Order::kTime);
  CHECK(agreement.num_pairs == 2);
  CHECK(agreement.num_reversed == 2);
  CHECK(compare(first, second, Order::kRatio).num_pairs == 0);
}

TEST_CASE("agreement: records of different machines make no pair", "[dataset]") {
  std::vector<Record> records = {sample_record("m", 1, 1), sample_record("m", 2, 2),
                                 sample_record("m", 1, 4)};
  records[2].machine = 1;
  const Agreement agreement = compare(records, records, Order::kRatio);
  CHECK(agreement.num_common == 3);
  CHECK(agreement.num_pairs == 1);
}

TEST_CASE("agreement: machines are those of the headers, wherever they stand there", "[dataset]") {
  Header header = sample_header("CPU A");
  header.machines = {sample_header("CPU A").machine, sample_header("CPU B").machine};
  Dataset other;
  other.header.machines = {sample_header("CPU B").machine, sample_header("CPU C").machine,
                           sample_header("CPU A").machine};
  for (const int machine : {0, 1, 2}) other.records.push_back(sample_record(fmt::format("m{}", machine)));
  for (const int machine : {0, 1, 2}) other.records[static_cast<size_t>(machine)].machine = machine;
  const std::vector<Record> records = records_on_machines_of(header, other);
  REQUIRE(records.size() == 2);
  CHECK(records[0].matrix == "m0");
  CHECK(records[0].machine == 1);
  CHECK(records[1].matrix == "m2");
  CHECK(records[1].machine == 0);
  // Of one machine nothing counts.
  const Dataset alone{sample_header("CPU B"), {sample_record("m")}};
  CHECK(records_on_machines_of(header, alone)[0].machine == 1);
  CHECK(records_on_machines_of(sample_header("CPU A"), alone).empty());
}

TEST_CASE("agreement: a censored record is only known to be the slower one of a pair", "[dataset]") {
  std::vector<Record> records = {sample_record("m", 1, 1), sample_record("m", 2, 0.2),
                                 sample_record("m", 3, 0.1)};
  std::vector<Record> odd = records;
  odd[0].censored = true;  // the fastest
  CHECK(compare(odd, odd, Order::kRatio).num_pairs == 1);
  CHECK(compare(records, odd, Order::kRatio).num_pairs == 1);
  records[1].censored = records[2].censored = true;
  const Agreement agreement = compare(records, records, Order::kRatio);
  CHECK(agreement.num_pairs == 2);
  CHECK(agreement.num_reversed == 0);
  CHECK(agreement.median_change == 0);
}
