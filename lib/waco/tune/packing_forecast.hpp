// How long packing takes, by the kind of format: a plain model that is good to a factor of two.
#pragma once

#include <cstdint>

#include "waco/schedule/super_schedule.hpp"

namespace waco::tune {

/// Nanoseconds of clustering the rows of a matrix with so many nonzeros.
double clustering_forecast_ns(int64_t num_nonzeros);

/// Nanoseconds that packing `num_nonzeros` sorted nonzeros into `stored_bytes` (fill included) of the format
/// of `point` takes on so many threads: a time for each nonzero, which depends on how the format is packed
/// (kernels-templates/packer.hpp), and one for each byte that is written to memory fresh from the system.
///
/// A forecast of the usual case. A single packing on a busy machine takes longer by some milliseconds,
/// whenever a thread waits for its turn.
double packing_forecast_ns(const schedule::SuperSchedule& point, int64_t num_nonzeros, double stored_bytes,
                           int threads);

}  // namespace waco::tune
