#include "waco/model/conv/convolution.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "conv_patterns.hpp"
#include "waco/model/conv/gemm.hpp"

using namespace waco;
using namespace waco::model;
using namespace waco::test;

namespace {

struct Case {
  matrix::SparseTensor tensor;
  int width, stride, cin, cout;
};

std::vector<Case> cases() {
  return {{random_pattern({30, 41}, 700, 2), 3, 1, 32, 32},
          {random_pattern({30, 41}, 700, 2), 3, 2, 3, 5},
          {random_pattern({2000, 900}, 3000, 3), 3, 2, 1, 16},
          {random_pattern({60, 60}, 500, 4), 5, 1, 7, 64},
          {random_pattern({9, 14, 11}, 600, 5), 3, 2, 32, 32},
          {random_pattern({9, 14, 11}, 300, 6), 3, 1, 33, 17},
          {random_pattern({12, 12, 12}, 200, 7), 5, 2, 2, 48},
          {random_pattern({1, 1}, 1, 8), 3, 2, 64, 1}};
}

/// Largest difference relative to the largest magnitude of `expected`.
double difference(const std::vector<float>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  double most = 0, scale = 1e-30;
  for (size_t n = 0; n < got.size(); ++n) {
    most = std::max(most, std::abs(static_cast<double>(got[n]) - expected[n]));
    scale = std::max(scale, std::abs(expected[n]));
  }
  return most / scale;
}

/// d loss / d values, by central differences; exact but for rounding where the loss is linear in each value.
template <class Loss>
std::vector<double> numeric_gradient(std::vector<double> values, const Loss& loss) {
  std::vector<double> gradient;
  for (double& value : values) {
    const double kept = value, step = 0.5;
    value = kept + step;
    const double above = loss(values);
    value = kept - step;
    gradient.push_back((above - loss(values)) / (2 * step));
    value = kept;
  }
  return gradient;
}

}  // namespace

TEST_CASE("convolution: equals the sum over all windows in double precision", "[conv]") {
  for (const Case& c : cases()) {
    const Sites in = sites_of(c.tensor, 1 << 20), out = c.stride == 1 ? in : halved(in, 1);
    const KernelMap map = make_kernel_map(in, out, c.width, c.stride, 1);
    const auto x = random_floats(in.size() * c.cin, 1),
               w = random_floats(map.num_offsets * c.cin * c.cout, 2);
    std::vector<float> y(out.size() * c.cout), positive(y.size());
    convolve(map, x.data(), w.data(), c.cin, c.cout, false, y.data(), 2);
    auto expected = reference_convolution(meetings(in, out, c.width, c.stride), out.size(), to_double(x),
                                          to_double(w), c.cin, c.cout);
    CHECK(difference(y, expected) < 1e-5);
    convolve(map, x.data(), w.data(), c.cin, c.cout, true, positive.data(), 2);
    for (double& v : expected) v = std::max(v, 0.0);
    CHECK(difference(positive, expected) < 1e-5);
  }
}

TEST_CASE("convolution: gradients equal finite differences in double precision", "[conv]") {
  const int stride = GENERATE(1, 2), order = GENERATE(2, 3);
  const int cin = 3, cout = 5;
  const auto tensor = order == 2 ? random_pattern({9, 8}, 30, 3) : random_pattern({5, 6, 4}, 30, 4);
  const Sites in = sites_of(tensor, 1 << 20), out = stride == 1 ? in : halved(in, 1);
  const KernelMap map = make_kernel_map(in, out, 3, stride, 1);
  const auto pairs = meetings(in, out, 3, stride);
  const auto x = random_floats(in.size() * cin, 1), w = random_floats(map.num_offsets * cin * cout, 2);
  const auto gy = random_floats(out.size() * cout, 3);
  const auto loss = [&](const std::vector<double>& x_, const std::vector<double>& w_) {
    const auto y = reference_convolution(pairs, out.size(), x_, w_, cin, cout);
    double sum = 0;
    for (size_t n = 0; n < y.size(); ++n) sum += y[n] * y[n] * static_cast<double>(gy[n]);
    return sum;
  };
  // The loss is quadratic: central differences are exact, and the gradient of y is 2 y gy.
  std::vector<float> y(gy.size()), g(gy.size()), gx(x.size()), gw(w.size());
  convolve(map, x.data(), w.data(), cin, cout, false, y.data(), 1);
  for (size_t n = 0; n < y.size(); ++n) g[n] = 2 * y[n] * gy[n];
  convolve_grad_input(transposed(map, 1), g.data(), w.data(), cin, cout, gx.data(), 2);
  convolve_grad_weight(map, x.data(), g.data(), cin, cout, gw.data(), 2);
  const auto xd = to_double(x), wd = to_double(w);
  CHECK(difference(gx, numeric_gradient(xd, [&](const auto& v) { return loss(v, wd); })) < 1e-5);
  CHECK(difference(gw, numeric_gradient(wd, [&](const auto& v) { return loss(xd, v); })) < 1e-5);
}

TEST_CASE("convolution: gradients of every shape are adjoint to the convolution", "[conv]") {
  for (const Case& c : cases()) {
    const Sites in = sites_of(c.tensor, 1 << 20), out = c.stride == 1 ? in : halved(in, 1);
    const KernelMap map = make_kernel_map(in, out, c.width, c.stride, 1);
    const auto x = random_floats(in.size() * c.cin, 1),
               w = random_floats(map.num_offsets * c.cin * c.cout, 2);
    const auto gy = random_floats(out.size() * c.cout, 3);
    std::vector<float> gx(x.size()), gw(w.size());
    convolve_grad_input(transposed(map, 2), gy.data(), w.data(), c.cin, c.cout, gx.data(), 2);
    convolve_grad_weight(map, x.data(), gy.data(), c.cin, c.cout, gw.data(), 2);
    std::vector<double> gx_expected(gx.size()), gw_expected(gw.size());
    for (const Meeting& p : meetings(in, out, c.width, c.stride))
      for (int i = 0; i < c.cin; ++i)
        for (int o = 0; o < c.cout; ++o) {
          const int64_t weight = (p.offset * c.cin + i) * c.cout + o;
          const double g = gy[p.out * c.cout + o];
          gx_expected[p.in * c.cin + i] += g * static_cast<double>(w[weight]);
          gw_expected[weight] += g * static_cast<double>(x[p.in * c.cin + i]);
        }
    CHECK(difference(gx, gx_expected) < 1e-5);
    CHECK(difference(gw, gw_expected) < 1e-5);
  }
}

TEST_CASE("convolution: the same bits for any number of threads", "[conv]") {
  const int c = 32;
  const Sites in = sites_of(random_pattern({3000, 2000}, 30000, 3), 1 << 20), out = halved(in, 1);
  const KernelMap map = make_kernel_map(in, out, 3, 2, 1), back = transposed(map, 1);
  const WindowMap window = make_window_map(in, 5, 1);
  const auto x = random_floats(in.size() * c, 1), w = random_floats(25 * c * c, 2);
  const auto gy = random_floats(in.size() * c, 3);
  const auto results = [&](int threads) {
    std::vector<std::vector<float>> all = {std::vector<float>(out.size() * c), std::vector<float>(x.size()),
                                           std::vector<float>(9 * c * c),      std::vector<float>(x.size()),
                                           std::vector<float>(25 * c),         std::vector<float>(c)};
    convolve(map, x.data(), w.data(), c, c, true, all[0].data(), threads);
    convolve_grad_input(back, gy.data(), w.data(), c, c, all[1].data(), threads);
    convolve_grad_weight(map, x.data(), gy.data(), c, c, all[2].data(), threads);
    convolve_windows(window, w.data(), c, true, all[3].data(), threads);
    convolve_windows_grad_weight(window, gy.data(), c, all[4].data(), threads);
    column_means(x.data(), in.size(), c, all[5].data(), threads);
    return all;
  };
  const auto one = results(1);
  CHECK(results(2) == one);
  CHECK(results(7) == one);
}

TEST_CASE("convolution: of windows equals that of ones, and so does its gradient", "[conv]") {
  for (const int cout : {32, 5}) {
    for (const auto& tensor : {random_pattern({30, 41}, 700, 2), random_pattern({9, 14, 11}, 600, 4)}) {
      const Sites sites = sites_of(tensor, 1 << 20);
      const KernelMap map = make_kernel_map(sites, sites, 5, 1, 1);
      const WindowMap window = make_window_map(sites, 5, 1);
      const std::vector<float> ones(sites.size(), 1.0f);
      const auto w = random_floats(map.num_offsets * cout, 2), gy = random_floats(sites.size() * cout, 3);
      std::vector<float> y(sites.size() * cout), same(y.size()), gw(w.size()), gw_same(w.size());
      convolve_windows(window, w.data(), cout, true, y.data(), 2);
      convolve(map, ones.data(), w.data(), 1, cout, true, same.data(), 2);
      CHECK(difference(y, to_double(same)) < 1e-5);
      convolve_windows_grad_weight(window, gy.data(), cout, gw.data(), 2);
      convolve_grad_weight(map, ones.data(), gy.data(), 1, cout, gw_same.data(), 2);
      CHECK(difference(gw, to_double(gw_same)) < 1e-5);
    }
  }
}

TEST_CASE("convolution: every instruction set of this machine agrees with plain loops", "[conv]") {
  const int pairs = GENERATE(1, 5, 8, 23), cin = GENERATE(1, 3, 32), columns = GENERATE(1, 16, 32, 40);
  Random random(5);
  std::vector<int32_t> in;
  std::vector<uint8_t> out;
  for (int n = 0; n < pairs; ++n) {
    in.push_back(static_cast<int32_t>(random.below(50)));
    out.push_back(static_cast<uint8_t>(9 * n));
  }
  for (const ConvKernels& kernels : all_conv_kernels()) {
    const int padded = kernels.padded(columns);
    const auto x = random_floats(50 * cin, 1), w = random_floats(cin * padded, 2);
    const auto g = random_floats(KernelMap::kBlock * padded, 3);
    std::vector<float> y(g.size(), 1.0f), gw(w.size(), 1.0f);
    std::vector<double> y_expected(y.size(), 1.0), gw_expected(gw.size(), 1.0);
    for (int n = 0; n < pairs; ++n)
      for (int i = 0; i < cin; ++i)
        for (int o = 0; o < padded; ++o) {
          const double value = x[in[n] * cin + i];
          y_expected[out[n] * padded + o] += value * static_cast<double>(w[i * padded + o]);
          gw_expected[i * padded + o] += value * static_cast<double>(g[out[n] * padded + o]);
        }
    kernels.multiply(x.data(), cin, in.data(), out.data(), pairs, w.data(), padded, y.data());
    kernels.outer(x.data(), cin, in.data(), g.data(), out.data(), pairs, gw.data(), padded);
    CHECK(difference(y, y_expected) < 1e-5);
    CHECK(difference(gw, gw_expected) < 1e-5);

    std::vector<float> sum(padded), rows(KernelMap::kBlock * padded, 0.0f);
    std::vector<double> sum_expected(padded, 0.0), rows_expected(rows.size(), 0.0);
    for (int n = 0; n < pairs; ++n)
      for (int o = 0; o < padded; ++o) {
        sum_expected[o] += static_cast<double>(g[out[n] * padded + o]);
        rows_expected[out[n] * padded + o] += static_cast<double>(g[o]);
      }
    kernels.sum_rows(out.data(), pairs, g.data(), padded, sum.data());
    kernels.add_to_rows(out.data(), pairs, g.data(), padded, rows.data());
    CHECK(difference(sum, sum_expected) < 1e-5);
    CHECK(difference(rows, rows_expected) < 1e-5);
  }
}

TEST_CASE("convolution: means are those of the columns, 0 of nothing", "[conv]") {
  const auto y = random_floats(10000 * 3, 1);
  std::vector<double> expected(3, 0.0);
  for (size_t n = 0; n < y.size(); ++n) expected[n % 3] += static_cast<double>(y[n]) / 10000;
  std::vector<float> mean(3);
  column_means(y.data(), 10000, 3, mean.data(), 2);
  CHECK(difference(mean, expected) < 1e-5);
  column_means(y.data(), 0, 3, mean.data(), 2);
  CHECK(mean == std::vector<float>(3, 0.0f));
}
