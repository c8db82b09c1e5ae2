// The choices a legal point may make, in ascending order; docs/superschedule.md lists them.
#pragma once

#include <array>
#include <cstdint>

#include "waco/schedule/op.hpp"

namespace waco::schedule {

inline constexpr std::array<int32_t, 27> kSplits{1,   2,   3,   4,    5,    6,    7,    8,     9,
                                                 10,  11,  12,  13,   14,   15,   16,   32,    64,
                                                 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
inline constexpr std::array<int32_t, 12> kTiles{4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512};
inline constexpr std::array<int32_t, 13> kChunks{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
inline constexpr std::array<int32_t, 5> kUnrolls{1, 2, 4, 8, 16};
inline constexpr std::array<int32_t, 7> kPrefetches{0, 1, 2, 4, 8, 16, 32};
inline constexpr int32_t kMaxThreads = 1024;
inline constexpr int64_t kMaxRhs = int64_t{1} << 20;

}  // namespace waco::schedule
