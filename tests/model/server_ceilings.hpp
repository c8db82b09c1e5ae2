// Ceilings that are the same wherever tests run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "waco/model/ceilings.hpp"

namespace waco::test {

/// Typical numbers of `threads` cores of a server with 512-bit vectors, which nobody measured.
inline model::Ceilings server_ceilings(int threads) {
  const double n = threads;
  model::Ceilings c;
  c.cpu = "Server";
  c.threads = threads;
  c.vector_bytes = 64;
  c.levels = {{{32 << 10, false, 180, 180 * n},
               {1 << 20, false, 90, 90 * n},
               {32 << 20, true, 50, 50 * std::min(n, 16.0)},
               {INT64_MAX, true, 14, 14 * std::min(n, 6.0)}}};
  c.fma_f32_one = 192, c.fma_f32_all = 192 * n;
  c.fma_f64_one = 96, c.fma_f64_all = 96 * n;
  c.stream_one = 14, c.stream_all = 14 * std::min(n, 6.0);
  c.gather_one.points = {{16e3, 3.4}, {256e3, 1.7}, {4e6, 1.2}, {16e6, 0.4}, {128e6, 0.11}, {1e9, 0.08}};
  c.gather_all = c.gather_one;
  for (auto& point : c.gather_all.points) point.rate *= std::min(n, 8.0);
  c.region_ns = threads > 1 ? 1500 + 20 * n : 100;
  c.grab_ns = threads > 1 ? 25 * n : 10;
  c.short_loop_ns = 5;
  return c;
}

}  // namespace waco::test
