// Gaussian process regression (Rasmussen, Williams: Gaussian Processes for Machine Learning, algorithm 2.1),
// a row of the factor for each point that is added.
#include "waco/tune/prediction_errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace waco::tune {

using schedule::SuperSchedule;

namespace {

// Deviations of an error's parts, and the weights of differences below: rounded from what is likeliest for
// the learned models' errors on 24 real matrices and 7 tensors, about 120 points measured on each (Emerald
// Rapids, all ops). Half or twice of some of them changed which neighbours were found by a tenth of what
// these gain.
constexpr double kOffset = 1.0;      // of all points, as predictions are of another unit
constexpr double kOfOrder = 0.2;     // of all with rows in the same order
constexpr double kOfFormat = 0.3;    // of all that store alike
constexpr double kOfSchedule = 0.1;  // of all whose loops run alike
constexpr double kOfBoth = 0.15;
constexpr double kNoise = 0.07;  // of a measurement

double square(double x) {
  return x * x;
}

double log2_or_0(int64_t size) {
  return size > 1 ? std::log2(static_cast<double>(size)) : 0;
}

}  // namespace

PredictionErrors::Prospect::Prospect(const SuperSchedule& point) {
  const schedule::FormatSchedule& format = point.format;
  const schedule::ComputeSchedule& compute = point.compute;
  sizes_ = {log2_or_0(format.split[0]),       log2_or_0(format.split[1]),    log2_or_0(format.split[2]),
            log2_or_0(format.sort_window),    log2_or_0(compute.dense_tile), log2_or_0(compute.unroll),
            compute.prefetch > 0 ? 1.0 : 0.0, compute.stream ? 1.0 : 0.0,    log2_or_0(compute.chunk)};
  const auto name_of = [](schedule::Var var) {
    return static_cast<char>('a' + 2 * var.index + (var.inner ? 1 : 0));
  };
  std::array<char, 6> kinds{};  // by variable
  for (const schedule::Level& level : format.levels) {
    order_ += name_of(level.var);
    kinds[static_cast<size_t>(name_of(level.var) - 'a')] = schedule::kind_letter(level.kind);
  }
  kinds_.assign(kinds.begin(), kinds.end());
  for (const schedule::Var var : compute.loops) loops_ += name_of(var);
  parallel_ = compute.parallel < 0 ? -1 : loops_[static_cast<size_t>(compute.parallel)];
  policy_ = static_cast<int>(compute.policy);
  arrangement_ = format.arrangement;
}

double PredictionErrors::covariance(const Prospect& a, const Prospect& b) {
  const auto apart = [&](size_t size) { return std::abs(a.sizes_[size] - b.sizes_[size]); };
  const double formats = 0.3 * (apart(0) + apart(1) + apart(2)) + 0.02 * apart(3) +
                         (a.order_ != b.order_ ? 0.1 : 0) + (a.kinds_ != b.kinds_ ? 0.25 : 0) +
                         (a.loops_ != b.loops_ ? 0.2 : 0);
  const double schedules = 0.2 * (apart(4) + apart(5)) + 0.3 * apart(6) + 0.5 * apart(7) + 0.1 * apart(8) +
                           (a.parallel_ != b.parallel_ ? 0.3 : 0) + (a.policy_ != b.policy_ ? 0.4 : 0);
  const double order = a.arrangement_ == b.arrangement_ ? square(kOfOrder) : 0;
  return square(kOffset) + order + square(kOfFormat) * std::exp(-formats) +
         square(kOfSchedule) * std::exp(-schedules) + square(kOfBoth) * std::exp(-formats - schedules);
}

/// Forward substitution, from where it was left.
void PredictionErrors::whiten(Prospect& point) const {
  std::vector<double>& row = point.whitened_;
  for (size_t n = row.size(); n < points_.size(); ++n) {
    const double known = std::inner_product(row.begin(), row.end(), points_[n].whitened_.begin(), 0.0);
    row.push_back((covariance(points_[n], point) - known) / diagonal_[n]);
  }
}

PredictionErrors::Estimate PredictionErrors::at(Prospect& point) const {
  whiten(point);
  const std::vector<double>& row = point.whitened_;
  const double explained = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  return {std::inner_product(row.begin(), row.end(), errors_.begin(), 0.0),
          std::sqrt(std::max(0.0, covariance(point, point) - explained))};
}

void PredictionErrors::add(Prospect point, double error) {
  const Estimate expected = at(point);
  diagonal_.push_back(std::sqrt(square(expected.deviation) + square(kNoise)));
  errors_.push_back((error - expected.mean) / diagonal_.back());
  points_.push_back(std::move(point));
}

}  // namespace waco::tune
