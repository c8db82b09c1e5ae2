// The text of the kernel templates, embedded in the library when it is configured.
#pragma once

#include <string_view>

namespace waco::codegen {

/// Text of kernels-templates/`name`, for example "abi.hpp"; lives as long as the program.
std::string_view template_text(std::string_view name);

}  // namespace waco::codegen
