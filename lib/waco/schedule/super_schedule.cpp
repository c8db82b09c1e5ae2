// What the parts of a point are called, and the baseline as a point of the space.
#include "waco/schedule/super_schedule.hpp"

#include <array>

namespace waco::schedule {
namespace {

constexpr std::string_view kKindLetters = "UCSEL";  // in the order of LevelKind
constexpr std::array<std::string_view, 3> kArrangements = {"given", "clustered", "skewed"};

}  // namespace

char kind_letter(LevelKind kind) {
  return kKindLetters[static_cast<size_t>(kind)];
}

std::optional<LevelKind> parse_level_kind(char letter) {
  const size_t kind = kKindLetters.find(letter);
  if (kind == std::string_view::npos) return std::nullopt;
  return static_cast<LevelKind>(kind);
}

std::string_view name(Arrangement arrangement) {
  return kArrangements[static_cast<size_t>(arrangement)];
}

std::optional<Arrangement> parse_arrangement(std::string_view word) {
  for (const Arrangement arrangement : {Arrangement::kClustered, Arrangement::kSkewed})
    if (word == name(arrangement)) return arrangement;
  return std::nullopt;
}

std::string var_name(Op op, Var var, bool divided) {
  std::string text(1, index_name(op, var.index));
  if (divided) text += var.inner ? '0' : '1';
  return text;
}

std::string var_name(const SuperSchedule& point, Var var) {
  const Op op = point.problem.op;
  const bool dense = var.index >= sparse_order(op);
  return var_name(
      op, var, dense ? point.compute.dense_tile > 0 : point.format.split[static_cast<size_t>(var.index)] > 1);
}

int32_t csr_chunk(Op op) {
  return op == Op::kSpmv ? 128 : 32;
}

SuperSchedule csr_point(const Problem& problem, int threads) {
  SuperSchedule point;
  point.problem = problem;
  const int order = sparse_order(problem.op);
  for (int8_t mode = 0; mode < order; ++mode) {
    const bool dense_rows = mode == 0 && order == 2;
    point.format.levels.push_back(
        {{mode, false}, dense_rows ? LevelKind::kUncompressed : LevelKind::kCompressed});
    point.compute.loops.push_back({mode, false});
  }
  if (has_dense_index(problem.op)) point.compute.loops.push_back({static_cast<int8_t>(order), false});
  point.compute.parallel = 0;
  point.compute.policy = Policy::kDynamic;
  point.compute.chunk = csr_chunk(problem.op);
  point.compute.threads = threads;
  return canonical(point);
}

}  // namespace waco::schedule
