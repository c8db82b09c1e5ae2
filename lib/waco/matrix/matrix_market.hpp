// The Matrix Market coordinate format (.mtx).
#pragma once

#include <cstdint>
#include <string_view>

#include "waco/matrix/read.hpp"
#include "waco/matrix/text_reader.hpp"

namespace waco::matrix {

/// Whether the line is the first one of a Matrix Market file.
bool is_matrix_market_banner(std::string_view line);

/// Reads a whole file. Accepted: real, integer or pattern values; general, symmetric (either triangle) and
/// skew-symmetric, expanded; upper and lower case in the banner; comment and blank lines anywhere; CRLF;
/// entries in any order; duplicates, which are summed; explicit zeros, which are kept; values as described at
/// parse_value, where "inf" and "nan" are values but a number beyond the largest double is an error; an
/// integer file's values may have a fraction. Not accepted: complex values, hermitian, skew-symmetric
/// patterns, dense arrays, vectors, a matrix without rows or columns. `likely_text_bytes` bounds the memory
/// taken before the text is read; -1 takes none.
ReadResult read_matrix_market(TextReader& text, int64_t likely_text_bytes, const ReadOptions& options);

}  // namespace waco::matrix
