// The loaded hwloc topology, shared by the files that read it.
#pragma once

#include <hwloc.h>

namespace waco {

/// Owns a loaded topology of the whole machine, whatever this process may use of it. Throws EnvironmentError
/// when hwloc can't load it.
class Topology {
 public:
  Topology();
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
};

}  // namespace waco
