// What measurements of some points say about the predictions of others on the same pattern.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "waco/schedule/super_schedule.hpp"

namespace waco::tune {

/// How far a cost model is off on one pattern: a Gaussian process over points. Those that store alike err
/// alike, whatever their loops do, and the other way round. Errors are log2(measured / predicted time).
class PredictionErrors {
 public:
  /// An error expected of a point, and its standard deviation.
  struct Estimate {
    double mean = 0, deviation = 0;
  };

  /// A point whose error is asked for, again and again as others become known.
  class Prospect {
   public:
    explicit Prospect(const schedule::SuperSchedule& point);

   private:
    friend class PredictionErrors;
    std::array<double, 9> sizes_{};  ///< of the choices that are numbers, mostly logarithms
    std::string order_, kinds_, loops_;
    int parallel_ = 0, policy_ = 0;
    schedule::Arrangement arrangement_ = schedule::Arrangement::kGiven;
    std::vector<double> whitened_;  ///< covariances with the points known when it was last asked for
  };

  /// Notes an error that was observed, or one that is only assumed: that narrows down the errors of points
  /// like it, too.
  void add(Prospect point, double error);
  Estimate at(Prospect& point) const;

 private:
  static double covariance(const Prospect& a, const Prospect& b);
  void whiten(Prospect& point) const;

  std::vector<Prospect> points_;  ///< whitened_: the row of the covariances' Cholesky factor
  std::vector<double> diagonal_;  ///< of that factor, which the noise is in
  std::vector<double> errors_;    ///< whitened, too
};

}  // namespace waco::tune
