// Counting distinct integer keys by hashing: keys are scattered into cache-sized buckets, then counted one by
// one.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "waco/base/parallel.hpp"

namespace waco::pattern {

inline uint64_t hash_key(uint64_t key) {
  key ^= key >> 32;
  key *= 0x9e3779b97f4a7c15ull;
  return key ^ (key >> 29);
}

inline uint64_t hash_key(unsigned __int128 key) {
  return hash_key(static_cast<uint64_t>(key) ^ (hash_key(static_cast<uint64_t>(key >> 64)) << 1));
}

/// The slot of `table`, whose size is a power of 2, that holds `key`, or the free one where it belongs.
template <typename Key>
Key& slot_of_key(std::vector<Key>& table, Key key) {
  const uint64_t mask = table.size() - 1;
  uint64_t slot = hash_key(key) & mask;
  while (table[slot] != 0 && table[slot] != key + 1) slot = (slot + 1) & mask;
  return table[slot];
}

/// Number of distinct keys in [begin, end); `table` is scratch, whose size follows the distinct keys, not all
/// of them. Keys are below the largest value of Key.
template <typename Key>
int64_t count_distinct_in_bucket(const Key* begin, const Key* end, std::vector<Key>& table) {
  constexpr uint64_t kFirstSlots = 4096;
  const uint64_t most_slots = std::bit_ceil(static_cast<uint64_t>(end - begin) * 2 + 1);
  // Buckets are alike: a table that has grown for one is right for the next.
  table.assign(std::min(std::max<uint64_t>(table.size(), kFirstSlots), most_slots), Key{0});
  uint64_t distinct = 0;  // keys in the table, each as key + 1; 0 is free
  for (const Key* key = begin; key != end; ++key) {
    Key& slot = slot_of_key(table, *key);
    if (slot != 0) continue;
    slot = *key + 1;
    if (2 * ++distinct <= table.size()) continue;
    std::vector<Key> larger(2 * table.size(), Key{0});
    for (const Key& held : table)
      if (held != 0) slot_of_key(larger, static_cast<Key>(held - 1)) = held;
    table = std::move(larger);
  }
  return static_cast<int64_t>(distinct);
}

/// Number of distinct values of key_of(0) .. key_of(num_keys - 1), each below the largest value of Key.
template <typename Key, typename KeyOf>
int64_t count_distinct_keys(int64_t num_keys, KeyOf key_of) {
  constexpr int64_t kKeysPerBucket = 16384;
  const int bits =
      std::min(12, static_cast<int>(std::bit_width(static_cast<uint64_t>(num_keys / kKeysPerBucket))));
  const auto num_buckets = static_cast<size_t>(1) << bits;
  const auto bucket_of = [bits](Key key) { return bits == 0 ? 0 : hash_key(key) >> (64 - bits); };
  const auto num_parts = static_cast<int64_t>(omp_get_max_threads());
  const auto part_begin = [&](int64_t part) {
    return static_cast<int64_t>(static_cast<__int128>(num_keys) * part / num_parts);
  };

  std::vector<int64_t> next(static_cast<size_t>(num_parts) * num_buckets, 0);  // [part][bucket]
#pragma omp parallel for schedule(static, 1)
  for (int64_t part = 0; part < num_parts; ++part)
    for (int64_t n = part_begin(part); n < part_begin(part + 1); ++n)
      ++next[static_cast<size_t>(part) * num_buckets + bucket_of(key_of(n))];

  std::vector<int64_t> bucket_begin(num_buckets + 1, 0);
  int64_t total = 0;
  for (size_t bucket = 0; bucket < num_buckets; ++bucket) {
    bucket_begin[bucket] = total;
    for (int64_t part = 0; part < num_parts; ++part) {
      int64_t& entry = next[static_cast<size_t>(part) * num_buckets + bucket];
      const int64_t count = entry;
      entry = total;
      total += count;
    }
  }
  bucket_begin[num_buckets] = total;

  std::vector<Key> keys(static_cast<size_t>(num_keys));
#pragma omp parallel for schedule(static, 1)
  for (int64_t part = 0; part < num_parts; ++part)
    for (int64_t n = part_begin(part); n < part_begin(part + 1); ++n) {
      const Key key = key_of(n);
      keys[static_cast<size_t>(next[static_cast<size_t>(part) * num_buckets + bucket_of(key)]++)] = key;
    }

  std::atomic<int64_t> distinct{0};
  const auto count_bucket = [&](int64_t number, std::vector<Key>& table) {
    const auto bucket = static_cast<size_t>(number);
    distinct += count_distinct_in_bucket(keys.data() + bucket_begin[bucket],
                                         keys.data() + bucket_begin[bucket + 1], table);
  };
  for_each_parallel(
      static_cast<int64_t>(num_buckets), omp_get_max_threads(), [] { return std::vector<Key>(); },
      count_bucket);
  return distinct;
}

}  // namespace waco::pattern
