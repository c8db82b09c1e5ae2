// The distinct vertices of an index, and their file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "waco/index/vertex.hpp"

namespace waco::index {

/// Vertices are numbered in the order they were added. As a file: their text forms, one a line, gzipped.
class VertexList {
 public:
  explicit VertexList(schedule::Op op) : op_(op) {}

  /// Reads a file of vertices of `op`, without looking into the lines. Throws InputError.
  static VertexList read(const std::filesystem::path& file, schedule::Op op);
  /// The content of the file; equal lists give equal bytes. Without `small` it is larger, and read faster.
  std::string compressed(bool small = true) const;

  /// Adds the vertex of a point of the op; false when it is there already. See as_vertex.
  bool add(const schedule::SuperSchedule& point, int max_threads);

  schedule::Op op() const { return op_; }
  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  const std::string& text(int64_t vertex) const { return texts_[static_cast<size_t>(vertex)]; }
  /// Parses the text. Throws InputError when the line is not a vertex of the op.
  schedule::SuperSchedule vertex(int64_t vertex) const;

 private:
  schedule::Op op_;
  std::string source_ = "vertices";  ///< named in errors
  std::vector<std::string> texts_;
  std::unordered_set<std::string> known_;  ///< the same, for add()
};

}  // namespace waco::index
