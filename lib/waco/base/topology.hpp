// The loaded hwloc topology, shared by the files that read it.
#pragma once

#include <hwloc.h>

namespace waco {

/// The topology of the whole machine, whatever this process may use of it: loaded at the first call, which
/// takes milliseconds, and kept. Throws EnvironmentError when hwloc can't load it.
hwloc_topology_t topology();

}  // namespace waco
