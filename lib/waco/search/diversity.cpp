// Selection by quotas.
#include "waco/search/diversity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "waco/schedule/kinship.hpp"

namespace waco::search {

using schedule::FormatKind;

namespace {

// A different family that is predicted to be this much slower than the best is not worth a measurement.
constexpr double kWorthMeasuring = 4;

// Of SpMV, tiles with coordinates and the like: most matrices have no use for them, large graphs have.
constexpr double kOthersWorthMeasuring = 2;

constexpr size_t kPerFormat = 2;

struct Share {
  FormatKind kind;
  double share;  ///< of the results
  double worth = kWorthMeasuring;
};

std::vector<Share> shares_of(schedule::Op op) {
  switch (op) {
    case schedule::Op::kSpmv:
      return {{FormatKind::kRows, 0.2},
              {FormatKind::kBlocks, 0.2},
              {FormatKind::kSlices, 0.3},
              {FormatKind::kOther, 0.1, kOthersWorthMeasuring}};
    case schedule::Op::kMttkrp:
      return {{FormatKind::kRows, 0.4}, {FormatKind::kOther, 0.3}};
    default:
      return {{FormatKind::kRows, 0.3}, {FormatKind::kBlocks, 0.2}, {FormatKind::kOther, 0.1}};
  }
}

/// The points taken so far, and how many of what they are.
class Selection {
 public:
  Selection(Pool& pool, size_t wanted)
      : pool_(pool), per_family_(std::max<size_t>(1, (wanted * 2 + 4) / 5)) {}

  const std::vector<size_t>& places() const { return places_; }

  /// Takes the cheapest feasible points that `admits` until there are `most`. Others are not asked
  /// whether they are feasible: that may be slow, and who answers may count them.
  template <typename Admits>
  void fill(std::span<const size_t> order, size_t most, Admits admits) {
    for (const size_t place : order) {
      if (places_.size() >= most) return;
      if (!taken_.contains(place) && admits(place) && pool_.feasible(place)) take(place);
    }
  }

  /// Whether its structure is not taken yet, and there is room in its format and its family.
  bool is_new_structure(size_t place) const {
    const schedule::Kinship& kin = pool_.kinship(place);
    return !structures_.contains(kin.structure) && count(formats_, kin.format) < kPerFormat &&
           count(families_, kin.family) < per_family_;
  }

  /// Whether its structure is not taken yet with its policy, and its family has not twice its share.
  bool is_new_policy(size_t place) const {
    return !policies_.contains(policy_of(place)) &&
           count(families_, pool_.kinship(place).family) < 2 * per_family_;
  }

 private:
  using Counts = std::map<std::string, size_t>;

  /// All that counts.
  void take(size_t place) {
    const schedule::Kinship& kin = pool_.kinship(place);
    taken_.insert(place);
    places_.push_back(place);
    structures_.insert(kin.structure);
    policies_.insert(policy_of(place));
    ++formats_[kin.format];
    ++families_[kin.family];
  }

  static size_t count(const Counts& counts, const std::string& name) {
    const auto known = counts.find(name);
    return known == counts.end() ? 0 : known->second;
  }

  std::string policy_of(size_t place) const {
    const auto& compute = pool_.scored()[place].point.compute;
    return pool_.kinship(place).structure + " " + std::to_string(static_cast<int>(compute.policy)) +
           (compute.parallel < 0 ? "s" : "p") + (compute.prefetch > 0 ? "f" : "");
  }

  Pool& pool_;
  const size_t per_family_;
  std::vector<size_t> places_;  ///< as they were taken
  std::set<size_t> taken_;
  Counts formats_, families_;
  std::set<std::string> structures_, policies_;
};

}  // namespace

std::vector<Scored> select_diverse(Pool& pool, int num_results) {
  const std::vector<size_t> order = pool.by_cost();
  const auto best =
      std::find_if(order.begin(), order.end(), [&](size_t place) { return pool.feasible(place); });
  if (best == order.end()) return {};
  const double least = pool.scored()[*best].cost;
  const auto worth = [&](double times) {
    return std::span(order.begin(), std::find_if(best, order.end(), [&](size_t place) {
                       return pool.scored()[place].cost > times * least;
                     }));
  };
  const auto wanted = static_cast<size_t>(std::max(0, num_results));
  Selection selection(pool, wanted);
  const auto is_new_structure = [&](size_t place) { return selection.is_new_structure(place); };
  for (const auto& [kind, share, times] : shares_of(pool.scored()[*best].point.problem.op)) {
    const auto quota = static_cast<size_t>(share * static_cast<double>(wanted) + 0.5);
    const auto is_of_kind = [&, kind = kind](size_t place) {
      return kind_of(pool.scored()[place].point) == kind;
    };
    selection.fill(worth(times), std::min(wanted, selection.places().size() + quota),
                   [&](size_t place) { return is_of_kind(place) && is_new_structure(place); });
  }
  selection.fill(worth(kWorthMeasuring), wanted, is_new_structure);
  // All that are left are asked whether they are feasible.
  selection.fill(order, wanted,
                 [&](size_t place) { return pool.feasible(place) && selection.is_new_policy(place); });
  selection.fill(order, wanted, [](size_t) { return true; });
  std::vector<size_t> chosen = selection.places();
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](size_t a, size_t b) { return pool.scored()[a].cost < pool.scored()[b].cost; });
  std::vector<Scored> results;
  for (const size_t place : chosen) results.push_back(pool.scored()[place]);
  return results;
}

}  // namespace waco::search
