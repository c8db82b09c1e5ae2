// Where the vertices of an index come from.
#pragma once

#include <cstdint>
#include <filesystem>

#include "waco/index/vertex_list.hpp"

namespace waco::index {

/// Adds the points of a dataset that could be run, slow ones too: the graph needs ways through them.
/// Returns how many vertices are new. Throws InputError when the file is no dataset of the op, or a plan in
/// it is none.
int64_t add_dataset(VertexList& vertices, const std::filesystem::path& dataset);

/// Adds at most `count` new vertices one change away from the three fastest points of each matrix and problem
/// of a dataset: where good points are, others are near. They take turns, so that each gets as many as there
/// are up to its equal part. Returns how many were added. Throws as add_dataset.
int64_t add_neighbours(VertexList& vertices, const std::filesystem::path& dataset, int64_t count);

/// Adds `count` new vertices: the structured points of typical shapes and sizes first, then stratified
/// samples of their spaces. Returns how many were added, less than `count` where the spaces hold no more.
int64_t add_samples(VertexList& vertices, int64_t count, uint64_t seed);

}  // namespace waco::index
