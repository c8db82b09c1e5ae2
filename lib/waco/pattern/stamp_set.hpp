// Counting the distinct items of one group after another, at about a nanosecond an item: a table of stamps
// that is never cleared. Two items of a group that share a slot and alternate are counted again, so counts
// are exact while a group's items lie in nine tenths of the table's size, and may be a little too high
// beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace waco::pattern {

/// A key is a group and an item below it.
inline constexpr int kItemBits = 40;
inline constexpr uint64_t kItemMask = (uint64_t{1} << kItemBits) - 1;
inline constexpr uint64_t kGroupMask = (uint64_t{1} << (64 - kItemBits)) - 1;

/// Groups and items beyond their bits wrap around.
inline uint64_t make_key(int64_t group, int64_t item) {
  return ((static_cast<uint64_t>(group) & kGroupMask) << kItemBits) |
         (static_cast<uint64_t>(item) & kItemMask);
}

class StampSet {
 public:
  /// A table of 2^`bits` stamps.
  explicit StampSet(int bits) : bits_(bits), stamps_(size_t{1} << bits, 0) {}

  /// Forgets everything.
  void restart() { ++epoch_; }

  /// Whether `key` is new. Keys come group by group.
  bool insert(uint64_t key) {
    uint64_t& slot = slot_of(key & kItemMask);
    const uint64_t stamp = stamp_of(key);
    const bool is_new = slot != stamp;
    slot = stamp;
    return is_new;
  }

  /// Whether the item of `key` was last seen one group earlier; it is seen in the group of `key` from now on.
  bool follows(uint64_t key) {
    uint64_t& slot = slot_of(key & kItemMask);
    const bool result = slot == stamp_of(key - (uint64_t{1} << kItemBits));
    slot = stamp_of(key);
    return result;
  }

 private:
  uint64_t stamp_of(uint64_t key) const { return key + epoch_ * 0x9e3779b97f4a7c15ull; }
  /// Neighbours stay neighbours; strides of the table's size do not meet.
  uint64_t& slot_of(uint64_t item) {
    return stamps_[static_cast<size_t>((item + (item >> bits_) * 0x9e5) & (stamps_.size() - 1))];
  }

  int bits_;
  uint64_t epoch_ = 1;
  std::vector<uint64_t> stamps_;
};

}  // namespace waco::pattern
