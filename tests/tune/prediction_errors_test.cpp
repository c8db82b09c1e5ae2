// Errors expected of points, from those of others.
#include "waco/tune/prediction_errors.hpp"

#include <catch2/catch.hpp>

using waco::schedule::parse;
using waco::tune::PredictionErrors;
using Prospect = PredictionErrors::Prospect;

namespace {

const char* const kCsr = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i static x2 | unroll 4";
const char* const kCsrDynamic = "spmm f32 J=32 | A: i:U k:C | loop: i k j | par: i dynamic,64 x2 | unroll 4";
const char* const kBlocks =
    "spmm f32 J=32 | A: i1:U k1:C i0:U k0:U [i/4 k/4] | loop: i1 k1 i0 k0 j | par: i1 static x2";
const char* const kTiles =
    "spmm f32 J=32 | A: i1:U k1:C i0:U k0:C [i/128 k/256] | loop: i1 k1 i0 k0 j | par: i1 static x2";

PredictionErrors::Estimate estimate(const PredictionErrors& errors, const char* text) {
  Prospect prospect(parse(text));
  return errors.at(prospect);
}

}  // namespace

TEST_CASE("prediction errors: none is expected where nothing is known, and any may be", "[tune]") {
  const auto expected = estimate({}, kCsr);
  CHECK(expected.mean == 0);
  CHECK(expected.deviation > 1);
}

TEST_CASE(
    "prediction errors: a point errs as it was seen to, and the more alike another, the more it does too",
    "[tune]") {
  PredictionErrors errors;
  errors.add(Prospect(parse(kCsr)), 0.8);
  errors.add(Prospect(parse(kTiles)), -0.4);
  const auto itself = estimate(errors, kCsr), alike = estimate(errors, kCsrDynamic),
             unlike = estimate(errors, kBlocks);
  CHECK(itself.mean == Approx(0.8).margin(0.05));
  CHECK(itself.deviation < 0.1);
  CHECK(alike.mean > 0.5);
  CHECK(alike.mean < itself.mean);
  CHECK(unlike.mean < alike.mean);
  CHECK(unlike.mean > -0.4);
  CHECK(unlike.deviation > alike.deviation);
  CHECK(alike.deviation > itself.deviation);
}

TEST_CASE("prediction errors: an error of all points alike is that of the others, too", "[tune]") {
  PredictionErrors errors;
  for (const char* text : {kCsr, kCsrDynamic, kTiles}) errors.add(Prospect(parse(text)), 0.6);
  CHECK(estimate(errors, kBlocks).mean == Approx(0.6).margin(0.05));
}

TEST_CASE("prediction errors: noise is averaged out", "[tune]") {
  PredictionErrors errors;
  for (int n = 0; n < 20; ++n) errors.add(Prospect(parse(kCsr)), n % 2 == 0 ? 0.1 : -0.1);
  const auto expected = estimate(errors, kCsr);
  CHECK(expected.mean == Approx(0).margin(0.01));
  CHECK(expected.deviation < 0.03);
}

TEST_CASE("prediction errors: a prospect asked before and after others are known is asked rightly",
          "[tune]") {
  PredictionErrors errors;
  Prospect asked_often(parse(kBlocks));
  for (const auto& [text, error] : {std::pair{kCsr, 0.3}, {kTiles, 0.1}, {kCsrDynamic, -0.2}}) {
    errors.at(asked_often);
    errors.add(Prospect(parse(text)), error);
  }
  CHECK(errors.at(asked_often).mean == estimate(errors, kBlocks).mean);
  CHECK(errors.at(asked_often).deviation == estimate(errors, kBlocks).deviation);
}
