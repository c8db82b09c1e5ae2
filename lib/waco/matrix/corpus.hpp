// The matrices and tensors a dataset is collected on: files, synthetic ones, and reshaped copies of both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "waco/matrix/read.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::matrix {

/// How the source of a synthetic item begins.
inline constexpr std::string_view kSynthetic = "synthetic: ";

/// One tensor, described so that it can be made again.
struct CorpusItem {
  std::string name;      ///< without blanks and slashes; shared by files of one name in several folders
  std::string original;  ///< name of the item it was reshaped from, else its own: what splits go by
  /// A path, or kSynthetic and a family with parameters (synthetic.hpp); behind either any number of
  /// " | step" (reshape.hpp).
  std::string source;

  bool operator==(const CorpusItem&) const = default;
};

/// The item of a file. Nothing is read.
CorpusItem file_item(const std::string& path);

/// The item of a recipe such as "stencil2d n=100" or "fem nx=20 dof=3 | shuffle block=3". Throws UsageError
/// for one that make() would not understand.
CorpusItem synthetic_item(const std::string& recipe);

/// `count` items of `order` 2 or 3 that span families and sizes: 1e4 to 4e6 nonzeros, most of them 1e5 to
/// 1e6. The same seed gives the same items, and the first n of a longer corpus are those of a corpus of n.
std::vector<CorpusItem> synthetic_corpus(int count, int order, uint64_t seed);

/// Largest copies that augmented() makes, those of the paper (section 4.3); of nonzeros about, as it takes
/// them for spread evenly over the rows.
constexpr int64_t kMostAugmentedRows = 131072;
constexpr int64_t kMostAugmentedNonzeros = 10'000'000;

/// `copies` items that reshape `original`, which has `dims` and `num_nonzeros`, to other sizes and shapes.
/// Deterministic like synthetic_corpus(); names and sources extend those of `original`.
std::vector<CorpusItem> augmented(const CorpusItem& original, const std::vector<int64_t>& dims,
                                  int64_t num_nonzeros, int copies, uint64_t seed);

/// What records call an item's source: its path without the folder, or its recipe. Files of one name are told
/// apart by their patterns' hashes.
std::string record_source(const CorpusItem& item);

/// Reads or generates the tensor of an item; its name is the item's. The same item gives the same tensor on
/// every machine and with any number of threads. Throws InputError and EnvironmentError as read_tensor()
/// does, and UsageError for a recipe that can't be understood.
SparseTensor make(const CorpusItem& item);
/// The same, with what reading has to tell.
ReadResult read_item(const CorpusItem& item, const ReadOptions& options = {});

}  // namespace waco::matrix
