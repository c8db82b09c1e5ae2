// What a training or an evaluation is made of: the examples of datasets, on both sides of their split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "waco/base/signals.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/train/data/preparation.hpp"
#include "waco/train/network/extractor.hpp"
#include "waco/train/training.hpp"

namespace waco::train {

using Examples = std::vector<const Example*>;

/// Examples of both sides, and the extractor that made their patterns.
struct Data {
  Records records;  ///< without its groups
  std::vector<Example> examples;
  int64_t num_missing_records = 0;
  std::vector<model::Ceilings> borrowed_ceilings;
  std::shared_ptr<TorchExtractor> extractor;
  std::optional<model::TensorFile> weights;  ///< of the model to begin with
  Examples training, validation;
};

/// Loads the datasets and the weights of `model`, a folder or none, and prepares the datasets' patterns for
/// the extractor, of which convolutions look at `max_sites` nonzeros. Warns about what is mixed, borrowed or
/// missing. Throws UsageError, before patterns are prepared, where the model is of another op or extractor,
/// InputError where no matrix is found, and EnvironmentError when `stop` ended it.
Data load_data(const DataOptions& options, const std::string& extractor, int64_t max_sites,
               const std::filesystem::path& model, const StopToken& stop);

/// Null without one.
nlohmann::ordered_json resplit_json(const std::optional<Resplit>& resplit);

/// Names of the originals.
std::set<std::string> originals_of(const Examples& examples);

/// What reports and manifests say of it.
nlohmann::ordered_json data_json(const Data& data, const std::optional<Resplit>& resplit);

}  // namespace waco::train
