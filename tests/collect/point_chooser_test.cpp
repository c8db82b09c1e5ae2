// What is measured on a matrix: how much of each stratum, the same in every run, and shared structures.
#include "waco/collect/point_chooser.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include "../model/learned/random_model.hpp"
#include "waco/base/files.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/schedule/row_windows.hpp"

using namespace waco;
using namespace waco::collect;
using schedule::Op;
using schedule::Problem;
using schedule::SuperSchedule;
using schedule::ValueType;

namespace {

ChoiceOptions options_for(Op op, int per_matrix = 60) {
  ChoiceOptions options;
  options.problem = {op, ValueType::kF32, schedule::default_rhs(op)};
  options.threads = 2;
  options.per_matrix = per_matrix;
  options.seed = 7;
  return options;
}

matrix::SparseTensor tensor_for(Op op) {
  return matrix::generate(schedule::sparse_order(op) == 3 ? "tensor i=400 k=300 l=50 nnz=8000"
                                                          : "fem nx=6 ny=6 nz=6 dof=3");
}

std::vector<std::string> texts(const std::vector<Choice>& choices) {
  std::vector<std::string> result;
  for (const Choice& choice : choices)
    result.push_back(std::string(name(choice.stratum)) + " " + schedule::to_text(choice.point));
  return result;
}

std::vector<Choice> choose(const matrix::SparseTensor& tensor, const ChoiceOptions& options) {
  StructurePool pool(options.problem, options.threads, options.seed);
  return PointChooser(tensor, matrix::pattern_hash(tensor), options, pool).independent_points();
}

}  // namespace

TEST_CASE("strata: sizes add up, with fixed_csr always and few uniform points", "[collect]") {
  for (const int per_matrix : {1, 2, 7, 20, 100, 1000}) {
    const auto sizes = strata_sizes(per_matrix);
    CHECK(std::accumulate(sizes.begin(), sizes.end(), 0) == per_matrix);
    CHECK(sizes[0] == 1);
  }
  const auto sizes = strata_sizes(100);
  for (int n = 0; n < kNumStrata; ++n)
    CHECK((sizes[static_cast<size_t>(n)] >= 1) ==
          (static_cast<Stratum>(n) != Stratum::kLearned && static_cast<Stratum>(n) != Stratum::kAsked));
  CHECK(sizes[static_cast<size_t>(Stratum::kUniform)] < 10);
  const auto by_learned = strata_sizes(11, true);
  CHECK(by_learned[static_cast<size_t>(Stratum::kLearned)] +
            by_learned[static_cast<size_t>(Stratum::kModel)] ==
        7);
  CHECK(by_learned[static_cast<size_t>(Stratum::kLearned)] >
        by_learned[static_cast<size_t>(Stratum::kModel)]);
  CHECK(by_learned[static_cast<size_t>(Stratum::kNeighbours)] == 3);
}

TEST_CASE("choices: every op gets its strata, distinct and with fixed_csr first", "[collect]") {
  const Op op = GENERATE(Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp);
  INFO(schedule::name(op));
  const ChoiceOptions options = options_for(op);
  const matrix::SparseTensor tensor = tensor_for(op);
  const std::vector<Choice> choices = choose(tensor, options);
  CHECK(choices.at(0).stratum == Stratum::kFixedCsr);
  CHECK(choices[0].point == schedule::csr_point(options.problem, options.threads));
  std::map<Stratum, int> counts;
  std::set<std::string> plans;
  for (const Choice& choice : choices) {
    ++counts[choice.stratum];
    plans.insert(schedule::to_text(choice.point));
    CHECK_FALSE(schedule::illegal_reason(choice.point));
    CHECK(choice.point == schedule::canonical(choice.point));
  }
  CHECK(plans.size() == choices.size());
  const auto sizes = strata_sizes(options.per_matrix);
  for (int n = 0; n < kNumStrata; ++n) {
    const auto stratum = static_cast<Stratum>(n);
    INFO(name(stratum));
    CHECK(counts[stratum] == (stratum == Stratum::kNeighbours ? 0 : sizes[static_cast<size_t>(n)]));
  }
}

TEST_CASE("choices: points that the user names come first, where they are feasible", "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmv);
  options.max_fill = 5;
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmv);
  const std::string tiles =
      "spmv f32 | A: i1:U k1:C k0:C i0:S [i/64 k/64] | loop: i1 k1 k0 i0 | par: i1 dynamic,1 x2";
  // In windows that the space has not: rows of both threads are in the first.
  const std::string sorted =
      fmt::format("spmv f32 | A: i1:U i0:U k:L [i/4 sort:{}] | loop: i1 k i0 | par: i1 static x2",
                  (tensor.dims[0] * 2 / 3) / 4 * 4);
  options.asked = {schedule::parse(tiles), schedule::parse(sorted),
                   schedule::csr_point(options.problem, options.threads),
                   schedule::parse("spmv f32 | A: i:U k1:C k0:U [k/512] | loop: i k1 k0 | par: serial")};
  const std::vector<Choice> choices = choose(tensor, options);
  CHECK(choices.at(0).stratum == Stratum::kFixedCsr);
  CHECK(choices.at(1).stratum == Stratum::kAsked);
  CHECK(schedule::to_text(choices.at(1).point) == tiles);
  CHECK(schedule::to_text(choices.at(2).point) == sorted);
  CHECK(choices.at(3).stratum == Stratum::kModel);  // fixed_csr is there, too much would be stored
  const auto sizes = strata_sizes(options.per_matrix - 2);
  CHECK(std::ssize(choices) == 2 + options.per_matrix - 2 - sizes[static_cast<size_t>(Stratum::kNeighbours)]);
}

TEST_CASE("choices: clustered points are all but fixed_csr", "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmm, 20);
  options.clustered = true;
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmm);
  StructurePool pool(options.problem, options.threads, options.seed);
  const matrix::SparseTensor stored = codegen::with_clustered_rows(tensor, 0, 2);
  PointChooser chooser(stored, matrix::pattern_hash(tensor), options, pool);
  std::vector<Choice> choices = chooser.independent_points();
  const SuperSchedule csr = schedule::csr_point(options.problem, options.threads);
  CHECK(choices.at(0).point == csr);
  const auto sizes = strata_sizes(options.per_matrix - 1);
  CHECK(std::ssize(choices) == options.per_matrix - sizes[static_cast<size_t>(Stratum::kNeighbours)]);
  const std::vector<Choice> near = chooser.neighbours({csr, choices[2].point}, 8, {}, {});
  CHECK(near.size() == 8);
  choices.insert(choices.end(), near.begin(), near.end());
  for (size_t n = 1; n < choices.size(); ++n) CHECK(choices[n].point.format.clustered());
}

TEST_CASE("choices: all points cluster the rows in one window, whatever their threads", "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmv, 40);
  options.clustered = true;
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmv);
  const int64_t window = schedule::cluster_window(options.problem, tensor.dims[0], options.threads);
  REQUIRE(window > 0);
  StructurePool pool(options.problem, options.threads, options.seed);
  const matrix::SparseTensor stored = codegen::with_clustered_rows(tensor, window, 2);
  PointChooser chooser(stored, matrix::pattern_hash(tensor), options, pool);
  const std::vector<Choice> choices = chooser.independent_points();
  std::set<int> threads;
  for (size_t n = 1; n < choices.size(); ++n) {
    CHECK(choices[n].point.format.cluster_window == window);
    threads.insert(choices[n].point.compute.threads);
  }
  CHECK(threads.size() > 1);
}

TEST_CASE("choices: a learned model chooses what it ranks first, beside what the closed-form model does",
          "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmm);
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmm);
  const TemporaryFolder folder;
  std::vector<std::vector<std::string>> chosen;
  for (const uint64_t seed : {1, 2, 1}) {
    const std::filesystem::path model = folder.path() / std::to_string(seed);
    test::write_random_model(model, Op::kSpmm, seed);
    const auto learned = search::Learned::open(model, {}, 2);
    options.learned = learned.get();
    const std::vector<Choice> choices = choose(tensor, options);
    const auto sizes = strata_sizes(options.per_matrix, true);
    const auto chosen_by = [&](Stratum stratum) {
      return std::count_if(choices.begin(), choices.end(),
                           [&](const Choice& choice) { return choice.stratum == stratum; });
    };
    for (const Stratum stratum : {Stratum::kLearned, Stratum::kModel})
      CHECK(chosen_by(stratum) == sizes[static_cast<size_t>(stratum)]);
    CHECK(std::ssize(choices) == 1 + chosen_by(Stratum::kLearned) + chosen_by(Stratum::kModel));
    chosen.push_back(texts(choices));
  }
  CHECK(chosen[0] != chosen[1]);
  CHECK(chosen[0] == chosen[2]);
}

TEST_CASE("choices: the closed-form model takes the ceilings it is given", "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmm);
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmm);
  const std::vector<std::string> by_default = texts(choose(tensor, options));
  options.ceilings = model::default_ceilings(options.threads);
  CHECK(texts(choose(tensor, options)) == by_default);
  options.ceilings->fma_f32_one *= 100;
  options.ceilings->fma_f32_all *= 100;
  for (model::MemoryLevel& level : options.ceilings->levels) level.read_one /= 20, level.read_all /= 20;
  CHECK(texts(choose(tensor, options)) != by_default);
}

TEST_CASE("choices: nothing but seed, pattern and options decides them", "[collect]") {
  const Op op = GENERATE(Op::kSpmv, Op::kSpmm);
  const ChoiceOptions options = options_for(op);
  const matrix::SparseTensor tensor = tensor_for(op);
  const std::vector<std::string> first = texts(choose(tensor, options));
  CHECK(texts(choose(tensor, options)) == first);
  // A pool that has served other matrices before gives the same.
  StructurePool used(options.problem, options.threads, options.seed);
  const matrix::SparseTensor other = matrix::generate("rmat scale=9 degree=8");
  PointChooser(other, matrix::pattern_hash(other), options, used).independent_points();
  PointChooser again(tensor, matrix::pattern_hash(tensor), options, used);
  CHECK(texts(again.independent_points()) == first);
  ChoiceOptions reseeded = options;
  reseeded.seed = 8;
  CHECK(texts(choose(tensor, reseeded)) != first);
}

TEST_CASE("choices: points are feasible on the pattern", "[collect]") {
  ChoiceOptions options = options_for(Op::kSpmv);
  options.max_fill = 2;
  const matrix::SparseTensor tensor = matrix::generate("rmat scale=10 degree=8");
  const pattern::PatternCounts counts(tensor);
  for (const Choice& choice : choose(tensor, options)) {
    INFO(schedule::to_text(choice.point));
    CHECK_FALSE(schedule::exclusion_reason(choice.point, counts, {.max_threads = 2, .max_fill = 2}));
  }
}

TEST_CASE("choices: neighbours are new, one change away, and mostly share kernels that are there",
          "[collect]") {
  const ChoiceOptions options = options_for(Op::kSpmm);
  const matrix::SparseTensor tensor = tensor_for(Op::kSpmm);
  StructurePool pool(options.problem, options.threads, options.seed);
  PointChooser chooser(tensor, matrix::pattern_hash(tensor), options, pool);
  const std::vector<Choice> independent = chooser.independent_points();
  std::set<std::string> taken;
  std::vector<schedule::SuperSchedule> best;
  for (const Choice& choice : independent) {
    taken.insert(schedule::to_text(choice.point));
    if (choice.stratum == Stratum::kModel && best.size() < 6) best.push_back(choice.point);
  }
  // Half of the neighbours' kernels are there.
  std::set<std::string> compiled;
  std::set<std::string> around;
  const schedule::ScheduleSpace space(options.problem, tensor.dims, {.max_threads = 2});
  size_t place = 0;
  for (const schedule::SuperSchedule& point : best)
    for (const schedule::SuperSchedule& next : space.neighbours(point)) {
      around.insert(schedule::to_text(next));
      if (place++ % 2 == 0) compiled.insert(chooser.kernel_name(next));
    }
  const std::vector<Choice> neighbours = chooser.neighbours(best, 12, taken, compiled);
  CHECK(neighbours.size() == 12);
  int num_new_kernels = 0;
  for (const Choice& choice : neighbours) {
    CHECK(choice.stratum == Stratum::kNeighbours);
    CHECK_FALSE(taken.contains(schedule::to_text(choice.point)));
    CHECK(around.contains(schedule::to_text(choice.point)));
    num_new_kernels += compiled.contains(chooser.kernel_name(choice.point)) ? 0 : 1;
  }
  CHECK(num_new_kernels <= 4);
}

TEST_CASE("choices: tiny matrices give what there is", "[collect]") {
  matrix::SparseTensor tensor;
  tensor.dims = {1, 1};
  tensor.coords = {{0}, {0}};
  tensor.values = {1};
  const std::vector<Choice> choices = choose(tensor, options_for(Op::kSpmv));
  CHECK(choices.size() >= 1);
  CHECK(choices.size() <= 60);
}

TEST_CASE("structures: matrices share kernels", "[collect]") {
  const ChoiceOptions options = options_for(Op::kSpmv, 100);
  StructurePool pool(options.problem, options.threads, options.seed);
  std::set<std::string> kernels;
  size_t num_points = 0;
  for (const char* recipe :
       {"fem nx=12 ny=12 nz=12 dof=3", "rmat scale=13 degree=8", "stencil2d n=100", "banded n=9000 band=6",
        "uniform rows=8500 cols=9600 degree=8", "road n=100", "stencil3d n=22", "lp rows=7000 cols=9000"}) {
    const matrix::SparseTensor tensor = matrix::generate(recipe);
    PointChooser chooser(tensor, matrix::pattern_hash(tensor), options, pool);
    for (const Choice& choice : chooser.independent_points()) {
      kernels.insert(chooser.kernel_name(choice.point));
      ++num_points;
    }
  }
  CHECK(num_points >= 500);
  INFO(kernels.size() << " kernels for " << num_points << " points");
  CHECK(kernels.size() < num_points * 11 / 20);
}

TEST_CASE("choices: pools of neighbouring seeds have few structures in common", "[collect]") {
  const schedule::Problem problem{Op::kSpmm, schedule::ValueType::kF32, 32};
  const auto structures = [&](uint64_t seed) {
    StructurePool pool(problem, 2, seed);
    std::set<std::string> found;
    for (int place = 0; place < 100; ++place)
      found.insert(schedule::to_text(pool.structure(schedule::Stratum::kBlocked, place)));
    return found;
  };
  const std::set<std::string> first = structures(1);
  for (const uint64_t seed : {2, 3, 7}) {
    const std::set<std::string> other = structures(seed);
    std::vector<std::string> common;
    std::ranges::set_intersection(first, other, std::back_inserter(common));
    CHECK(3 * common.size() < first.size());
  }
}
