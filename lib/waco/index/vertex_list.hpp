// The distinct vertices of an index, and their file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "waco/base/mapped_file.hpp"
#include "waco/index/vertex.hpp"

namespace waco::index {

/// Vertices are numbered in the order they were added. As a file: their text forms, one a line, plain or
/// gzipped.
class VertexList {
 public:
  explicit VertexList(schedule::Op op) : op_(op) {}

  /// Reads a gzipped file of vertices of `op`, without looking into the lines. Throws InputError.
  static VertexList read(const std::filesystem::path& file, schedule::Op op);
  /// The same of a plain file's content, which is used where it is; `source` names it in errors.
  static VertexList view(std::string source, MappedFile file, schedule::Op op);
  /// The content of a plain file; valid until the list changes.
  std::string_view plain() const { return file_ ? file_->content() : added_; }
  /// The content of a gzipped file; equal lists give equal bytes.
  std::string compressed() const;

  /// Adds the vertex of a point of the op; false when it is there already. See as_vertex.
  bool add(const schedule::SuperSchedule& point, int max_threads);

  schedule::Op op() const { return op_; }
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  /// Valid until the list changes.
  std::string_view text(int64_t vertex) const;
  /// Parses the text. Throws InputError when the line is not a vertex of the op.
  schedule::SuperSchedule vertex(int64_t vertex) const;

 private:
  void find_lines();

  schedule::Op op_;
  std::string source_ = "vertices";        ///< named in errors
  std::optional<MappedFile> file_;         ///< lines, until one is added
  std::string added_;                      ///< lines, where there is no file
  std::vector<size_t> ends_;               ///< places of the line ends
  std::unordered_set<std::string> known_;  ///< the lines, for add()
};

}  // namespace waco::index
