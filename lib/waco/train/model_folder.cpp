// Writing and reading back manifests.
#include "waco/train/model_folder.hpp"

#include <set>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/encoding.hpp"
#include "waco/train/checkpoint.hpp"

namespace waco::train {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "model.json";
constexpr const char* kWeights = "weights.safetensors";

}  // namespace

void ModelFolder::check() const {
  std::error_code error;
  if (fs::exists(folder_, error) && !fs::is_directory(folder_, error))
    throw UsageError(fmt::format("{}: is a file; -o names a folder", folder_.string()));
  if (!fs::is_directory(folder_, error) || fs::is_empty(folder_, error)) return;
  const bool is_model = has_model() ? is_artifact(folder_ / kManifest, waco::model::kModelFormat)
                                    : fs::exists(checkpoint(), error);
  if (!is_model || CheckpointFolder(checkpoint()).holds_others())
    throw UsageError(
        fmt::format("{}: holds something that is not a model; choose another folder", folder_.string()));
}

void ModelFolder::create() const {
  std::error_code error;
  if (!fs::is_directory(folder_, error) && !fs::create_directories(folder_, error))
    throw EnvironmentError(fmt::format("{}: can't be created: {}", folder_.string(), error.message()));
}

LockFile ModelFolder::lock() const {
  return CheckpointFolder(checkpoint())
      .lock(fmt::format("{}: another training of it is running", folder_.string()));
}

bool ModelFolder::has_checkpoint() const {
  return CheckpointFolder(checkpoint()).exists();
}

bool ModelFolder::has_model() const {
  std::error_code error;
  return fs::exists(folder_ / kManifest, error);
}

void ModelFolder::remove_checkpoint() const {
  CheckpointFolder(checkpoint()).remove();
}

nlohmann::ordered_json ModelFolder::write(const Network& network, const ModelDescription& model) const {
  FileReplacement weights(folder_ / kWeights), json(folder_ / kManifest);
  const std::string tensors = network.save().content();
  weights.write(tensors);
  std::set<std::string> types;
  std::set<int64_t> sizes;
  for (const Example* example : model.learned_from) {
    types.emplace(schedule::name(example->group.problem.type));
    sizes.insert(example->group.problem.rhs);
  }
  nlohmann::ordered_json manifest = {{"format", waco::model::kModelFormat},
                                     {"version", waco::model::kModelVersion},
                                     {"created_by", model.created_by},
                                     {"machine", model.machine},
                                     {"op", schedule::name(model.op)},
                                     {"types", types},
                                     {"rhs", sizes},
                                     {"extractor", model.extractor},
                                     {"dims", to_json(network.dims())},
                                     {"encoding_version", schedule::kEncodingVersion},
                                     {"feature_version", pattern::kFeatureVersion},
                                     {"terms_version", waco::model::kTermsVersion},
                                     {"weights_hash", content_hash(tensors)},
                                     {"dataset", model.dataset},
                                     {"training", model.training},
                                     {"metrics", model.metrics}};
  manifest.update(to_json(model.experience));
  json.write(artifact_text(manifest));
  weights.sync();
  json.sync();
  // Between the two the folder is no model; all that can take time or fail has been done.
  weights.commit();
  json.commit();
  return manifest;
}

model::TensorFile load_weights(const fs::path& folder, schedule::Op op, const std::string& extractor) {
  const nlohmann::json manifest = model::read_model_manifest(folder);
  if (manifest.value("op", "") != schedule::name(op))
    throw UsageError(fmt::format("{}: is a model of {}, the datasets are of {}", folder.string(),
                                 manifest.value("op", "?"), schedule::name(op)));
  if (manifest.value("extractor", "") != extractor)
    throw UsageError(fmt::format("{}: is a model with the extractor {}, not {}", folder.string(),
                                 manifest.value("extractor", "?"), extractor));
  return model::read_model_weights(folder);
}

}  // namespace waco::train
