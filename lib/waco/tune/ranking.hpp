// Which points to measure: the cheapest, and different, by a learned model or the closed-form one; later the
// neighbours of the best.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/search/named.hpp"
#include "waco/tune/pattern_costs.hpp"
#include "waco/tune/result.hpp"
#include "waco/tune/tune.hpp"

namespace waco::tune {

/// How a search goes about it.
struct Manner {
  size_t num_sure = 1;  ///< first results whose storage is known exactly and within the limits; that of the
                        ///< others is only estimated
  bool may_cluster = true;  ///< rows are clustered in a second search where that seems to pay
  bool sparing = false;     ///< skewed points are looked at only where diagonals are filled very well
  bool cautious = false;    ///< points of families that the learned model has seen little of cost more
  StopToken stop{};         ///< once it stops, only the search that is under way ends
};

class Ranking {
 public:
  /// Keeps references to `tensor` and `options`.
  Ranking(const matrix::SparseTensor& tensor, const TuneOptions& options, int threads,
          model::Ceilings ceilings);

  /// From now on only points that `usable` accepts are found. It is asked once for a point that would be
  /// followed or returned, after the limits.
  void keep_to(search::Feasible usable) { usable_ = std::move(usable); }

  /// The best points of a search over the whole space, cheapest first, of one over clustered rows, and of the
  /// skewed ones. Forgets what earlier calls returned.
  std::vector<Candidate> search(int num_results, int64_t evaluations, const Manner& manner = {});

  /// The best points of a search by the closed-form model alone that search() has not returned: a learned
  /// model may never rank first what it underrates. None where no learned model ranks.
  std::vector<Candidate> second_opinions(size_t num_results, int64_t evaluations);

  /// Neighbours of `points` that neither the last search() nor a call since has returned, the most promising
  /// first: predictions are corrected by what was `measured`, and of those that are in doubt the best is
  /// hoped for.
  std::vector<Candidate> neighbours(const std::vector<schedule::SuperSchedule>& points,
                                    const std::vector<Candidate>& measured, size_t num_results);

  /// Costs and limits for points given by hand: excluded ones become failed candidates that are not to be
  /// measured.
  std::vector<Candidate> judge(const std::vector<schedule::SuperSchedule>& points);

  /// Which limit the format of fixed_csr is beyond; nullopt when it may be tried.
  std::optional<std::string> csr_exclusion() const;
  /// About as many bytes as the point stores.
  double expected_bytes(const schedule::SuperSchedule& point) {
    return costs_of(point.format.arrangement).expected_bytes(point);
  }
  /// Of this machine.
  const model::Ceilings& ceilings() { return given_.closed_form().ceilings(); }
  /// Predicted nanoseconds of fixed_csr.
  double csr_ns() const { return given_.csr_ns(); }

  /// Seconds that the features of the pattern took.
  double features_s() const { return features_s_; }
  /// Seconds that clustering the rows took, which is done once.
  double clustering_s() const { return clustering_s_; }
  /// Points whose cost was predicted.
  int64_t num_ranked() const;

 private:
  /// The matrix with its nonzeros arranged in another way, and what points cost there.
  struct Arranged {
    Arranged(matrix::SparseTensor arranged, schedule::Arrangement arrangement, const TuneOptions& options,
             const schedule::SpaceLimits& limits, model::Ceilings ceilings)
        : tensor(std::move(arranged)), costs(tensor, arrangement, options, limits, std::move(ceilings)) {}
    matrix::SparseTensor tensor;
    PatternCosts costs;
  };

  void consider_clustering(const std::vector<Candidate>& best);
  void consider_skewing(bool is_sparing);
  bool can_be_arranged(schedule::Arrangement arrangement) const;
  bool is_arranged(schedule::Arrangement arrangement) const {
    return arranged_[static_cast<size_t>(arrangement)].has_value();
  }
  void arrange(schedule::Arrangement arrangement, bool has_to_be_worth_it);
  int64_t cluster_window() const;
  schedule::SuperSchedule stored(const schedule::SuperSchedule& point,
                                 schedule::Arrangement arrangement) const;
  PatternCosts& costs_of(schedule::Arrangement arrangement);
  std::vector<Candidate> search_order(schedule::Arrangement arrangement, int num_results, int64_t evaluations,
                                      const Manner& manner);
  std::vector<Candidate> cheaper_twins(const std::vector<Candidate>& given,
                                       const std::vector<Candidate>& clustered, const Manner& manner);
  std::vector<Candidate> skewed_candidates(size_t num_results, size_t num_sure);
  std::vector<double> costs_ns(std::span<const schedule::SuperSchedule> points);
  double clustered_cost() const;
  double handicap(schedule::Arrangement arrangement);
  bool fits_caches();
  bool may_be_tried(const schedule::SuperSchedule& point);
  Candidate candidate(const schedule::SuperSchedule& point, double cost_ns);
  std::optional<std::string> exclusion(const schedule::SuperSchedule& point);

  const matrix::SparseTensor& tensor_;
  const TuneOptions& options_;
  schedule::ScheduleSpace space_;
  PatternCosts given_;  ///< of the rows in the order of the input
  bool considered_clustering_ = false;
  std::array<std::optional<Arranged>, 3> arranged_;  ///< by arrangement, of those that may pay
  std::array<bool, 3> failed_{};                     ///< arrangements that memory did not suffice for
  std::vector<schedule::SuperSchedule>
      compared_;  ///< the best, or CSR's, by which orders of rows are compared
  double clustered_handicap_ = 1;
  Random random_;
  double features_s_ = 0, clustering_s_ = 0;
  std::set<std::string> returned_;  ///< text forms
  search::Feasible usable_;         ///< of keep_to(); null: all are
};

}  // namespace waco::tune
