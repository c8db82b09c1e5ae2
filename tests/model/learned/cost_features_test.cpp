// Terms of the closed-form model as inputs: finite for any pattern, neutral for fixed_csr itself.
#include "waco/model/learned/cost_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "../../checksum.hpp"
#include "../patterns.hpp"
#include "../server_ceilings.hpp"
#include "waco/schedule/space.hpp"

using namespace waco;
using model::CostTerms;

namespace {

float feature(const std::vector<float>& features, const std::string& name) {
  const auto& names = model::cost_feature_names();
  const auto at = std::find(names.begin(), names.end(), name);
  REQUIRE(at != names.end());
  return features[static_cast<size_t>(at - names.begin())];
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

}  // namespace

TEST_CASE("cost_features: fixed_csr is neutral against itself", "[model]") {
  const auto matrix = test::uniform(2000, 2000, 20000, 1);
  model::ClosedFormModel closed(matrix, test::server_ceilings(2));
  const CostTerms csr =
      closed.terms(schedule::csr_point({schedule::Op::kSpmv, schedule::ValueType::kF32, 1}, 2));
  const auto features = cost_features(csr, csr);
  CHECK(feature(features, "total_to_csr") == 0);
  CHECK(features[0] == 0);
  CHECK(feature(features, "moved_to_csr") == 0);
  CHECK(feature(features, "flops_to_csr") == 0);
  CHECK(feature(features, "threads_to_csr") == 0);
  CHECK(feature(features, "fill") == 0);
}

TEST_CASE("cost_features: fill and cost of a point are on a log scale", "[model]") {
  const auto matrix = test::uniform(2000, 2000, 8000, 5);
  model::ClosedFormModel closed(matrix, test::server_ceilings(2));
  const CostTerms csr =
      closed.terms(schedule::csr_point({schedule::Op::kSpmv, schedule::ValueType::kF32, 1}, 2));
  const CostTerms dense =
      closed.terms(schedule::parse("spmv f32 | A: i:U k1:C k0:U [k/1024] | loop: i k1 k0 | par: serial"));
  const auto features = cost_features(dense, csr);
  CHECK(feature(features, "total_to_csr") == Approx(std::log2(dense.total_ns / csr.total_ns)));
  CHECK(feature(features, "fill") == Approx(std::log2(dense.fill)));
  CHECK(feature(features, "threads") == 0);
}

TEST_CASE("cost_features: finite for every sampled point, on empty and tiny patterns too", "[model]") {
  Random random(3);
  for (const auto& matrix :
       {test::from_entries(5, 7, {}), test::from_entries(1, 1, {{0, 0}}),
        test::from_entries(1, 900, {{0, 3}, {0, 800}}), test::uniform(300, 200, 900, 2)}) {
    for (const auto& [op, rhs] : {std::pair{schedule::Op::kSpmv, 1}, std::pair{schedule::Op::kSpmm, 64}}) {
      const schedule::ScheduleSpace space({op, schedule::ValueType::kF32, rhs}, matrix.dims,
                                          {2, 20, INT64_MAX});
      model::ClosedFormModel closed(matrix, test::server_ceilings(2));
      const CostTerms csr = closed.terms(schedule::csr_point(space.problem(), 2));
      for (int n = 0; n < 100; ++n) {
        const auto point = space.sample_stratified(random, schedule::kStrata[random.below(6)]);
        INFO(to_text(point));
        REQUIRE(all_finite(cost_features(closed.terms(point), csr)));
      }
    }
  }
}

TEST_CASE("cost_features: impossible terms still give finite numbers", "[model]") {
  CostTerms broken;
  broken.total_ns = std::numeric_limits<double>::infinity();
  broken.memory_ns = std::numeric_limits<double>::quiet_NaN();
  broken.fill = 0;
  CHECK(all_finite(cost_features(broken, CostTerms{})));
  CHECK(all_finite(cost_features(CostTerms{}, broken)));
}

// Learned models know costs by these numbers. Where others are right, raise kClosedFormVersion, and
// kTermsVersion, too, unless the old models judge by them as well as before; then write them here.
TEST_CASE("cost_features: the numbers are those of their version", "[model]") {
  REQUIRE(model::kTermsVersion == 1);
  REQUIRE(model::kClosedFormVersion == 7);
  struct Pinned {
    const char* point;
    double mesh, graph;
  };
  const Pinned all_pinned[] = {
      {"spmv f32 | A: i:U k:C | loop: i k | par: i balanced x2", -94.909, -92.778},
      {"spmv f32 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: i1 static x2", -98.620, -93.155},
      {"spmm f64 J=32 | A: i:U k:C | loop: i k j | par: i dynamic,16 x2", -50.899, -42.697},
      {"spmm f32 J=64 | A: i1:U k1:C i0:U k0:U [i/3 k/3] | loop: i1 k1 i0 k0 j | par: i1 static x2", -69.333,
       -35.250},
      {"sddmm f32 K=64 | A: i:U j:C | loop: i j k | par: i static x2", -66.085, -60.300},
  };
  const auto mesh = test::fem(600, 3), graph = test::power_law(2000, 20000, 5);
  for (const Pinned& pinned : all_pinned) {
    const auto point = schedule::parse(pinned.point);
    const auto check = [&](const matrix::SparseTensor& tensor, double expected) {
      model::ClosedFormModel closed(tensor, test::server_ceilings(2));
      const double found = test::checksum(
          cost_features(closed.terms(point), closed.terms(schedule::csr_point(point.problem, 2))));
      INFO(fmt::format("{} on {} rows: {:.3f}", pinned.point, tensor.dims[0], found));
      CHECK(found == Approx(expected).margin(0.002));
    };
    check(mesh, pinned.mesh);
    check(graph, pinned.graph);
  }
}
