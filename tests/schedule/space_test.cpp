// Properties of the space over random points: legal, canonical, within limits, round-tripping, closed under
// moves.
#include "waco/schedule/space.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "waco/base/error.hpp"
#include "waco/schedule/building.hpp"
#include "waco/schedule/loop_nest.hpp"
#include "waco/schedule/row_windows.hpp"

using namespace waco;
using namespace waco::schedule;

namespace {

struct Shape {
  Op op;
  int64_t rhs;
  std::vector<int64_t> dims;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes{
      {Op::kSpmv, 1, {1000, 70000}},   {Op::kSpmv, 1, {1, 1}},           {Op::kSpmv, 1, {1, 900}},
      {Op::kSpmm, 256, {5000, 300}},   {Op::kSpmm, 3, {7, 5}},           {Op::kSpmm, 32, {40000, 40000}},
      {Op::kSddmm, 256, {200, 90000}}, {Op::kSddmm, 1, {4, 4}},          {Op::kMttkrp, 16, {300, 400, 500}},
      {Op::kMttkrp, 16, {2, 1, 3}},    {Op::kMttkrp, 7, {70000, 30, 9}},
  };
  return kShapes;
}

void check_member(const ScheduleSpace& space, const SuperSchedule& point) {
  const std::string text = to_text(point);
  INFO(text);
  REQUIRE_FALSE(illegal_reason(point));
  CHECK(canonical(point) == point);
  CHECK(parse(text) == point);
  CHECK(point.problem == space.problem());
  CHECK(point.compute.threads <= space.limits().max_threads);
  for (size_t mode = 0; mode < space.dims().size(); ++mode)
    CHECK((point.format.split[mode] == 1 || point.format.split[mode] < space.dims()[mode]));
}

ScheduleSpace make_space(const Shape& shape, ValueType type = ValueType::kF32) {
  return ScheduleSpace({shape.op, type, shape.rhs}, shape.dims, {4, 20, INT64_MAX});
}

template <typename Predicate>
bool any_level(const SuperSchedule& point, Predicate predicate) {
  return std::any_of(point.format.levels.begin(), point.format.levels.end(), predicate);
}

}  // namespace

TEST_CASE("space: samples of every stratum are legal, canonical and round-trip", "[schedule]") {
  Random random(1);
  for (const Shape& shape : shapes()) {
    const ScheduleSpace space = make_space(shape, ValueType::kF64);
    for (const Stratum stratum : kStrata)
      for (int n = 0; n < 40; ++n) check_member(space, space.sample_stratified(random, stratum));
  }
}

TEST_CASE("space: uniform samples reach every kind of level, policy and loop", "[schedule]") {
  Random random(2);
  const ScheduleSpace space = make_space({Op::kSpmm, 256, {5000, 5000}});
  std::set<LevelKind> kinds;
  std::set<Policy> policies;
  std::set<LoopKind> loops;
  std::set<int32_t> threads;
  for (int n = 0; n < 1500; ++n) {
    const SuperSchedule point = space.sample_uniform(random);
    for (const Level& level : point.format.levels) kinds.insert(level.kind);
    for (const Loop& loop : analyze(point).loops) loops.insert(loop.kind);
    policies.insert(point.compute.policy);
    threads.insert(point.compute.threads);
  }
  CHECK(kinds.size() == 5);
  CHECK(policies.size() == 3);
  CHECK(threads == std::set<int32_t>{1, 2, 3, 4});
  CHECK(loops.size() >= 6);
}

TEST_CASE("space: a stratum samples its own formats", "[schedule]") {
  Random random(3);
  for (const Shape& shape :
       {Shape{Op::kSpmm, 64, {5000, 5000}}, Shape{Op::kMttkrp, 16, {5000, 5000, 5000}}}) {
    const ScheduleSpace space = make_space(shape);
    int sliced = 0, tuples = 0, blocked = 0;
    for (int n = 0; n < 100; ++n) {
      sliced += any_level(space.sample_stratified(random, Stratum::kSliced),
                          [](Level level) { return level.kind >= LevelKind::kEll; });
      tuples += any_level(space.sample_stratified(random, Stratum::kCoo),
                          [](Level level) { return level.kind == LevelKind::kSingleton; });
      blocked += any_level(space.sample_stratified(random, Stratum::kBlocked), [](Level level) {
        return level.var.inner && level.kind == LevelKind::kUncompressed;
      });
      const SuperSchedule csr_like = space.sample_stratified(random, Stratum::kCsrLike);
      CHECK(csr_like.format.split == std::array<int32_t, 3>{1, 1, 1});
    }
    CHECK(sliced == 100);
    CHECK(tuples == 100);
    CHECK(blocked > 60);
  }
}

TEST_CASE("space: equal seeds give equal samples", "[schedule]") {
  const ScheduleSpace space = make_space({Op::kSpmm, 256, {5000, 5000}});
  Random first(9), second(9);
  for (int n = 0; n < 20; ++n) {
    const Stratum stratum = kStrata[static_cast<size_t>(n) % kStrata.size()];
    CHECK(space.sample_stratified(first, stratum) == space.sample_stratified(second, stratum));
  }
}

TEST_CASE("space: neighbours are distinct members and never the point itself", "[schedule]") {
  Random random(4);
  for (const Shape& shape : shapes()) {
    const ScheduleSpace space = make_space(shape);
    for (int n = 0; n < 5; ++n) {
      const SuperSchedule from = space.sample_stratified(random, kStrata[random.below(kStrata.size())]);
      std::set<std::string> texts{to_text(from)};
      for (const SuperSchedule& point : space.neighbours(from)) {
        check_member(space, point);
        CHECK(texts.insert(to_text(point)).second);
      }
    }
  }
}

TEST_CASE("space: neighbours of CSR change one thing each", "[schedule]") {
  const ScheduleSpace space = make_space({Op::kSpmm, 256, {5000, 5000}});
  const SuperSchedule csr = parse("spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,32 x4");
  std::set<std::string> found;
  for (const SuperSchedule& point : space.neighbours(csr)) found.insert(to_text(point));
  for (const char* wanted : {
           "spmm f32 J=256 | A: i:C k:C | loop: i k j | par: i dynamic,32 x4",
           "spmm f32 J=256 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 j | par: i1 dynamic,32 x4",
           "spmm f32 J=256 | A: i1:U i0:U k:C [i/8] | loop: i1 i0 k j | par: i1 dynamic,32 x4",
           "spmm f32 J=256 | A: k1:U i:U k0:C [k/4096] | loop: k1 i k0 j | par: i dynamic,32 x4",
           "spmm f32 J=256 | A: k:U i:C | loop: k i j | par: i dynamic,32 x4",
           "spmm f32 J=256 | A: i:U k:C | loop: k i j | par: i dynamic,32 x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i dynamic,32 x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: k dynamic,32 x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: serial",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i balanced x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i static x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,64 x4",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,32 x2",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,32 x4 | unroll 2",
           "spmm f32 J=256 | A: i:U k:C | loop: i k j | par: i dynamic,32 x4 | prefetch 4",
       }) {
    INFO(wanted);
    CHECK(found.count(wanted) == 1);
  }
}

TEST_CASE("space: moves lead from CSR to SELL-C-sigma and back", "[schedule]") {
  const ScheduleSpace space = make_space({Op::kSpmv, 1, {5000, 5000}});
  std::vector<const char*> path{
      "spmv f32 | A: i:U k:C | loop: i k | par: i static x4",
      "spmv f32 | A: i1:U i0:U k:C [i/8] | loop: i1 i0 k | par: i1 static x4",
      "spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 i0 k | par: i1 static x4",
      "spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 k i0 | par: i1 static x4",
      "spmv f32 | A: i1:U i0:U k:L [i/8 sort:624] | loop: i1 k i0 | par: i1 static x4",
  };
  for (int direction = 0; direction < 2; ++direction) {
    for (size_t step = 0; step + 1 < path.size(); ++step) {
      CAPTURE(path[step], path[step + 1]);
      const std::vector<SuperSchedule> next = space.neighbours(parse(path[step]));
      CHECK(std::find(next.begin(), next.end(), parse(path[step + 1])) != next.end());
    }
    std::reverse(path.begin(), path.end());
  }
}

TEST_CASE("space: structured points are distinct members that start with CSR", "[schedule]") {
  for (const Shape& shape : shapes()) {
    const ScheduleSpace space = make_space(shape);
    const std::vector<SuperSchedule> points = space.enumerate_structured();
    REQUIRE_FALSE(points.empty());
    CHECK(points[0] == csr_point(space.problem(), 4));
    std::set<std::string> texts;
    for (const SuperSchedule& point : points) {
      check_member(space, point);
      CHECK(texts.insert(to_text(point)).second);
    }
  }
}

TEST_CASE("space: structured points hold the formats known to work", "[schedule]") {
  const auto texts = [](const Shape& shape) {
    std::set<std::string> result;
    for (const SuperSchedule& point : make_space(shape).enumerate_structured()) result.insert(to_text(point));
    return result;
  };
  const std::set<std::string> spmm = texts({Op::kSpmm, 256, {50000, 50000}});
  CHECK(spmm.size() > 200);
  CHECK(spmm.count(
      "spmm f32 J=256 | A: i1:U k:C i0:U [i/6] | loop: i1 j1 k i0 j0 [j/32] | par: i1 balanced x4"));
  CHECK(
      spmm.count("spmm f32 J=256 | A: i:U k:C | loop: i j1 k j0 [j/128] | par: i balanced x4 | prefetch 4"));
  CHECK(spmm.count("spmm f32 J=256 | A: k1:U i:C k0:C [k/4096] | loop: k1 i k0 j | par: i static x4"));
  const std::set<std::string> spmv = texts({Op::kSpmv, 1, {50000, 50000}});
  CHECK(spmv.size() > 200);
  CHECK(spmv.count("spmv f32 | A: i1:U k1:C i0:U k0:U [i/3 k/3] | loop: i1 k1 i0 k0 | par: i1 static x4"));
  CHECK(spmv.count(
      "spmv f32 | A: i1:U i0:U k:L [i/8 sort:968] | loop: i1 k i0 | par: i1 static x4"));  // 13 a thread
  CHECK(
      spmv.count("spmv f32 | A: i1:U k1:C k0:C i0:S [i/32768 k/32768] | loop: i1 k1 k0 i0 | par: i1 "
                 "dynamic,1 x4"));
  const std::set<std::string> mttkrp = texts({Op::kMttkrp, 16, {5000, 5000, 5000}});
  CHECK(mttkrp.size() > 100);
  CHECK(mttkrp.count("mttkrp f32 J=16 | A: k:C l:C i:C | loop: k l i j | par: k static x4"));
  CHECK(
      mttkrp.count("mttkrp f32 J=16 | A: i1:C k1:S l1:S i0:C k0:S l0:S [i/64 k/64 l/64] | loop: i1 k1 l1 i0 "
                   "k0 l0 j | par: "
                   "i1 balanced x4"));
}

TEST_CASE("space: one thread means serial points only", "[schedule]") {
  Random random(6);
  const ScheduleSpace space({Op::kSpmm, ValueType::kF32, 64}, {500, 500}, {1, 20, INT64_MAX});
  for (const SuperSchedule& point : space.enumerate_structured()) CHECK(point.compute.parallel == -1);
  for (int n = 0; n < 50; ++n) CHECK(space.sample_uniform(random).compute.parallel == -1);
}

TEST_CASE("space: a problem that does not fit the operand is refused", "[schedule]") {
  CHECK_THROWS_AS(ScheduleSpace({Op::kMttkrp, ValueType::kF32, 16}, {5, 5}, {}), UsageError);
  CHECK_THROWS_AS(ScheduleSpace({Op::kSpmm, ValueType::kF32, 0}, {5, 5}, {}), UsageError);
}

namespace {

/// All kinds of points that a space hands out.
std::vector<SuperSchedule> some_of_all(const ScheduleSpace& space, Random& random) {
  std::vector<SuperSchedule> points = space.enumerate_structured();
  for (const Stratum stratum : kStrata)
    for (int n = 0; n < 20; ++n) points.push_back(space.sample_stratified(random, stratum));
  for (size_t n = 0; n < points.size() && n < 400; n += 40)
    for (SuperSchedule& next : space.neighbours(SuperSchedule(points[n]))) points.push_back(std::move(next));
  return points;
}

}  // namespace

TEST_CASE("space: where only formats vary, each has its default schedule", "[schedule]") {
  Random random(5);
  for (const Shape& shape : shapes()) {
    const ScheduleSpace space({shape.op, ValueType::kF32, shape.rhs}, shape.dims,
                              {4, 20, INT64_MAX, Subspace::kFormat});
    std::set<std::string> formats, points;
    for (const SuperSchedule& point : some_of_all(space, random)) {
      check_member(space, point);
      CHECK(default_point(point.problem, point.format, 4) == point);
      formats.insert(to_text(point.format, shape.op));
      points.insert(to_text(point));
    }
    CHECK(formats.size() == points.size());
    if (*std::min_element(shape.dims.begin(), shape.dims.end()) > 100) CHECK(formats.size() > 20);
    const SuperSchedule csr = csr_point(space.problem(), 4);
    CHECK(default_point(csr.problem, csr.format, 4) == csr);
  }
}

TEST_CASE("space: where only schedules vary, every format is that of fixed_csr", "[schedule]") {
  Random random(6);
  for (const Shape& shape : shapes()) {
    const ScheduleSpace space({shape.op, ValueType::kF32, shape.rhs}, shape.dims,
                              {4, 20, INT64_MAX, Subspace::kSchedule});
    const SuperSchedule csr = csr_point(space.problem(), 4);
    std::set<std::string> points;
    for (const SuperSchedule& point : some_of_all(space, random)) {
      check_member(space, point);
      CHECK(point.format == csr.format);
      points.insert(to_text(point));
    }
    CHECK(points.count(to_text(csr)) == 1);
    if (*std::min_element(shape.dims.begin(), shape.dims.end()) > 100) CHECK(points.size() > 20);
  }
}

TEST_CASE("space: a default schedule hands out as many rows as fixed_csr does", "[schedule]") {
  const Problem spmv{Op::kSpmv, ValueType::kF32, 1}, spmm{Op::kSpmm, ValueType::kF32, 64};
  const auto text = [](const Problem& problem, const FormatSchedule& format) {
    return to_text(default_point(problem, format, 2).value());
  };
  CHECK(text(spmv, format_from_levels("a1:U b:C a0:U", {4, 1, 1})).find("i1 dynamic,32 x2") !=
        std::string::npos);
  CHECK(text(spmm, format_from_levels("a1:U b1:C a0:U b0:U", {3, 3, 1})).find("i1 dynamic,8 x2") !=
        std::string::npos);
  CHECK(text(spmm, format_from_levels("b:U a:C")).find("i dynamic,32 x2") != std::string::npos);
  CHECK(text(spmv, format_from_levels("a:C b:S")).find("i balanced x2") != std::string::npos);
}

TEST_CASE("space: clustered rows that share lines of the result stay in a window of their thread",
          "[schedule]") {
  const auto window = [](const std::string& problem, int64_t num_rows, int threads) {
    const bool is_spmv = problem.starts_with("spmv");
    const std::string point =
        problem + (is_spmv ? " | A: i:U k:C | loop: i k" : " | A: i:U k:C | loop: i k j") + " | par: serial";
    return cluster_window(parse(point).problem, num_rows, threads);
  };
  CHECK(window("spmv f32", 62032, 2) == 31040);
  CHECK(window("spmv f64", 1000, 4) == 256);
  CHECK(window("spmm f32 J=8", 1000, 2) == 512);
  // Alone, in one window, and where a row of the result has lines of its own.
  CHECK(window("spmv f32", 1000, 1) == 0);
  CHECK(window("spmv f32", 60, 2) == 0);
  CHECK(window("spmm f32 J=16", 1000, 2) == 0);
  CHECK(cluster_window({Op::kSddmm, ValueType::kF32, 4}, 1000, 2) == 0);

  // Sorted in parts of a thread's rows, as few as are no larger than wanted.
  const auto sorted = [](const Problem& problem, int64_t num_rows, int threads, int64_t wanted,
                         int32_t slice) {
    const ScheduleSpace space(problem, {num_rows, num_rows}, {.max_threads = threads});
    SuperSchedule point =
        default_point(problem, format_from_levels("a1:U a0:U b:L", {slice, 1, 1}), threads).value();
    point.format.sort_window = wanted;
    return space.repaired(point).value().format.sort_window;
  };
  const Problem spmv{Op::kSpmv, ValueType::kF32, 1};
  CHECK(sorted(spmv, 1107, 2, 1107, 32) == 544);  // 17 of 35 slices
  CHECK(sorted(spmv, 1107, 2, 384, 32) == 288);
  CHECK(sorted(spmv, 1107, 2, 560, 16) == 560);
  CHECK(sorted(spmv, 200, 2, 4096, 15) == 105);
  CHECK(sorted(spmv, 30, 4, 4096, 16) == 16);
  CHECK(sorted(spmv, 1'000'000, 2, 4096, 8) == 4072);  // of 123
  CHECK(sorted(spmv, 1107, 1, 384, 32) == 384);
  CHECK(sorted({Op::kSpmm, ValueType::kF32, 16}, 1107, 2, 2048, 32) == 1120);

  const auto clustered_text = [](const std::string& text, int64_t in) {
    return to_text(clustered(parse(text), in));
  };
  CHECK(clustered_text("spmv f32 | A: i1:U i0:U k:L [i/8 sort:62032] | loop: i1 k i0 | par: i1 static x2",
                       31040) ==
        "spmv f32 | A: i1:U i0:U k:L [i/8 clustered:31040 sort:31040] | loop: i1 k i0 | par: i1 static x2");
  CHECK(
      clustered_text("spmv f64 | A: i1:U i0:U k:L [i/3 sort:999] | loop: i1 k i0 | par: i1 static x4", 256) ==
      "spmv f64 | A: i1:U i0:U k:L [i/3 clustered:256 sort:255] | loop: i1 k i0 | par: i1 static x4");
  CHECK(clustered_text("spmv f32 | A: i1:U i0:U k:L [i/8 sort:4096] | loop: i1 k i0 | par: serial", 0) ==
        "spmv f32 | A: i1:U i0:U k:L [i/8 clustered sort:4096] | loop: i1 k i0 | par: serial");
  CHECK(to_text(arranged(parse("spmv f32 | A: i:U k:C [clustered:64] | loop: i k | par: serial"),
                         Arrangement::kGiven)) == "spmv f32 | A: i:U k:C | loop: i k | par: serial");
}
