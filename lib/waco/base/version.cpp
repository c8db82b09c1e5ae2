// Which build of the toolchain this is; the constants come from the build system.
#include "waco/base/version.hpp"

#include <fmt/format.h>

#include "waco_commit.hpp"

namespace waco {

std::string_view version() {
  return WACO_VERSION;
}
std::string_view commit() {
  return WACO_COMMIT;
}
std::string_view compiler() {
  return WACO_COMPILER;
}

std::string version_line(std::string_view program) {
  return fmt::format("{} {} (commit {}, {})", program, version(), commit(), compiler());
}

}  // namespace waco
