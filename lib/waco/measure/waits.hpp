// How long threads of this process were ready to run and waited for a CPU.
#pragma once

#include <map>
#include <string>

namespace waco::measure {

/// Counts from its construction on.
class Waits {
 public:
  Waits();
  /// Whether the system tells.
  bool known() const { return !before_ns_.empty(); }
  /// The longest that a thread waited since then; the others wait for it at a barrier. 0 where nothing is
  /// known.
  double longest_ns() const;

 private:
  std::map<std::string, double> before_ns_;  ///< by thread
};

}  // namespace waco::measure
