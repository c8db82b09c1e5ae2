// Names and contents of the files.
#include "waco/train/data/preparation_cache.hpp"

#include <spdlog/spdlog.h>

#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/unused_entries.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/pattern/pattern_features.hpp"

namespace waco::train {
namespace fs = std::filesystem;
namespace {

int64_t num_terms() {
  return static_cast<int64_t>(model::cost_feature_names().size());
}

/// What the patterns of a group are told apart by, beside their hash.
std::string order_of(const Group& group) {
  if (!group.clustered) return "";
  const std::string window = group.cluster_window > 0 ? fmt::format("-{}", group.cluster_window) : "";
  return fmt::format("-clustered{}{}", codegen::kClusteringVersion, window);
}

}  // namespace

/// The only tensor of a file; none when it isn't there, is damaged, or has another shape.
std::optional<std::vector<float>> PreparationCache::load(const fs::path& file,
                                                         const std::vector<int64_t>& shape) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(file, error)) return std::nullopt;
  try {
    std::vector<float> values = model::TensorFile::read(file).get("values", shape).data;
    note_use(file);
    return values;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void PreparationCache::keep(const fs::path& file, std::vector<int64_t> shape,
                            const std::vector<float>& values) const {
  if (folder_.empty()) return;
  model::TensorFile tensors;
  tensors.set("values", std::move(shape), values);
  try {
    make_private_folder(folder_);
    tensors.write(file);
    grown_ = true;
  } catch (const EnvironmentError& error) {
    std::call_once(told_, [&] { spdlog::warn("{}; inputs are not kept for later runs", error.what()); });
  }
}

fs::path PreparationCache::features_file(const Group& group) const {
  return folder_ / fmt::format("features-v{}-{}{}.safetensors", pattern::kFeatureVersion, group.matrix_hash,
                               order_of(group));
}

fs::path PreparationCache::terms_file(const Group& group, const model::Ceilings& ceilings) const {
  std::string key =
      fmt::format("{} {} {} {} {} {} {}\n", model::kClosedFormVersion, group.matrix_hash + order_of(group),
                  schedule::name(group.problem.op), schedule::name(group.problem.type), group.problem.rhs,
                  group.threads, model::to_json(ceilings).dump());
  for (const schedule::SuperSchedule& point : group.points) key += to_text(point) + "\n";
  return folder_ / fmt::format("terms-v{}-{}.safetensors", model::kTermsVersion, content_hash(key));
}

std::optional<std::vector<float>> PreparationCache::features(const Group& group) const {
  const size_t count = pattern::feature_names(static_cast<int>(group.dims.size())).size();
  return load(features_file(group), {static_cast<int64_t>(count)});
}

void PreparationCache::keep_features(const Group& group, const std::vector<float>& features) const {
  keep(features_file(group), {static_cast<int64_t>(features.size())}, features);
}

std::optional<std::vector<float>> PreparationCache::terms(const Group& group,
                                                          const model::Ceilings& ceilings) const {
  return load(terms_file(group, ceilings), {static_cast<int64_t>(group.size()), num_terms()});
}

void PreparationCache::keep_terms(const Group& group, const model::Ceilings& ceilings,
                                  const std::vector<float>& terms) const {
  keep(terms_file(group, ceilings), {static_cast<int64_t>(group.size()), num_terms()}, terms);
}

void PreparationCache::tidy() const {
  if (grown_) remove_unused_entries(folder_, "");
}

}  // namespace waco::train
