// waco-worker: measures candidate kernels for another program of the toolchain, so that their faults stay its
// own.
#include <cstdio>
#include <exception>

#include "waco/measure/worker.hpp"

#if defined(__SANITIZE_ADDRESS__)
/// A candidate's fault shall end the worker with its signal, as it does without the sanitizer.
extern "C" const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:handle_sigill=0";
}
#endif

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
