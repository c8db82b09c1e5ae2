// What results of a search over half of the space must be.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "waco/schedule/building.hpp"
#include "waco/search/search.hpp"

namespace waco::search::testing {

/// Of formats alone: each with its default schedule; of schedules alone: all over CSR.
inline void check_within(schedule::Subspace subspace, const schedule::Problem& problem, int threads,
                         const std::vector<Scored>& results) {
  const schedule::SuperSchedule csr = schedule::csr_point(problem, threads);
  for (const Scored& result : results) {
    if (subspace == schedule::Subspace::kFormat)
      CHECK(schedule::default_point(problem, result.point.format, threads) == result.point);
    else
      CHECK(result.point.format == csr.format);
  }
}

}  // namespace waco::search::testing
