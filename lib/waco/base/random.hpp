// A small seeded generator whose sequence is the same on every platform and compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace waco {

/// SplitMix64: 64 bits of state, one multiply-xorshift round a draw (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  /// One of many sequences of a seed, so that parts of a whole can be drawn in any order.
  Random(uint64_t seed, uint64_t part) : state_(Random(seed).next() + part * 0xd1342543de82ef95ull) {
    state_ = next();
  }

  uint64_t next() {
    uint64_t z = (state_ += kStep);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double probability) { return uniform() < probability; }
  /// Passes over `count` draws at once.
  void skip(uint64_t count) { state_ += count * kStep; }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15ull;
  uint64_t state_;
};

/// Every order is equally likely.
template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
  for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[random.below(n)]);
}

}  // namespace waco
