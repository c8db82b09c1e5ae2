// What many records say together: geometric means, and our plans against the best peer of each matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/bench/record.hpp"

namespace waco::bench {

/// A matrix on which another contestant was clearly ahead of our plan.
struct Loss {
  std::string matrix;
  std::string to;
  double speedup = 0;  ///< ours over that contestant's, below 1
};

/// One contestant over all matrices on which it was verified and timed.
struct Standing {
  std::string name;
  int num_matrices = 0;
  int num_wrong = 0;          ///< matrices on which it failed or answered wrongly
  double over_fixed_csr = 0;  ///< geometric means; 0 without matrices
  double over_balanced_csr = 0;
  double waco_over_it = 0;    ///< our plan against it
  double share_of_bound = 0;  ///< Entry::bound_share()
  int num_best = 0;           ///< matrices on which it is the fastest of all peers
  int num_censored = 0;       ///< of num_matrices, those on which it got a few calls only
};

/// All records of one problem and thread count.
struct Summary {
  schedule::Problem problem;
  int threads = 1;
  int num_matrices = 0;
  std::vector<Standing> standings;  ///< in order of appearance
  int num_with_peers = 0;           ///< matrices with at least one timed peer
  int num_rough = 0;                ///< of these, those whose best peer was censored
  double best_peer_over_fixed_csr = 0;
  double waco_over_best_peer = 0;    ///< geometric mean; 0 without peers
  std::vector<Loss> losses;          ///< ours below kClearLoss of the best peer, worst first
  std::vector<Loss> behind_csr;      ///< likewise of fixed_csr or balanced_csr
  std::vector<std::string> remarks;  ///< remarks_of() these records
  std::vector<std::string> caveats;  ///< caveats_of() these records
};

/// Below this share of the other's speed a matrix counts as lost.
inline constexpr double kClearLoss = 0.95;

/// What a reader of the libraries' times should know, a line a library: "mkl: ..."; in order of appearance.
std::vector<std::string> remarks_of(const std::vector<const Record*>& records);

/// What keeps records from being compared as equals: warnings, such as of a busy machine, with the first of
/// them; plans found with different efforts or by different models; different processors or compilers.
std::vector<std::string> caveats_of(const std::vector<const Record*>& records);

/// A line for each contestant that was censored: "alpha: over 8 times slower than fixed_csr on 2 of 9
/// matrices, where a few calls are its time".
std::vector<std::string> censored_notes(const Summary& summary);

/// Behind the number of matrices of waco_over_best_peer: how many of its figures are rough; empty without
/// any.
std::string rough_note(const Summary& summary);

/// Records in groups of equal problem and threads, in order of appearance.
std::vector<std::vector<const Record*>> by_problem(const std::vector<Record>& records);

/// `group` holds records of one problem, at least one.
Summary summarize(const std::vector<const Record*>& group);

}  // namespace waco::bench
