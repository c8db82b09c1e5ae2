// Selection by quotas.
#include "waco/search/diversity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>

namespace waco::search {

namespace {

// A different family that is predicted to be this much slower than the best is not worth a measurement.
constexpr double kWorthMeasuring = 4;

// Of SpMV, tiles with coordinates and the like: most matrices have no use for them, large graphs have.
constexpr double kOthersWorthMeasuring = 2;

struct Share {
  Kind kind;
  double share;  ///< of the results
  double worth = kWorthMeasuring;
};

std::vector<Share> shares_of(schedule::Op op) {
  switch (op) {
    case schedule::Op::kSpmv:
      return {{Kind::kRows, 0.2},
              {Kind::kBlocks, 0.2},
              {Kind::kSlices, 0.3},
              {Kind::kOther, 0.1, kOthersWorthMeasuring}};
    case schedule::Op::kMttkrp:
      return {{Kind::kRows, 0.4}, {Kind::kOther, 0.3}};
    default:
      return {{Kind::kRows, 0.3}, {Kind::kBlocks, 0.2}, {Kind::kOther, 0.1}};
  }
}

/// Takes the cheapest points that `admits` until `results` is full.
template <typename Admits>
void fill(Pool& pool, std::span<const size_t> order, size_t wanted, std::vector<size_t>& chosen,
          std::set<size_t>& taken, Admits admits) {
  for (const size_t place : order) {
    if (chosen.size() >= wanted) return;
    if (taken.count(place) != 0 || !admits(place) || !pool.feasible(place)) continue;
    taken.insert(place);
    chosen.push_back(place);
  }
}

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
  const size_t per_family = std::max<size_t>(1, (wanted * 2 + 4) / 5);
  std::vector<size_t> chosen;
  std::set<size_t> taken;
  std::map<std::string, size_t> families, formats;
  std::set<std::string> structures, policies;
  const auto policy_of = [&](size_t place) {
    const auto& compute = pool.scored()[place].point.compute;
    return pool.kinship(place).structure + " " + std::to_string(static_cast<int>(compute.policy)) +
           (compute.parallel < 0 ? "s" : "p") + (compute.prefetch > 0 ? "f" : "");
  };
  const auto is_new_kind = [&](size_t place) {
    const Kinship& kin = pool.kinship(place);
    if (structures.count(kin.structure) != 0 || formats[kin.format] >= 2 ||
        families[kin.family] >= per_family)
      return false;
    if (!pool.feasible(place)) return false;
    structures.insert(kin.structure);
    policies.insert(policy_of(place));
    formats[kin.format]++;
    families[kin.family]++;
    return true;
  };
  for (const auto& [kind, share, times] : shares_of(pool.scored()[*best].point.problem.op)) {
    const auto quota = static_cast<size_t>(share * static_cast<double>(wanted) + 0.5);
    fill(pool, worth(times), std::min(wanted, chosen.size() + quota), chosen, taken,
         [&, kind = kind](size_t place) {
           return kind_of(pool.scored()[place].point) == kind && is_new_kind(place);
         });
  }
  fill(pool, worth(kWorthMeasuring), wanted, chosen, taken, is_new_kind);
  fill(pool, order, wanted, chosen, taken, [&](size_t place) {
    if (!pool.feasible(place) || !policies.insert(policy_of(place)).second) return false;
    return families[pool.kinship(place).family]++ < 2 * per_family;
  });
  fill(pool, order, wanted, chosen, taken, [](size_t) { return true; });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](size_t a, size_t b) { return pool.scored()[a].cost < pool.scored()[b].cost; });
  std::vector<Scored> results;
  for (const size_t place : chosen) results.push_back(pool.scored()[place]);
  return results;
}

}  // namespace waco::search
