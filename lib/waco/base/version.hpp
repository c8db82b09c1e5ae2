// Which build of the toolchain this is.
#pragma once

#include <string>
#include <string_view>

namespace waco {

std::string_view version();  ///< "0.1.0"
std::string_view
commit();  ///< commit of the sources, with "-dirty" when they were edited; "unknown" outside of git
std::string_view compiler();  ///< the compiler that built this program, such as "GNU 12.2.0"

/// "PROGRAM 0.1.0 (commit 1234567890ab, GNU 12.2.0)", what --version prints.
std::string version_line(std::string_view program);

}  // namespace waco
