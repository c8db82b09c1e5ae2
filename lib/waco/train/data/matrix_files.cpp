// Folders, lists and recipes.
#include "waco/train/data/matrix_files.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "waco/base/artifact.hpp"
#include "waco/base/byte_source.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/gzip.hpp"
#include "waco/base/tar.hpp"
#include "waco/matrix/line.hpp"

namespace waco::train {
namespace fs = std::filesystem;
namespace {

bool names_matrix(std::string_view name) {
  for (const char* end : {".mtx", ".mtx.gz", ".tns", ".tns.gz", ".tar", ".tar.gz", ".tgz"})
    if (name.ends_with(end)) return true;
  return false;
}

/// Whether a file of any name is a matrix by what it begins with, where a list would be text.
bool begins_as_matrix(const std::string& path) {
  constexpr size_t kHeadBytes = 512;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // a pipe can be read but once
  FileSource source(path);
  const std::string head = read_up_to(source, kHeadBytes);
  return is_gzip(head) || is_tar(head) || head.starts_with("%%MatrixMarket");
}

}  // namespace

MatrixFiles::MatrixFiles(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    std::error_code error;
    if (fs::is_directory(place, error)) {
      add_folder(place);
    } else if (!fs::exists(place, error)) {
      throw InputError(place, 0, "there is no such file or folder");
    } else {
      add_file(place);
      if (!names_matrix(place) && !begins_as_matrix(place)) add_list(place);
    }
  }
}

void MatrixFiles::add_file(const std::string& path) {
  std::vector<std::string>& paths = paths_[stored_text(fs::path(path).filename().string())];
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

void MatrixFiles::add_folder(const std::string& folder) {
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (auto at = fs::recursive_directory_iterator(folder, options, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (names_matrix(at->path().filename().string()) && at->is_regular_file(ignored))
      add_file(at->path().string());
  }
  if (error) throw InputError(folder, 0, fmt::format("can't be searched: {}", error.message()));
}

void MatrixFiles::add_list(const std::string& file) {
  std::string content = read_input_file(file);
  matrix::drop_byte_order_mark(content);
  std::istringstream text(std::move(content));
  for (std::string line; std::getline(text, line);) {
    line = std::string(matrix::trimmed(line));
    if (line.empty() || line[0] == '#' || line.starts_with(matrix::kSynthetic)) continue;
    std::error_code error;
    if (fs::is_directory(line, error)) {
      add_folder(line);
    } else if (fs::exists(line, error)) {
      add_file(line);
    }
  }
}

std::vector<matrix::CorpusItem> MatrixFiles::find(const Group& group) const {
  if (group.source.starts_with(matrix::kSynthetic)) return {{group.matrix, group.original, group.source}};
  // The name of a file may hold " | " itself; behind it there may be steps.
  for (size_t end = group.source.size(); end != std::string::npos && end > 0;
       end = group.source.rfind(" | ", end - 1)) {
    const auto found = paths_.find(group.source.substr(0, end));
    if (found == paths_.end()) continue;
    std::vector<matrix::CorpusItem> items;
    const std::scoped_lock lock(mutex_);
    for (const std::string& path : found->second) {
      matrix::CorpusItem item{group.matrix, group.original, path + group.source.substr(end)};
      const auto known = patterns_.find(item.source);
      if (known == patterns_.end() || known->second == group.matrix_hash) items.push_back(std::move(item));
    }
    return items;
  }
  return {};
}

void MatrixFiles::note_pattern(const matrix::CorpusItem& item, const std::string& hash) const {
  const std::scoped_lock lock(mutex_);
  patterns_[item.source] = hash;
}

}  // namespace waco::train
