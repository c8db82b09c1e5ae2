// The FROSTT text format of sparse tensors (.tns).
#pragma once

#include "waco/matrix/read.hpp"
#include "waco/matrix/text_reader.hpp"

namespace waco::matrix {

/// Reads a whole file: one nonzero a line, its 1-based indices and its value; '#' begins a comment line. The
/// first line decides the order: 3, or 2, which gives a matrix. Dimensions are the largest indices. Entries
/// may stand in any order; duplicates are summed. Throws InputError, for tensors of order 4 and above too.
ReadResult read_frostt(TextReader& text, const ReadOptions& options);

}  // namespace waco::matrix
