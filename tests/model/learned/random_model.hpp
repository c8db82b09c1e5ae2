// A model folder with random weights, in the layout of docs/model.md: for tests of what uses models.
#pragma once

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <vector>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/random.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/tensor_file.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/encoding.hpp"

namespace waco::test {

class RandomModel {
 public:
  RandomModel(schedule::Op op, uint64_t seed)
      : op_(op), layout_(schedule::encoding_layout(op)), random_(seed) {}

  /// Creates `folder`.
  void write(const std::filesystem::path& folder) {
    make();
    std::filesystem::create_directories(folder);
    tensors_.write(folder / "weights.safetensors");
    auto manifest = artifact_header("waco-model", 1, "random_model", "random_model", describe_machine());
    manifest["op"] = schedule::name(op_);
    manifest["types"] = {"f32"};
    manifest["rhs"] = {schedule::default_rhs(op_)};
    manifest["extractor"] = "human";
    nlohmann::ordered_json categories = nlohmann::ordered_json::array();
    for (const auto& field : layout_.categories) categories.push_back(field.num_values);
    manifest["dims"] = {{"features", features_},
                        {"problem", 2},
                        {"numbers", layout_.numbers.size()},
                        {"terms", terms_},
                        {"pattern", kP},
                        {"embedding", kE},
                        {"hidden", kH},
                        {"extracted", features_},
                        {"categories", categories},
                        {"level_vars", layout_.num_level_vars},
                        {"loop_vars", layout_.num_loop_vars},
                        {"table", kTable}};
    manifest["encoding_version"] = schedule::kEncodingVersion;
    manifest["feature_version"] = pattern::kFeatureVersion;
    manifest["terms_version"] = model::kTermsVersion;
    manifest["weights_hash"] = content_hash(read_file(folder / "weights.safetensors"));
    manifest["dataset"] = nlohmann::ordered_json::object();
    manifest["training"] = nlohmann::ordered_json::object();
    manifest["metrics"] = nlohmann::ordered_json::object();
    write_artifact(folder / "model.json", manifest);
  }

 private:
  static constexpr int64_t kP = 64, kE = 64, kH = 64, kTable = 16;

  float normal(double scale) {
    const double length = std::sqrt(-2 * std::log(1 - random_.uniform()));
    return static_cast<float>(scale * length * std::cos(2 * std::numbers::pi * random_.uniform()));
  }
  void fill(const std::string& name, std::vector<int64_t> shape, double scale) {
    int64_t size = 1;
    for (const int64_t n : shape) size *= n;
    std::vector<float> data;
    for (int64_t n = 0; n < size; ++n) data.push_back(normal(scale));
    tensors_.set(name, std::move(shape), std::move(data));
  }
  void constant(const std::string& name, int64_t size, float value) {
    tensors_.set(name, {size}, std::vector<float>(static_cast<size_t>(size), value));
  }
  void linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias = true) {
    fill(name + ".weight", {outputs, inputs}, std::sqrt(2.0 / static_cast<double>(inputs)));
    if (bias) fill(name + ".bias", {outputs}, 0.1);
  }
  void standard(const std::string& name, int64_t size, float mean, float scale) {
    constant("input." + name + ".mean", size, mean);
    constant("input." + name + ".scale", size, scale);
  }

  void make() {
    const auto numbers = static_cast<int64_t>(layout_.numbers.size());
    standard("features", features_, 12, 0.25f);
    standard("problem", 2, 3, 0.5f);
    standard("numbers", numbers, 1, 0.5f);
    standard("terms", terms_, 0, 0.25f);
    linear("pattern.fc1", 128, features_ + 2);
    linear("pattern.fc2", kP, 128);
    for (const auto& field : layout_.categories)
      fill("embedder.table." + field.name + ".weight", {field.num_values, kTable}, 1);
    linear("embedder.levels", kTable, layout_.num_level_vars * layout_.num_level_vars);
    linear("embedder.loops", kTable, layout_.num_loop_vars * layout_.num_loop_vars);
    linear("embedder.numbers", kTable, numbers);
    linear("embedder.fc1", 128, kTable * (static_cast<int64_t>(layout_.categories.size()) + 3));
    linear("embedder.fc2", kE, 128);
    linear("retrieve.pattern", kH, kP);
    linear("retrieve.schedule", kH, kE, false);
    linear("retrieve.product", kH, kE, false);
    linear("retrieve.fc", 32, kH);
    linear("retrieve.out", 1, 32);
    linear("correct.terms", 32, terms_);
    linear("correct.hidden", 32, kH, false);
    linear("correct.out", 1, 32);
    constant("correct.slope", 1, 0.5f);
    tensors_.set("calibration", {2}, {0.0f, 0.2f});
  }

  schedule::Op op_;
  const schedule::EncodingLayout& layout_;
  Random random_;
  int64_t features_ = schedule::sparse_order(op_) + 1;
  int64_t terms_ = static_cast<int64_t>(model::cost_feature_names().size());
  model::TensorFile tensors_;
};

inline void write_random_model(const std::filesystem::path& folder, schedule::Op op, uint64_t seed = 1) {
  RandomModel(op, seed).write(folder);
}

/// Changes what model.json says.
template <class Edit>
void edit_manifest(const std::filesystem::path& folder, const Edit& edit) {
  const std::filesystem::path file = folder / "model.json";
  auto manifest = nlohmann::ordered_json::parse(read_file(file));
  edit(manifest);
  write_artifact(file, manifest);
}

/// Rewrites the weights and the hash that the manifest names.
template <class Edit>
void edit_weights(const std::filesystem::path& folder, const Edit& edit) {
  const std::filesystem::path file = folder / "weights.safetensors";
  model::TensorFile tensors = model::TensorFile::read(file);
  edit(tensors);
  tensors.write(file);
  edit_manifest(folder, [&](auto& manifest) { manifest["weights_hash"] = content_hash(read_file(file)); });
}

}  // namespace waco::test
