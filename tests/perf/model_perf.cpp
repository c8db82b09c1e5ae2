// Speed of the learned model without libtorch: reading a folder, embedding patterns and schedules, scoring
// embeddings.
//
//     model_perf MODEL [EMBEDDINGS]
//
// Limits to aim for, on one core: 250,000 embeddings scored in 0.25 s, a schedule embedded in a few
// microseconds.
#include <fmt/format.h>
#include <omp.h>

#include <cstdlib>
#include <vector>

#include "stopwatch.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/schedule/space.hpp"

namespace {

using waco::model::LearnedModel;

double best_ms(int tries, const std::function<void()>& work) {
  return 1e3 * waco::perf::best_seconds({.least = tries}, work);
}

void report(const char* what, double ms, double count) {
  fmt::print("{:36} {:10.3f} ms {:10.3f} us each\n", what, ms, ms * 1e3 / count);
}

void run(const std::filesystem::path& folder, int64_t count) {
  const LearnedModel model = LearnedModel::load(folder);
  report("load", best_ms(5, [&] { LearnedModel::load(folder); }), 1);
  const waco::schedule::Op op = model.op();
  const waco::schedule::Problem problem{op, waco::schedule::ValueType::kF32, default_rhs(op)};
  const auto tensor =
      waco::matrix::generate(sparse_order(op) == 3 ? "tensor i=20000 k=20000 l=20000 nnz=1000000"
                                                   : "uniform rows=200000 cols=200000 degree=5");
  waco::model::PatternEmbedding pattern;
  report("embed a pattern of 1e6 nonzeros",
         best_ms(5, [&] { pattern = model.embed_pattern(tensor, problem); }), 1);

  constexpr int kPoints = 20000;
  const waco::schedule::ScheduleSpace space(problem, tensor.dims, {2, 20, INT64_MAX});
  waco::Random random(1);
  std::vector<waco::schedule::SuperSchedule> points;
  for (int n = 0; n < kPoints; ++n)
    points.push_back(space.sample_stratified(random, waco::schedule::kStrata[random.below(6)]));
  std::vector<float> some;
  omp_set_num_threads(1);
  report("embed schedules, 1 thread", best_ms(5, [&] { some = model.embed_schedules(points, 2); }), kPoints);

  const auto size = static_cast<size_t>(model.embedding_size());
  std::vector<float> embeddings(static_cast<size_t>(count) * size);
  for (size_t n = 0; n < embeddings.size(); ++n) embeddings[n] = some[n % some.size()];
  std::vector<float> costs(static_cast<size_t>(count));
  const waco::model::Retriever retriever(model, pattern);
  report("fold a pattern in", best_ms(20, [&] { waco::model::Retriever(model, pattern); }), 1);
  report("score embeddings, 1 thread",
         best_ms(7, [&] { retriever.costs(embeddings.data(), count, costs.data(), 1); }),
         static_cast<double>(count));
  report("score embeddings, 2 threads",
         best_ms(7, [&] { retriever.costs(embeddings.data(), count, costs.data(), 2); }),
         static_cast<double>(count));
  float sum = 0;
  report("score one after another",
         best_ms(3,
                 [&] {
                   for (int64_t n = 0; n < kPoints; ++n)
                     sum += retriever.cost(embeddings.data() + static_cast<size_t>(n) * size);
                 }),
         kPoints);
  waco::model::ClosedFormModel closed(tensor, waco::model::default_ceilings(2));
  waco::model::LearnedCostModel whole(model, pattern, problem, closed, 2);
  points.resize(2000);
  report("retrieve and correct, first time", best_ms(1, [&] { whole.costs(points); }), 2000);
  report("retrieve and correct", best_ms(3, [&] { whole.costs(points, some.data()); }), 2000);
  fmt::print("{}\n", sum != 0 ? "" : "all costs are zero");
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t count = argc > 2 ? std::atoll(argv[2]) : 250'000;
  if (argc < 2 || argc > 3 || count < 1) {
    fmt::print(stderr, "usage: model_perf MODEL [EMBEDDINGS]\n");
    return 2;
  }
  try {
    run(argv[1], count);
  } catch (const waco::Error& error) {
    fmt::print(stderr, "model_perf: {}\n", error.what());
    return 1;
  }
  return 0;
}
