// Where the vertices of an index come from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "waco/dataset/record.hpp"
#include "waco/index/vertex_list.hpp"

namespace waco::index {

/// The three fastest records of each matrix and problem of a dataset.
struct FastestRecords {
  std::filesystem::path file;  ///< of the dataset
  std::map<std::string, std::vector<dataset::Record>>
      records;  ///< by matrix and problem; fastest first, without samples
};

/// Adds the points of a dataset that could be run, slow ones too: the graph needs ways through them; but none
/// of matrices whose originals are in `judged_by`, for whom an index that holds their best points would make
/// tuning look better than it is. Notes the fastest in `fastest`. Returns how many vertices are new. Throws
/// InputError when the file is no dataset of the op, or a plan in it is none.
int64_t add_dataset(VertexList& vertices, const std::filesystem::path& dataset,
                    const std::set<std::string>& judged_by, FastestRecords& fastest);

/// Adds at most `count` new vertices one change away from the fastest points: where good points are, others
/// are near. Matrices and problems take turns, so that each gets as many as there are up to its equal part.
/// Returns how many were added.
int64_t add_neighbours(VertexList& vertices, const FastestRecords& fastest, int64_t count);

/// Adds `count` new vertices: the structured points of typical shapes and sizes first, then stratified
/// samples of their spaces. Returns how many were added, less than `count` where the spaces hold no more.
int64_t add_samples(VertexList& vertices, int64_t count, uint64_t seed);

}  // namespace waco::index
