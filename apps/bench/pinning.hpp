// Threads that stay where they are: all contestants of one process run on the same pinned OpenMP pool.
#pragma once

namespace waco::bench {

/// Makes OpenMP pin its threads as a worker's are pinned. OpenMP reads its settings before main, so this
/// starts the program again, once, with them in the environment (and with huge pages for every allocation
/// where the system leaves that to programs, alike for all contestants). Returns when nothing is to be done:
/// the settings are there, or the user has chosen a binding; and, with a warning, where that fails.
void restart_with_pinned_threads(int threads, char** argv);

}  // namespace waco::bench
