// Where the matrices of a dataset are: its records name files without folders, and recipes.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "waco/matrix/corpus.hpp"
#include "waco/train/data/groups.hpp"

namespace waco::train {

/// Files by name.
class MatrixFiles {
 public:
  /// `places`: folders (searched with their subfolders), matrices, and lists with one of these a line as
  /// waco-collect --list takes them. What a list names and is not there is passed over. Throws InputError
  /// for a place that is not there.
  explicit MatrixFiles(const std::vector<std::string>& places);

  /// What may make the tensor of a group: its recipe, or the files of its name in the order of the places, of
  /// which the one with the group's pattern is meant. Files that are known to hold another are left out.
  /// Empty when no place holds such a file.
  std::vector<matrix::CorpusItem> find(const Group& group) const;

  /// Tells the hash of the pattern that an item was found to have. Safe for use by several threads.
  void note_pattern(const matrix::CorpusItem& item, const std::string& hash) const;

 private:
  void add_file(const std::string& path);
  void add_folder(const std::string& folder);
  void add_list(const std::string& file);
  std::map<std::string, std::vector<std::string>> paths_;  ///< by file name
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> patterns_;  ///< hashes of those that were read, by source
};

}  // namespace waco::train
