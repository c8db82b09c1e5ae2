// What a synthetic corpus holds, and how fast it is made: corpus_perf [count] [order] [seed] [first].
#include <cstdio>
#include <cstdlib>
#include <string>

#include "stopwatch.hpp"
#include "waco/matrix/corpus.hpp"

using namespace waco::matrix;

int main(int argc, char** argv) {
  const auto argument = [&](int i, int standard) { return argc > i ? std::atoi(argv[i]) : standard; };
  const int count = argument(1, 56);
  const int order = argument(2, 2);
  const auto seed = static_cast<uint64_t>(argument(3, 1));
  const std::vector<CorpusItem> items = synthetic_corpus(count, order, seed);
  std::printf("rows\tcols\tnonzeros\tseconds\tmillions/s\tsource\n");
  double seconds = 0;
  double nonzeros = 0;
  for (size_t i = static_cast<size_t>(argument(4, 0)); i < items.size(); ++i) {
    SparseTensor tensor;
    const double elapsed = waco::perf::seconds_of([&] { tensor = make(items[i]); });
    const auto nnz = static_cast<double>(tensor.num_nonzeros());
    std::printf("%lld\t%lld\t%.0f\t%.3f\t%.1f\t%s\n", static_cast<long long>(tensor.dims[0]),
                static_cast<long long>(tensor.dims[1]), nnz, elapsed, nnz / elapsed / 1e6,
                items[i].source.c_str());
    seconds += elapsed;
    nonzeros += nnz;
  }
  std::printf("# %zu items, %.1f million nonzeros, %.2f s\n", items.size(), nonzeros / 1e6, seconds);
}
