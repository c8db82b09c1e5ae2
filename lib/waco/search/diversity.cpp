// Names for likeness, and selection by quotas.
#include "waco/search/diversity.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace waco::search {

using schedule::LevelKind;
using schedule::SuperSchedule;
using schedule::Var;

namespace {

// A different family that is predicted to be this much slower than the best is not worth a measurement.
constexpr double kWorthMeasuring = 4;

void append(std::string& text, Var var) {
  text += static_cast<char>('a' + var.index);
  text += var.inner ? '0' : '1';
}

/// Takes the cheapest points that `admits` until `results` is full.
template <typename Admits>
void fill(Pool& pool, const std::vector<size_t>& order, size_t wanted, std::vector<size_t>& chosen,
          std::set<size_t>& taken, Admits admits) {
  for (const size_t place : order) {
    if (chosen.size() >= wanted) return;
    if (taken.count(place) != 0 || !admits(place) || !pool.feasible(place)) continue;
    taken.insert(place);
    chosen.push_back(place);
  }
}

}  // namespace

Kinship kinship(const SuperSchedule& point) {
  Kinship kin;
  for (const auto& level : point.format.levels) {
    append(kin.family, level.var);
    kin.family += static_cast<char>('0' + static_cast<int>(level.kind));
  }
  kin.family += point.format.sort_window > 1 ? " sorted |" : " |";
  for (const Var var : point.compute.loops) append(kin.family, var);
  kin.format = schedule::to_text(point.format, point.problem.op);
  kin.structure = kin.format + " |";
  for (const Var var : point.compute.loops) append(kin.structure, var);
  kin.structure +=
      '/' + std::to_string(point.compute.dense_tile) + " u" + std::to_string(point.compute.unroll);
  return kin;
}

std::vector<Scored> select_diverse(Pool& pool, int num_results) {
  const std::vector<size_t> order = pool.by_cost();
  const auto wanted = static_cast<size_t>(std::max(0, num_results));
  const size_t per_family = std::max<size_t>(1, (wanted * 2 + 4) / 5);
  std::vector<size_t> chosen;
  std::set<size_t> taken;
  std::map<std::string, size_t> families, formats;
  std::set<std::string> structures, policies;
  const auto policy_of = [&](size_t place) {
    const auto& compute = pool.scored()[place].point.compute;
    return kinship(pool.scored()[place].point).structure + " " +
           std::to_string(static_cast<int>(compute.policy)) + (compute.parallel < 0 ? "s" : "p") +
           (compute.prefetch > 0 ? "f" : "");
  };
  const auto is_new_kind = [&](size_t place) {
    if (!chosen.empty() && pool.scored()[place].cost > kWorthMeasuring * pool.scored()[chosen[0]].cost)
      return false;
    const Kinship kin = kinship(pool.scored()[place].point);
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
  fill(pool, order, wanted, chosen, taken, is_new_kind);
  fill(pool, order, wanted, chosen, taken,
       [&](size_t place) { return pool.feasible(place) && policies.insert(policy_of(place)).second; });
  fill(pool, order, wanted, chosen, taken, [](size_t) { return true; });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](size_t a, size_t b) { return pool.scored()[a].cost < pool.scored()[b].cost; });
  std::vector<Scored> results;
  for (const size_t place : chosen) results.push_back(pool.scored()[place]);
  return results;
}

}  // namespace waco::search
