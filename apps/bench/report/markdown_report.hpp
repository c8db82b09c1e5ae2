// Records as Markdown tables, for documents.
#pragma once

#include <string>
#include <vector>

#include "apps/bench/record.hpp"

namespace waco::bench {

/// A line for each problem with the geometric means; where peers were censored; the clear losses; then every
/// matrix with, for each problem, the speedup of our plan over fixed_csr and, in brackets, over the best
/// peer, or why it was not timed. Problems of matrices and of tensors get tables of their own.
std::string markdown_report(const std::vector<Record>& records);

}  // namespace waco::bench
