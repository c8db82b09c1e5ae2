// Reading a sparse matrix or tensor from a file, whatever its kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

struct ReadOptions {
  int threads = 0;                                              ///< 0: usable_threads()
  size_t chunk_bytes = size_t{1} << 18;                         ///< of text, the unit of parallel work
  int64_t most_nonzeros = std::numeric_limits<int64_t>::max();  ///< larger files are refused
  int order = 0;  ///< of what is needed: files of another are refused before they are read; 0: any
  StopToken stop = {};
};

struct ReadResult {
  SparseTensor tensor;
  /// What was done to the content, for people: "12 duplicate entries were summed".
  std::vector<std::string> notes;
};

/// Reads a Matrix Market coordinate file (.mtx) or a FROSTT tensor (.tns), or a tar archive with the former
/// in a folder of its name, as SuiteSparse has it; each of them gzip-compressed or not; "-" is standard
/// input. The content decides which it is, never the name. See matrix_market.hpp and frostt.hpp for what is
/// accepted. Memory beside the tensor: at most once its size again, to sort it. Throws InputError naming
/// file, line, cause and remedy for anything else, and for more than `most_nonzeros`; TooLargeError when the
/// memory does not suffice, as soon as that is known; UsageError for one of another `order`; Stopped when
/// asked to. No more memory is taken on the word of a file than its text could fill.
ReadResult read_tensor(const std::string& path, const ReadOptions& options = {});

/// The same for the bytes of a file that are in memory; `name` is what errors and the tensor call it.
ReadResult read_tensor_bytes(std::string_view content, const std::string& name,
                             const ReadOptions& options = {});

/// The name of a tensor in `path`: without its folder, ".gz" and ".mtx", ".mm", ".tns", ".txt", ".tar" or
/// ".tgz"; "stdin" for "-".
std::string tensor_name(const std::string& path);

}  // namespace waco::matrix
