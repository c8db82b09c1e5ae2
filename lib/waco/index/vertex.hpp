// One vertex of an index: a point without a problem, a machine or a shape, and how it becomes a point again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "waco/schedule/space.hpp"

namespace waco::index {

/// Vertices have values of type f32 and a dense index of this size, which every tile fits in.
inline constexpr int64_t kVertexRhs = 1024;
/// Threads of a vertex that runs on all threads of the machine, and of one that runs on some of them.
inline constexpr int kAllThreads = 4;
inline constexpr int kSomeThreads = 2;

/// The vertex of a point that was made for a machine of `max_threads`. Sort windows become the next power of
/// two of slices, so that points of many shapes give one vertex. Requires a legal, canonical point.
schedule::SuperSchedule as_vertex(const schedule::SuperSchedule& point, int max_threads);

/// What an embedder sees of a vertex on a machine of `max_threads`: its threads become half or all of those.
schedule::SuperSchedule on_machine(const schedule::SuperSchedule& vertex, int max_threads);

/// What a problem must have for a vertex to be a point of it.
struct Needs {
  std::array<int32_t, 3> splits{1, 1, 1};  ///< smaller than the dimensions, but for 1
  int32_t tile = 0;                        ///< smaller than the dense index
  bool some_threads = false;               ///< three threads at least, so that some are not all or one

  bool met_by(const schedule::ScheduleSpace& space) const;
};
Needs needs_of(const schedule::SuperSchedule& vertex);

/// The point of `space` that a vertex stands for; nullopt when the space lacks what it needs.
std::optional<schedule::SuperSchedule> bind(const schedule::SuperSchedule& vertex,
                                            const schedule::ScheduleSpace& space);

}  // namespace waco::index
