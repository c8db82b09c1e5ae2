// Names for likeness, and selection by quotas.
#include "waco/search/diversity.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>

#include "waco/schedule/loop_nest.hpp"

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

/// Whether level `l` is the inner part of a split whose parts follow each other, so that the nonzeros are
/// stored in the order of the whole index: splits of tuples, and of uncompressed indices that are not slices.
bool splits_nothing(const schedule::FormatSchedule& format, size_t l) {
  const auto& levels = format.levels;
  if (l == 0 || !levels[l].var.inner || levels[l - 1].var.index != levels[l].var.index) return false;
  if (levels[l].kind == LevelKind::kSingleton || levels[l].kind == LevelKind::kCompressed) return true;
  const bool slices = l + 1 < levels.size() && is_lane_kind(levels[l + 1].kind);
  return levels[l].kind == LevelKind::kUncompressed && levels[l - 1].kind == LevelKind::kUncompressed &&
         !slices;
}

struct Share {
  Kind kind;
  double share;  ///< of the results
};

std::vector<Share> shares_of(schedule::Op op) {
  switch (op) {
    case schedule::Op::kSpmv:
      return {{Kind::kRows, 0.2}, {Kind::kBlocks, 0.2}, {Kind::kSlices, 0.3}};
    case schedule::Op::kMttkrp:
      return {{Kind::kRows, 0.4}, {Kind::kOther, 0.3}};
    default:
      return {{Kind::kRows, 0.3}, {Kind::kBlocks, 0.2}, {Kind::kOther, 0.1}};
  }
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

Kind kind_of(const SuperSchedule& point) {
  const auto& levels = point.format.levels;
  bool whole = true, small_blocks = true, tuples = false;
  for (const auto& level : levels) {
    if (is_lane_kind(level.kind)) return Kind::kSlices;
    tuples = tuples || level.kind == LevelKind::kSingleton;
    if (point.format.split[level.var.index] == 1) continue;
    whole = false;
    small_blocks = small_blocks && point.format.split[level.var.index] <= schedule::kMaxUnrolledSplit &&
                   (!level.var.inner || level.kind == LevelKind::kUncompressed);
  }
  if (tuples) return Kind::kOther;
  if (whole)
    return schedule::mode_is_output(point.problem.op, levels[0].var.index) ? Kind::kRows : Kind::kOther;
  return small_blocks ? Kind::kBlocks : Kind::kOther;
}

Kinship kinship(const SuperSchedule& point) {
  Kinship kin;
  const auto& levels = point.format.levels;
  std::array<bool, 3> idle{};  // split without an effect on the order of storage
  for (size_t l = 0; l < levels.size(); l++) {
    if (splits_nothing(point.format, l)) idle[levels[l].var.index] = true;
  }
  for (const auto& level : levels) {
    if (idle[level.var.index] && level.var.inner) continue;
    append(kin.family, level.var);
    kin.family += static_cast<char>('0' + static_cast<int>(level.kind));
  }
  kin.format = kin.family;
  for (size_t m = 0; m < idle.size(); m++)
    kin.format += '/' + std::to_string(idle[m] ? 1 : point.format.split[m]);
  // Windows of about the same length sort alike.
  kin.format += " sort " + std::to_string(std::bit_width(static_cast<uint64_t>(point.format.sort_window)));
  kin.family += point.format.sort_window > 1 ? " sorted |" : " |";
  for (const Var var : point.compute.loops) {
    const bool skipped = var.inner && var.index < 3 && idle[var.index];
    if (!skipped) append(kin.family, var);
  }
  kin.structure = kin.format + " |";
  for (const Var var : point.compute.loops) append(kin.structure, var);
  kin.structure +=
      '/' + std::to_string(point.compute.dense_tile) + " u" + std::to_string(point.compute.unroll);
  return kin;
}

std::vector<Scored> select_diverse(Pool& pool, int num_results) {
  const std::vector<size_t> order = pool.by_cost();
  const auto best =
      std::find_if(order.begin(), order.end(), [&](size_t place) { return pool.feasible(place); });
  if (best == order.end()) return {};
  const double worth = kWorthMeasuring * pool.scored()[*best].cost;
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
    if (pool.scored()[place].cost > worth) return false;
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
  for (const auto& [kind, share] : shares_of(pool.scored()[*best].point.problem.op)) {
    const auto quota = static_cast<size_t>(share * static_cast<double>(wanted) + 0.5);
    fill(pool, order, std::min(wanted, chosen.size() + quota), chosen, taken, [&, kind = kind](size_t place) {
      return kind_of(pool.scored()[place].point) == kind && is_new_kind(place);
    });
  }
  fill(pool, order, wanted, chosen, taken, is_new_kind);
  fill(pool, order, wanted, chosen, taken, [&](size_t place) {
    if (!pool.feasible(place) || !policies.insert(policy_of(place)).second) return false;
    return families[kinship(pool.scored()[place].point).family]++ < 2 * per_family;
  });
  fill(pool, order, wanted, chosen, taken, [](size_t) { return true; });
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](size_t a, size_t b) { return pool.scored()[a].cost < pool.scored()[b].cost; });
  std::vector<Scored> results;
  for (const size_t place : chosen) results.push_back(pool.scored()[place]);
  return results;
}

}  // namespace waco::search
