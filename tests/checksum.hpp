// One number for many, which is the same on all machines.
#pragma once

#include <cmath>
#include <vector>

namespace waco::test {

/// A sum with a weight for each place, from 1 to 2: another value or order gives another, and what machines
/// round differently does not show in its first six digits.
inline double checksum(const std::vector<float>& values) {
  double sum = 0, share = 0;
  for (const float value : values) {
    share = std::fmod(share + 0.6180339887, 1.0);
    sum += (1 + share) * static_cast<double>(value);
  }
  return sum;
}

}  // namespace waco::test
