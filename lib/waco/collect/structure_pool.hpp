// Structures that the matrices of a collection have in common, so that their kernels are compiled once.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "waco/base/random.hpp"
#include "waco/schedule/space.hpp"

namespace waco::collect {

/// An endless sequence of points for each family of formats, fixed by problem, threads and seed. A draw takes
/// one of them, early ones far more often than late ones, and gives it to a matrix with other values of what
/// kernels take as run-time arguments: chunk, number of threads, prefetch distance, large splits, sort
/// window. Few structures then serve a small collection, and a large one still sees many.
class StructurePool {
 public:
  StructurePool(const schedule::Problem& problem, int max_threads, uint64_t seed);

  /// A point of `space`, which is of the same problem. `random` alone decides which.
  schedule::SuperSchedule draw(const schedule::ScheduleSpace& space, schedule::Stratum family,
                               Random& random);
  /// The point at a place, from 0, of a family's sequence.
  const schedule::SuperSchedule& structure(schedule::Stratum family, int place);

 private:
  schedule::ScheduleSpace space_;  ///< of a shape on which every split is possible
  uint64_t seed_;
  std::map<std::pair<schedule::Stratum, int>, schedule::SuperSchedule> structures_;
};

}  // namespace waco::collect
