// From CSR arrays to all values.
#include "apps/bench/peers/dense_form.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace waco::bench {
namespace {

template <class T>
void fill(const PeerInput& input, T* dense) {
  const auto* values = static_cast<const T*>(input.values);
  const int64_t num_columns = input.num_columns();
#pragma omp parallel for schedule(static) num_threads(input.threads)
  for (int64_t row = 0; row < input.num_rows(); ++row) {
    T* dense_row = dense + row * num_columns;
    std::fill_n(dense_row, num_columns, T{0});
    for (int32_t p = input.row_begin[row]; p < input.row_begin[row + 1]; ++p)
      dense_row[input.columns[p]] = values[p];
  }
}

}  // namespace

std::optional<std::string> refuse_large_dense_form(const PeerInput& input) {
  if (input.dense_form_bytes() <= kMaxDenseFormBytes) return std::nullopt;
  return fmt::format("the dense form takes {} MB", input.dense_form_bytes() >> 20);
}

Buffer dense_form(const PeerInput& input) {
  Buffer dense(static_cast<size_t>(std::max<int64_t>(input.dense_form_bytes(), 1)), 4);
  input.f64() ? fill(input, dense.as<double>()) : fill(input, dense.as<float>());
  return dense;
}

}  // namespace waco::bench
