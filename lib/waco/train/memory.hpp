// How a training program holds memory.
#pragma once

namespace waco::train {

/// Makes memory that is freed stay with the process. Activations of tens of megabytes come and go at every
/// step, and fetching them from the system anew takes longer than the convolutions. To be called first in
/// main().
void keep_freed_memory();

}  // namespace waco::train
