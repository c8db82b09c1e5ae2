// What ranking returns keeps the limits.
#include "waco/tune/ranking.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../model/learned/random_model.hpp"
#include "../model/patterns.hpp"
#include "../model/server_ceilings.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/schedule/kinship.hpp"
#include "waco/schedule/storage_size.hpp"

using namespace waco;

TEST_CASE("ranking: what is sure to be within the limits is, by exact counts", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(3000, 20000, 5);
  for (const double max_fill : {1.0, 1.1, 1.5, 4.0}) {
    tune::TuneOptions options;
    options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
    options.max_fill = max_fill;
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto candidates = ranking.search(10, 600, {.num_sure = 10});
    REQUIRE(!candidates.empty());
    const pattern::PatternCounts counts(tensor);
    for (const tune::Candidate& candidate : candidates) {
      const auto& point = candidate.measurement.point;
      INFO(max_fill << " " << schedule::to_text(point));
      const auto size = schedule::predict_storage(point.format, point.problem.op, point.problem.type, counts);
      CHECK(static_cast<double>(size.num_stored) <= max_fill * static_cast<double>(tensor.num_nonzeros()));
    }
  }
}

TEST_CASE("ranking: where estimates let pass what is beyond the limits, others are found", "[tune]") {
  // One row holds everything: panels of rows that a sample takes hold nothing.
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t k = 0; k < 200000; ++k) entries.insert({500000, 5 * k});
  const matrix::SparseTensor tensor = test::from_entries(1000000, 1000000, entries);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSddmm, schedule::ValueType::kF32, 1};
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  CHECK(ranking.search(4, 2000, {.num_sure = 4}).size() == 4);
}

TEST_CASE("ranking: what only an earlier search returned is still found as a neighbour", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(300, 2000, 5);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  std::set<std::string> earlier;
  for (const tune::Candidate& candidate : ranking.search(1000, 2000, {.num_sure = 0}))
    earlier.insert(schedule::to_text(candidate.measurement.point));
  const auto best = ranking.search(1, 2000, {.num_sure = 1});
  REQUIRE(best.size() == 1);
  const auto neighbours = ranking.neighbours({best[0].measurement.point}, {}, 100000);
  CHECK(std::any_of(neighbours.begin(), neighbours.end(), [&](const tune::Candidate& candidate) {
    return earlier.contains(schedule::to_text(candidate.measurement.point));
  }));
}

TEST_CASE("ranking: a result that the L2 caches hold is not stored past them", "[tune]") {
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 32};
  const model::Ceilings ceilings = test::server_ceilings(2);
  const int64_t rows = ceilings.levels[1].capacity_bytes / (32 * int64_t{sizeof(float)});  // of one core
  const auto num_streaming = [&](int64_t num_rows) {
    const matrix::SparseTensor tensor = test::power_law(num_rows, 100000, 5);
    tune::Ranking ranking(tensor, options, 2, ceilings);
    std::vector<tune::Candidate> tried = ranking.search(300, 2000, {.num_sure = 10});
    std::vector<schedule::SuperSchedule> best;
    for (size_t n = 0; n < std::min<size_t>(tried.size(), 10); ++n)
      best.push_back(tried[n].measurement.point);
    const std::vector<tune::Candidate> next = ranking.neighbours(best, {}, 300);
    tried.insert(tried.end(), next.begin(), next.end());
    return std::ranges::count_if(
        tried, [](const tune::Candidate& candidate) { return candidate.measurement.point.compute.stream; });
  };
  CHECK(num_streaming(rows) == 0);
  CHECK(num_streaming(2 * rows + 1) > 0);
}

TEST_CASE("ranking: neighbours that share what measured slower than predicted come later", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(40000, 200000, 5);  // its result exceeds L2
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 32};
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  std::vector<tune::Candidate> measured = ranking.search(10, 2000, {.num_sure = 10});
  REQUIRE(measured.size() == 10);
  const auto is_stream = [](const tune::Candidate& candidate) {
    return candidate.measurement.point.compute.stream;
  };
  const schedule::SuperSchedule best = measured[0].measurement.point;
  // Measured as predicted, but for streaming stores, which are good or bad.
  const auto share_of_stream = [&](double factor) {
    for (tune::Candidate& candidate : measured) {
      candidate.measured = true;
      candidate.measurement.status = measure::Status::kOk;
      const double speedup = ranking.csr_ns() / *candidate.predicted_cost_ns;
      candidate.measurement.speedup.median = is_stream(candidate) ? speedup * factor : speedup;
    }
    tune::Candidate streaming = measured[0];
    streaming.measurement.point.compute.stream = !best.compute.stream;
    const double speedup = ranking.csr_ns() / *streaming.predicted_cost_ns;
    streaming.measurement.speedup.median = is_stream(streaming) ? speedup * factor : speedup;
    std::vector<tune::Candidate> known = measured;
    known.push_back(streaming);
    tune::Ranking again(tensor, options, 2, test::server_ceilings(2));
    const auto next = again.neighbours({best}, known, 12);
    REQUIRE(next.size() == 12);
    return std::count_if(next.begin(), next.end(), is_stream);
  };
  CHECK(share_of_stream(0.5) < share_of_stream(2));
}

TEST_CASE("ranking: the closed-form model names what a learned one does not find", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(3000, 60000, 5);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 32};
  tune::Ranking closed_form(tensor, options, 2, test::server_ceilings(2));
  REQUIRE(!closed_form.search(10, 2000, {.num_sure = 10}).empty());
  CHECK(closed_form.second_opinions(2, 2000).empty());
  const tune::TuneOptions options_without_model = options;
  // Of random weights: what it ranks first is good by chance at most.
  const TemporaryFolder folder;
  test::write_random_model(folder.path() / "model", options.problem.op, 1);
  options.learned = search::Learned::open(folder.path() / "model", {}, 2);
  options.search = "neighbours";
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  const auto firsts = ranking.search(8, 2000, {.num_sure = 8});
  const auto others = ranking.second_opinions(2, 2000);
  REQUIRE(firsts.size() == 8);
  REQUIRE(others.size() == 2);
  const auto points_of = [](const std::vector<tune::Candidate>& candidates) {
    std::vector<schedule::SuperSchedule> points;
    for (const tune::Candidate& candidate : candidates) points.push_back(candidate.measurement.point);
    return points;
  };
  for (const schedule::SuperSchedule& point : points_of(others))
    CHECK(std::ranges::count(points_of(firsts), point) == 0);
  // In the other's eyes.
  const auto least_cost = [&](const std::vector<tune::Candidate>& candidates) {
    tune::Ranking judge(tensor, options_without_model, 2, test::server_ceilings(2));
    double least = std::numeric_limits<double>::infinity();
    for (const tune::Candidate& judged : judge.judge(points_of(candidates)))
      least = std::min(least, *judged.predicted_cost_ns);
    return least;
  };
  CHECK(least_cost(others) < least_cost(firsts));
}

TEST_CASE("ranking: rows are clustered where their order wastes the cache, and only there", "[tune]") {
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  const auto is_clustered = [](const tune::Candidate& candidate) {
    return candidate.measurement.point.format.clustered();
  };
  const auto num_clustered = [&](const matrix::SparseTensor& tensor, bool may_cluster) {
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto found = ranking.search(8, 1000, {.num_sure = 8, .may_cluster = may_cluster});
    REQUIRE(found.size() == 8);
    CHECK(std::is_sorted(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return *a.predicted_cost_ns < *b.predicted_cost_ns;
    }));
    return std::count_if(found.begin(), found.end(), is_clustered);
  };
  const matrix::SparseTensor shuffled = test::shuffled_grid(150, 3);
  CHECK(num_clustered(shuffled, true) == 6);  // two of eight remain as they are
  CHECK(num_clustered(shuffled, false) == 0);
  CHECK(num_clustered(codegen::with_clustered_rows(shuffled, 0, 2), true) == 0);
  CHECK(num_clustered(test::shuffled_grid(11, 3), true) >= 4);  // all dense rows stay in L2, but not in L1
  CHECK(num_clustered(test::shuffled_grid(5, 3), true) == 0);   // in L1
  options.subspace = schedule::Subspace::kSchedule;
  CHECK(num_clustered(shuffled, true) == 0);
  options.subspace = schedule::Subspace::kAll;

  tune::Ranking stopped(shuffled, options, 2, test::server_ceilings(2));
  const auto by_then = stopped.search(8, 1000, {.num_sure = 8, .stop = StopToken().with_budget(-1)});
  CHECK(by_then.size() == 8);
  CHECK(std::ranges::none_of(by_then, is_clustered));
  CHECK(stopped.clustering_s() == 0);

  tune::Ranking ranking(shuffled, options, 2, test::server_ceilings(2));
  const auto best = ranking.search(1, 1000, {.num_sure = 1});
  REQUIRE(is_clustered(best[0]));
  const auto neighbours = ranking.neighbours({best[0].measurement.point}, {}, 10000);
  schedule::SuperSchedule twin = best[0].measurement.point;
  twin.format.arrangement = schedule::Arrangement::kGiven;
  size_t num_twins = 0, num_others = 0;
  for (const tune::Candidate& candidate : neighbours)
    ++(candidate.measurement.point == twin ? num_twins : is_clustered(candidate) ? num_others : num_twins);
  CHECK(num_twins == 1);
  CHECK(num_others > 20);
}

TEST_CASE("ranking: the best with rows as they are is looked at with clustered rows, too", "[tune]") {
  const matrix::SparseTensor tensor = test::shuffled_grid(60, 3);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  options.search = "random";
  int num_clustered = 0;
  for (options.seed = 1; options.seed <= 10; ++options.seed) {
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto found = ranking.search(8, 20);
    const auto is_clustered = [](const tune::Candidate& candidate) {
      return candidate.measurement.point.format.clustered();
    };
    const auto given = std::ranges::find_if_not(found, is_clustered);
    REQUIRE(given != found.end());
    if (std::ranges::none_of(found, is_clustered)) continue;  // not worth it for what was found
    ++num_clustered;
    // Judged are points that the search has not returned.
    const auto twins = ranking.judge({schedule::clustered(given->measurement.point, 0)});
    for (const tune::Candidate& twin : twins) {
      CAPTURE(options.seed, schedule::to_text(twin.measurement.point));
      CHECK(twin.measurement.message.empty());
      CHECK(*found[0].predicted_cost_ns <= *twin.predicted_cost_ns);
    }
  }
  CHECK(num_clustered > 4);
}

TEST_CASE("ranking: threads share no lines of the result of spmv where rows are clustered", "[tune]") {
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  const matrix::SparseTensor tensor = test::shuffled_grid(700, 3);  // x takes 2 MB
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  std::vector<schedule::SuperSchedule> clustered;
  const auto add = [&](const std::vector<tune::Candidate>& found) {
    for (const tune::Candidate& candidate : found)
      if (candidate.measurement.point.format.clustered()) clustered.push_back(candidate.measurement.point);
  };
  add(ranking.search(8, 1000));
  REQUIRE(!clustered.empty());
  add(ranking.neighbours({clustered[0]}, {}, 1000));
  CHECK(clustered.size() > 20);
  int64_t largest = 0;
  for (const schedule::SuperSchedule& point : clustered) {
    INFO(schedule::to_text(point));
    CHECK(point.format.cluster_window == 245056);  // half of the rows, in whole lines of the result
    CHECK(point.format.sort_window <= point.format.cluster_window);
    largest = std::max(largest, point.format.sort_window);
  }
  CHECK(largest > 244000);  // rows are sorted in windows as large as without clusters
}

TEST_CASE("ranking: skewed points are looked at where diagonals are filled, and only there", "[tune]") {
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  const auto band = [](int64_t size, int64_t every) {
    std::set<std::pair<int64_t, int64_t>> entries;
    for (int64_t row = 0; row < size; row += every)
      for (const int64_t offset : {-100, -1, 0, 1, 100})
        if (row + offset >= 0 && row + offset < size) entries.emplace(row, row + offset);
    return test::from_entries(size, size, entries);
  };
  const auto is_skewed = [](const tune::Candidate& candidate) {
    return candidate.measurement.point.format.skewed();
  };
  const auto num_skewed = [&](const matrix::SparseTensor& tensor, bool thoroughly) {
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto found = ranking.search(8, 1000, {.num_sure = 8, .sparing = !thoroughly});
    REQUIRE(found.size() == 8);
    CHECK(std::is_sorted(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return *a.predicted_cost_ns < *b.predicted_cost_ns;
    }));
    return std::count_if(found.begin(), found.end(), is_skewed);
  };
  CHECK(num_skewed(band(3000, 1), true) >= 2);
  CHECK(num_skewed(band(3000, 1), false) >= 2);
  CHECK(num_skewed(band(3000, 2), false) == 0);  // half full: not sure to pay
  CHECK(num_skewed(test::uniform(3000, 3000, 20000, 3), true) == 0);
  options.subspace = schedule::Subspace::kSchedule;
  CHECK(num_skewed(band(3000, 1), true) == 0);
  options.subspace = schedule::Subspace::kFormat;
  CHECK(num_skewed(band(3000, 1), true) >= 1);
  options.subspace = schedule::Subspace::kAll;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 8};
  CHECK(num_skewed(band(3000, 1), true) == 0);

  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  const matrix::SparseTensor tensor = band(3000, 1);
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  const auto best = ranking.search(1, 1000, {.num_sure = 1});
  REQUIRE(is_skewed(best[0]));
  const auto neighbours = ranking.neighbours({best[0].measurement.point}, {}, 10000);
  CHECK(neighbours.size() > 5);
  for (const tune::Candidate& candidate : neighbours) {
    CHECK(is_skewed(candidate));
    CHECK(!schedule::illegal_reason(candidate.measurement.point));
  }
  // Given by hand, where no search looked at any.
  const matrix::SparseTensor scattered = test::uniform(3000, 3000, 20000, 3);
  options.max_fill = 4;
  tune::Ranking other(scattered, options, 2, test::server_ceilings(2));
  const auto judged = other.judge(
      {schedule::parse("spmv f32 | A: i1:U k:C i0:U [i/2 skewed] | loop: i1 k i0 | par: i1 static x2"),
       schedule::parse("spmv f32 | A: i1:U k:C i0:U [i/16 skewed] | loop: i1 k i0 | par: i1 static x2")});
  CHECK(!judged[0].measured);
  CHECK(judged[1].measurement.status == measure::Status::kConstraint);
}

TEST_CASE("ranking: a given clustered point is judged by its own windows", "[tune]") {
  // Rows of two kinds by turns, which no order inside windows of two rows parts.
  std::set<std::pair<int64_t, int64_t>> entries;
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t k = 0; k < 8; ++k) entries.insert({i, i % 2 * 8 + k});
  const matrix::SparseTensor tensor = test::from_entries(64, 16, entries);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  options.max_fill = 1.5;
  const auto refusal = [&](const std::string& windows) {
    const auto point = schedule::parse("spmm f32 J=256 | A: i1:U k1:C i0:U k0:U [i/8 k/8 " + windows +
                                       "] | loop: i1 k1 i0 k0 j | par: i1 static x2");
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    return ranking.judge({point})[0].measurement.message;
  };
  CHECK(refusal("clustered").empty());
  CHECK_THAT(refusal("clustered:2"), Catch::Contains("stores 2 values per nonzero"));
}

TEST_CASE("ranking: clustered points cost more by what the model knows of its machine", "[tune]") {
  const matrix::SparseTensor tensor = test::shuffled_grid(60, 3);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 256};
  const TemporaryFolder folder;
  test::write_random_model(folder.path() / "model", options.problem.op, 1);
  const auto cost = [&](std::optional<double> clustered_cost) {
    test::edit_manifest(folder.path() / "model", [&](auto& manifest) {
      manifest["clustered_costs"] = nlohmann::ordered_json::array();
      if (clustered_cost)
        manifest["clustered_costs"].push_back({{"row_bytes", 1024}, {"factor", *clustered_cost}});
    });
    options.learned = search::Learned::open(folder.path() / "model", {}, 2);
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    const auto judged = ranking.judge({schedule::parse(
        "spmm f32 J=256 | A: i:U k:C [clustered] | loop: i j1 k j0 [j/64] | par: i static x2")});
    return *judged.at(0).predicted_cost_ns;
  };
  CHECK(cost(2) == Approx(2 * cost(1)));
  CHECK(cost(std::nullopt) > cost(1));
}

TEST_CASE("ranking: where nobody measures, points of little known families come later", "[tune]") {
  const matrix::SparseTensor tensor = test::uniform(800, 800, 6000, 3);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmm, schedule::ValueType::kF32, 64};
  const TemporaryFolder folder;
  test::write_random_model(folder.path() / "model", options.problem.op, 1);
  // What a search finds by a model that has learned from so many patterns of the families.
  const auto found = [&](const std::map<std::string, int64_t>& families, bool cautious) {
    test::edit_manifest(folder.path() / "model", [&](auto& manifest) { manifest["families"] = families; });
    options.learned = search::Learned::open(folder.path() / "model", {}, 2);
    tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
    return ranking.search(40, 3000, {.num_sure = 0, .cautious = cautious});
  };
  const auto family_of = [](const tune::Candidate& candidate) {
    return schedule::threaded_family(candidate.measurement.point);
  };
  const std::vector<tune::Candidate> bold = found({{"none", 1}}, false);
  REQUIRE(bold.size() > 10);
  CHECK(bold[0].doubt == 1);
  // All unknown: the same order, and predictions as they are.
  const std::vector<tune::Candidate> doubted = found({{"none", 1}}, true);
  CHECK(doubted[0].measurement.point == bold[0].measurement.point);
  CHECK(doubted[0].doubt == Approx(1.4));
  CHECK(*doubted[0].predicted_cost_ns == Approx(*bold[0].predicted_cost_ns));
  CHECK(found({{family_of(bold[0]), 3}}, true)[0].doubt == Approx(1.2));
  // Without the keys nothing is doubted.
  CHECK(found({}, true)[0].doubt == 1);
  // A family that is known well comes before a better one that is not.
  const auto other = std::ranges::find_if(bold, [&](const tune::Candidate& candidate) {
    return family_of(candidate) != family_of(bold[0]) &&
           *candidate.predicted_cost_ns < 1.3 * *bold[0].predicted_cost_ns;
  });
  REQUIRE(other != bold.end());
  const std::vector<tune::Candidate> known = found({{family_of(*other), 1000000}}, true);
  CHECK(family_of(known[0]) == family_of(*other));
  CHECK(*known[0].predicted_cost_ns > *bold[0].predicted_cost_ns);
}

TEST_CASE("ranking: clustered points given by hand are judged by what they store", "[tune]") {
  const matrix::SparseTensor tensor = test::power_law(3000, 20000, 5);
  tune::TuneOptions options;
  options.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  options.max_fill = 1.2;
  tune::Ranking ranking(tensor, options, 2, test::server_ceilings(2));
  const auto judged = ranking.judge(
      {schedule::parse("spmv f32 | A: i:U k:C [clustered] | loop: i k | par: i static x2"),
       schedule::parse("spmv f32 | A: i1:U i0:U k:E [i/16 clustered] | loop: i1 k i0 | par: i1 static x2")});
  REQUIRE(judged.size() == 2);
  CHECK(!judged[0].measured);
  CHECK(judged[1].measured);
  CHECK(judged[1].measurement.status == measure::Status::kConstraint);
}
