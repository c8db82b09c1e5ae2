// waco-worker: measures candidate kernels for another program of the toolchain, so that their faults stay its
// own.
#include <cstdio>
#include <exception>

#include "waco/measure/worker.hpp"

int main() {
  try {
    const int status = waco::measure::run_worker();
    if (status == 2)
      std::fputs("waco-worker is started by waco-tune and its siblings, not by hand\n", stderr);
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waco-worker: %s\n", error.what());
    return 1;
  }
}
