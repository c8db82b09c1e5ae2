// The matrices that a command line names: files, folders, lists, synthetic ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/matrix/corpus.hpp"

namespace waco::matrix {

struct InputOptions {
  std::vector<std::string> paths;  ///< files and folders
  std::vector<std::string> lists;  ///< files with one input a line
  int num_synthetic = 0;
};

/// Items in the order named: files, folders (searched with their subfolders, links to folders left out,
/// sorted by path; for `order` 2 .mtx files and archives, of SuiteSparse's the matrix alone, for 3 .tns
/// files, gzipped or not), the lines of the lists, then synthetic ones. A line of a list is a file or folder,
/// or "synthetic: " and a recipe; empty lines and those that begin with '#' say nothing. A source that is
/// named twice counts once; of a file that is not there, reading the item says so. Throws UsageError when
/// nothing is named, and InputError for lists and folders that can't be read.
std::vector<CorpusItem> gather_items(const InputOptions& options, int order, uint64_t seed);

}  // namespace waco::matrix
