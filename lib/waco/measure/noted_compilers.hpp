// Which compilers filled a folder of kernels: a run that compiles nothing finds kernels by their compiler's
// identity without asking, or having, that compiler.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::measure {

/// Notes in `folder` that `compiler` makes kernels there for this processor, or that it was used again. A
/// note that can't be written is missed only by runs that compile nothing.
void note_compiler(const Compiler& compiler, const std::filesystem::path& folder);

/// The compilers that are noted in `folder` and made code for a processor like this one, the last used
/// first; with a `command` only those that were called by it.
std::vector<Compiler> noted_compilers(const std::filesystem::path& folder, const std::string& command);

/// The compiler whose kernels a run on `tensor` that compiles nothing can use: of those noted in `folder`
/// (empty: the user's) the last used of which fixed_csr is there. `command` is as in Compiler::find.
///
/// Throws EnvironmentError with exit code kCompiler, which tells how kernels get there, when there is none.
Compiler compiler_of_kernels(const matrix::SparseTensor& tensor, const schedule::Problem& problem,
                             const std::string& command, const std::filesystem::path& folder = {});

}  // namespace waco::measure
