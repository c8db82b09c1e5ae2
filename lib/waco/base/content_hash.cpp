// Two hashes of 128 bits: byte by byte for what is small, in lanes of words for what is large.
#include "waco/base/content_hash.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace waco {
namespace {

constexpr std::string_view kFastPrefix = "x-";

}  // namespace

std::string content_hash(std::string_view content) {
  // Two 64-bit FNV-1a streams from different starts, each finished by a mixing round that spreads the last
  // bytes.
  uint64_t low = 0xcbf29ce484222325ull;
  uint64_t high = 0x84222325cbf29ce4ull;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    low = (low ^ byte) * 0x100000001b3ull;
    high = (high ^ byte) * 0x9e3779b97f4a7c15ull;
    high ^= high >> 29;
  }
  const auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  return fmt::format("{:016x}{:016x}", mix(low ^ content.size()), mix(high));
}

std::string fast_content_hash(std::string_view content) {
  // Eight lanes of eight bytes, each with a multiplication of its own under way; then the lanes, one by one.
  constexpr size_t kLanes = 8, kStripe = kLanes * sizeof(uint64_t);
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  uint64_t lanes[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = 0x243f6a8885a308d3ull + lane * kFactor;
  char last[kStripe] = {};
  size_t at = 0;
  const auto add = [&](const char* stripe) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint64_t word = 0;
      std::memcpy(&word, stripe + lane * sizeof word, sizeof word);
      lanes[lane] = (lanes[lane] ^ word) * kFactor;
      lanes[lane] ^= lanes[lane] >> 29;
    }
  };
  for (; at + kStripe <= content.size(); at += kStripe) add(content.data() + at);
  if (at < content.size()) {
    std::memcpy(last, content.data() + at, content.size() - at);
    add(last);
  }
  uint64_t low = content.size(), high = ~low;
  for (const uint64_t lane : lanes) {
    low = (low ^ lane) * kFactor;
    low ^= low >> 32;
    high = (high + lane) * 0xbf58476d1ce4e5b9ull;
    high ^= high >> 31;
  }
  return fmt::format("{}{:016x}{:016x}", kFastPrefix, low, high);
}

bool has_hash(std::string_view content, std::string_view hash) {
  return (hash.starts_with(kFastPrefix) ? fast_content_hash(content) : content_hash(content)) == hash;
}

}  // namespace waco
