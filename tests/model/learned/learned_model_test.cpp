// The network gives what docs/model.md says, whatever the batch and the threads.
#include "waco/model/learned/learned_model.hpp"

#include <omp.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "../patterns.hpp"
#include "../server_ceilings.hpp"
#include "naive_network.hpp"
#include "random_model.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/synthetic.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/dense.hpp"
#include "waco/schedule/space.hpp"

using namespace waco;
using model::LearnedCostModel;
using model::LearnedModel;
using model::Retriever;
using schedule::Op;

namespace {

constexpr int kThreads = 2;

struct Fixture {
  Fixture(Op op, uint64_t seed) : problem{op, schedule::ValueType::kF32, schedule::default_rhs(op)} {
    test::write_random_model(folder.path() / "model", op, seed);
    tensors = model::TensorFile::read(folder.path() / "model" / "weights.safetensors");
    tensor = matrix::generate(schedule::sparse_order(op) == 3 ? "tensor i=300 k=400 l=500 nnz=4000"
                                                              : "uniform rows=3000 cols=2000 degree=4");
  }
  LearnedModel load() const { return LearnedModel::load(folder.path() / "model"); }
  test::Numbers features() const {
    test::Numbers result{std::log2(static_cast<double>(tensor.dims[0])),
                         std::log2(static_cast<double>(tensor.dims[1])),
                         std::log2(static_cast<double>(tensor.num_nonzeros()))};
    if (tensor.order() == 3) result.push_back(std::log2(static_cast<double>(tensor.dims[2])));
    return result;
  }
  std::vector<schedule::SuperSchedule> points(int count) const {
    const schedule::ScheduleSpace space(problem, tensor.dims, {kThreads, 20, INT64_MAX});
    Random random(5);
    std::vector<schedule::SuperSchedule> result;
    for (int n = 0; n < count; ++n)
      result.push_back(space.sample_stratified(random, schedule::kStrata[static_cast<size_t>(n) % 6]));
    return result;
  }

  TemporaryFolder folder;
  schedule::Problem problem;
  model::TensorFile tensors;
  matrix::SparseTensor tensor;
};

/// Relative to the size of what is compared, with a floor for values near zero.
void check_close(double found, double expected) {
  CHECK(std::abs(found - expected) <= 1e-4 * std::max(1.0, std::abs(expected)));
}

}  // namespace

TEST_CASE("learned_model: every layer agrees with the definition, for every op", "[model]") {
  for (const Op op : {Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp}) {
    INFO(name(op));
    const Fixture f(op, 7);
    const LearnedModel learned = f.load();
    const test::NaiveNetwork naive(f.tensors);
    REQUIRE(learned.op() == op);
    const auto pattern = learned.embed_pattern(f.tensor, f.problem);
    const test::Numbers p = naive.pattern(f.features(), static_cast<double>(f.problem.rhs), false);
    REQUIRE(pattern.p.size() == p.size());
    for (size_t n = 0; n < p.size(); ++n) check_close(pattern.p[n], p[n]);

    const auto points = f.points(60);
    const std::vector<float> embeddings = learned.embed_schedules(points, kThreads);
    const Retriever retriever(learned, pattern);
    model::ClosedFormModel closed(f.tensor, test::server_ceilings(kThreads));
    LearnedCostModel costs(learned, pattern, f.problem, closed, kThreads);
    const std::vector<double> ratios = costs.costs(points);
    const model::CostTerms csr = closed.terms(schedule::csr_point(f.problem, kThreads));
    const auto size = static_cast<size_t>(learned.embedding_size());
    for (size_t n = 0; n < points.size(); ++n) {
      INFO(to_text(points[n]));
      const test::Numbers e = naive.embedding(points[n], kThreads);
      REQUIRE(e.size() == size);
      for (size_t i = 0; i < size; ++i) check_close(embeddings[n * size + i], e[i]);
      const test::Numbers h = naive.hidden(p, e);
      check_close(retriever.cost(embeddings.data() + n * size), naive.retrieved(h));
      const std::vector<float> terms = model::cost_features(closed.terms(points[n]), csr);
      CHECK(ratios[n] == Approx(naive.ratio(h, {terms.begin(), terms.end()})).epsilon(1e-3));
    }
  }
}

TEST_CASE("learned_model: a point costs the same bits in any batch and on any number of threads", "[model]") {
  const Fixture f(Op::kSpmm, 3);
  const LearnedModel learned = f.load();
  const auto pattern = learned.embed_pattern(f.tensor, f.problem);
  const auto points = f.points(2000);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> embeddings = learned.embed_schedules(points, kThreads);
  omp_set_num_threads(3);
  CHECK(learned.embed_schedules(points, kThreads) == embeddings);
  omp_set_num_threads(threads);
  const auto size = static_cast<size_t>(learned.embedding_size());
  for (const size_t n : {size_t{0}, size_t{47}, size_t{48}, size_t{1999}}) {
    const std::vector<float> alone = learned.embed_schedules({&points[n], 1}, kThreads);
    CHECK(std::equal(alone.begin(), alone.end(), embeddings.begin() + static_cast<std::ptrdiff_t>(n * size)));
  }
  const Retriever retriever(learned, pattern);
  std::vector<float> one(points.size()), three(points.size());
  retriever.costs(embeddings.data(), 2000, one.data(), 1);
  retriever.costs(embeddings.data(), 2000, three.data(), 3);
  CHECK(one == three);
  for (size_t n = 0; n < points.size(); ++n) CHECK(retriever.cost(embeddings.data() + n * size) == one[n]);
}

TEST_CASE("learned_model: costs are positive ratios, with embeddings at hand or not", "[model]") {
  const Fixture f(Op::kSpmv, 4);
  const LearnedModel learned = f.load();
  model::ClosedFormModel closed(f.tensor, test::server_ceilings(kThreads));
  LearnedCostModel costs(learned, learned.embed_pattern(f.tensor, f.problem), f.problem, closed, kThreads);
  const auto points = f.points(100);
  const std::vector<double> ratios = costs.costs(points);
  for (const double ratio : ratios) CHECK((ratio > 0 && std::isfinite(ratio)));
  const std::vector<float> embeddings = learned.embed_schedules(points, kThreads);
  CHECK(costs.costs(points, embeddings.data()) == ratios);
  CHECK(costs.costs({}).empty());
}

TEST_CASE("learned_model: an empty matrix is embedded, too", "[model]") {
  const Fixture f(Op::kSpmv, 4);
  const auto pattern = f.load().embed_pattern(test::from_entries(5, 7, {}), f.problem);
  for (const float value : pattern.p) CHECK(std::isfinite(value));
}

TEST_CASE("dense: every instruction set gives the sums of the definition", "[model]") {
  Random random(8);
  const auto draw = [&] { return static_cast<float>(random.uniform() - 0.5); };
  for (const model::DenseKernels& kernels : model::all_dense_kernels())
    for (const int outputs : {1, 16, 31, 64, 130})
      for (const int rows : {1, 5, 6, 13}) {
        constexpr int kInputs = 37, kStride = 40;
        const int padded = kernels.padded(outputs);
        std::vector<float> x(static_cast<size_t>(rows * kStride)), w(static_cast<size_t>(kInputs * padded)),
            y(static_cast<size_t>(rows * padded), 1.0f);
        for (float& value : x) value = draw();
        for (float& value : w) value = draw();
        kernels.multiply(x.data(), kStride, rows, kInputs, w.data(), padded, y.data());
        for (int r = 0; r < rows; ++r)
          for (int o = 0; o < padded; ++o) {
            double sum = 1;
            for (int i = 0; i < kInputs; ++i)
              sum += static_cast<double>(x[r * kStride + i]) * w[i * padded + o];
            CHECK(y[r * padded + o] == Approx(sum).margin(1e-5));
          }
        double dot = 0;
        for (int o = 0; o < padded; ++o) dot += static_cast<double>(y[o]) * w[o];
        CHECK(kernels.dot(y.data(), w.data(), padded) == Approx(dot).margin(1e-4));
        std::vector<float> before = y;
        kernels.relu(y.data(), padded);
        kernels.add(w.data(), padded, y.data());
        for (int o = 0; o < padded; ++o) CHECK(y[o] == std::max(before[o], 0.0f) + w[o]);
      }
}
