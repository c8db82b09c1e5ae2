// What the network is given of every group. Features of patterns and terms of the closed-form model take a
// while, so they are computed once and kept in the cache folder.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/train/data/groups.hpp"
#include "waco/train/data/matrix_files.hpp"

namespace waco::train {

struct PreparedPattern;

/// A group and its inputs, not yet standardised. n points.
struct Example {
  Group group;
  std::vector<float> features;                     ///< [F]; empty for extractors that look at the pattern
  std::shared_ptr<const PreparedPattern> pattern;  ///< for those
  std::vector<float> problem;                      ///< [2]: log2(rhs), 1 for f64
  std::vector<int64_t> categories;                 ///< [n, C]
  std::vector<float> levels;                       ///< [n, V * V]
  std::vector<float> loops;                        ///< [n, L * L]
  std::vector<float> numbers;                      ///< [n, N]
  std::vector<float> terms;                        ///< [n, T]; the first is the closed-form model's cost
};

/// From a tensor to what a convolutional extractor takes.
using PatternMaker = std::function<std::shared_ptr<const PreparedPattern>(const matrix::SparseTensor&)>;

struct PreparationOptions {
  std::string extractor = "pyramid";
  PatternMaker make_pattern;    ///< none for extractors whose input is a vector
  std::filesystem::path cache;  ///< folder, created when needed; empty: keep nothing
  int threads = 1;              ///< of this process
  /// Ceilings of this machine for a number of threads, taken for groups that have none of their own.
  std::function<model::Ceilings(int threads)> ceilings;
};

struct Preparation {
  std::vector<Example> examples;  ///< in the order of the groups
  int64_t num_missing_groups = 0;
  int64_t num_missing_records = 0;  ///< whose matrices were not found
  std::string first_missing;        ///< source of one of them
  /// What PreparationOptions::ceilings gave for groups without their own, by threads.
  std::vector<model::Ceilings> borrowed_ceilings;
};

/// Whether the extractor's input is a vector of numbers: pyramid and human.
bool takes_features(std::string_view extractor);

/// Drops groups whose matrix can't be found, can't be read, or has another pattern now. Ends early when
/// `stop` asks for it: the groups that are left are then missing, and the cache keeps what was done.
Preparation prepare(std::vector<Group> groups, const MatrixFiles& files, const PreparationOptions& options,
                    const StopToken& stop);

}  // namespace waco::train
