// Random patterns, and convolutions of them written out in double precision, that sparse convolutions are
// tested on.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "waco/base/random.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/model/conv/sites.hpp"

namespace waco::test {

using Coordinate = std::vector<int64_t>;

/// Distinct random nonzeros, half of them in a corner of the tensor where they touch each other.
inline matrix::SparseTensor random_pattern(const std::vector<int64_t>& dims, int64_t nonzeros,
                                           uint64_t seed) {
  Random random(seed);
  std::set<Coordinate> entries;
  for (int64_t n = 0; n < nonzeros; ++n) {
    Coordinate c;
    for (const int64_t extent : dims)
      c.push_back(static_cast<int64_t>(random.below(n % 2 ? extent : std::min<int64_t>(extent, 12))));
    entries.insert(c);
  }
  matrix::SparseTensor tensor;
  tensor.dims = dims;
  tensor.coords.resize(dims.size());
  for (const Coordinate& c : entries) {
    for (size_t m = 0; m < dims.size(); ++m) tensor.coords[m].push_back(c[m]);
    tensor.values.push_back(1);
  }
  return tensor;
}

inline std::vector<Coordinate> coordinates(const model::Sites& sites) {
  std::vector<Coordinate> result;
  for (const uint64_t key : sites.keys) {
    Coordinate c;
    for (int m = 0; m < sites.layout.order; ++m) c.push_back(sites.layout.coordinate(key, m));
    result.push_back(c);
  }
  return result;
}

inline std::vector<float> random_floats(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

/// All (offset, input, output) of a convolution by looking every window up, in no particular order.
struct Meeting {
  int offset;
  int64_t in, out;
  auto operator<=>(const Meeting&) const = default;
};
inline std::set<Meeting> meetings(const model::Sites& in, const model::Sites& out, int width, int stride) {
  std::map<Coordinate, int64_t> where;
  for (const Coordinate& c : coordinates(in)) where.emplace(c, static_cast<int64_t>(where.size()));
  // Emplaced in sorted order, so a site's number is its place.
  std::set<Meeting> result;
  const int order = in.layout.order;
  int offsets = 1;
  for (int m = 0; m < order; ++m) offsets *= width;
  const std::vector<Coordinate> outs = coordinates(out);
  for (size_t o = 0; o < outs.size(); ++o)
    for (int k = 0; k < offsets; ++k) {
      Coordinate c = outs[o];
      int rest = k;
      for (int m = order - 1; m >= 0; --m, rest /= width) c[m] = c[m] * stride + rest % width - width / 2;
      const auto found = where.find(c);
      if (found != where.end()) result.insert({k, found->second, static_cast<int64_t>(o)});
    }
  return result;
}

/// y [outs, cout] of x [ins, cin] and w [offsets, cin, cout].
inline std::vector<double> reference_convolution(const std::set<Meeting>& pairs, int64_t outs,
                                                 const std::vector<double>& x, const std::vector<double>& w,
                                                 int cin, int cout) {
  std::vector<double> y(outs * cout, 0.0);
  for (const Meeting& p : pairs)
    for (int i = 0; i < cin; ++i)
      for (int o = 0; o < cout; ++o)
        y[p.out * cout + o] += x[p.in * cin + i] * w[(p.offset * cin + i) * cout + o];
  return y;
}

inline std::vector<double> to_double(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace waco::test
