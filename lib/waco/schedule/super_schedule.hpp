// SuperSchedule: one value for a storage format and a loop schedule together. Semantics:
// docs/superschedule.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waco/schedule/op.hpp"

namespace waco::schedule {

/// How one storage level keeps its coordinates.
enum class LevelKind : uint8_t {
  kUncompressed,  ///< U: nothing stored, one position per coordinate
  kCompressed,    ///< C: pos + crd; followed by S levels it stores one crd per level and distinct tuple
  kSingleton,     ///< S: one crd per parent position; only after C, S, E or L
  kEll,           ///< E: fixed width over all slices, one crd per lane and slot
  kSliced,        ///< L: width per slice (SELL-C-sigma), one crd per lane and slot
};
inline constexpr int kNumLevelKinds = 5;

char kind_letter(LevelKind kind);  ///< 'U', 'C', 'S', 'E' or 'L'
std::optional<LevelKind> parse_level_kind(char letter);

/// E and L: rows side by side in lanes, each lane filled slot after slot.
inline bool is_lane_kind(LevelKind kind) {
  return kind == LevelKind::kEll || kind == LevelKind::kSliced;
}

/// Half of an index: `inner` is index % split, otherwise index / split (the whole index when split is 1).
struct Var {
  int8_t index = 0;
  bool inner = false;
  bool operator==(const Var&) const = default;
};

/// The index's letter, with 1 (outer) or 0 (inner) where the index is divided: "i", "i1", "i0".
std::string var_name(Op op, Var var, bool divided);

struct Level {
  Var var;
  LevelKind kind = LevelKind::kUncompressed;
  bool operator==(const Level&) const = default;
};

/// How the nonzeros of a matrix are arranged before levels take them, in the order of `enum
/// waco_arrangement`.
enum class Arrangement : uint8_t {
  kGiven,
  kClustered,  ///< rows that share columns follow each other
  kSkewed,     ///< columns are counted from the diagonal: k - i + rows - 1 takes the place of k
};

/// "clustered" or "skewed"; "given", which formats leave unsaid.
std::string_view name(Arrangement arrangement);
/// The arrangement that formats name so; nullopt for any other word.
std::optional<Arrangement> parse_arrangement(std::string_view word);

/// How A is stored: an ordered hierarchy of levels over the split sparse indices.
struct FormatSchedule {
  std::array<int32_t, 3> split{1, 1, 1};  ///< per sparse mode; 1 = not split
  std::vector<Level> levels;              ///< outermost first
  int64_t sort_window = 1;  ///< sigma: rows sorted by length inside windows of this many (E, L); 1 = none
  Arrangement arrangement = Arrangement::kGiven;
  int64_t cluster_window = 0;  ///< rows are clustered inside windows of this many; 0 = all of them
  bool operator==(const FormatSchedule&) const = default;

  bool clustered() const { return arrangement == Arrangement::kClustered; }
  bool skewed() const { return arrangement == Arrangement::kSkewed; }
  /// Whether stored rows are the rows in another order.
  bool permutes_rows() const { return clustered() || sort_window > 1; }
};

enum class Policy : uint8_t { kDynamic, kStatic, kBalanced };

/// How the loops run.
struct ComputeSchedule {
  std::vector<Var> loops;  ///< every Var of the format's levels and of the dense index, outermost first;
                           ///< the dense index's innermost Var is always last
  int32_t dense_tile =
      0;  ///< elements of the dense index in one register tile; 0 = whole index, no outer loop
  int32_t parallel = -1;  ///< position in `loops` of the parallel loop; -1 = serial
  Policy policy = Policy::kStatic;
  int32_t chunk = 0;  ///< iterations a chunk, dynamic only
  int32_t threads = 1;
  int32_t unroll = 1;    ///< nonzeros of the innermost sparse loop in flight: 1, 2, 4, 8 or 16
  int32_t prefetch = 0;  ///< nonzeros ahead whose dense rows are prefetched; 0 = off
  bool stream = false;   ///< rows of the result go past the caches (non-temporal stores)
  bool operator==(const ComputeSchedule&) const = default;
};

/// A point of the space. Equality is equality of programs once `canonical` has been applied.
struct SuperSchedule {
  Problem problem;
  FormatSchedule format;
  ComputeSchedule compute;
  bool operator==(const SuperSchedule&) const = default;
};

/// What `var`, dense ones included, is called in this point.
std::string var_name(const SuperSchedule& point, Var var);

/// Why a point is illegal, or nullopt when it is legal. Rules: docs/superschedule.md.
std::optional<std::string> illegal_reason(const SuperSchedule& point);

/// The canonical point that generates the same program. Requires a legal point.
SuperSchedule canonical(const SuperSchedule& point);

/// The canonical point that stores its nonzeros so arranged, which has to be legal for it; of all rows where
/// they are clustered.
SuperSchedule arranged(SuperSchedule point, Arrangement arrangement);

/// The canonical point that runs on so many threads; one that is serial stays so.
SuperSchedule with_threads(SuperSchedule point, int threads);

/// The canonical point that clusters its rows in windows of so many (0: all of them), and sorts them in no
/// larger ones.
SuperSchedule clustered(SuperSchedule point, int64_t window);

/// The text form, which `parse` reads back to the same value.
std::string to_text(const SuperSchedule& point);
std::string to_text(const FormatSchedule& format, Op op);

/// Reads the text form; throws UsageError that names the faulty part. The result is legal and canonical.
SuperSchedule parse(std::string_view text);

/// Rows in a dynamic chunk of `fixed_csr`, by however many threads: 128 for spmv, else 32.
int32_t csr_chunk(Op op);

/// `fixed_csr` as a point: CSR (CSF for mttkrp), default loop order, dynamic chunks. On one thread the
/// canonical point is serial and has no chunk; the baseline keeps csr_chunk().
SuperSchedule csr_point(const Problem& problem, int threads);

}  // namespace waco::schedule
