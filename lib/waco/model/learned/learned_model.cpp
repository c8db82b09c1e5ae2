// Reads a model folder, distrusting all of it, and evaluates the parts that patterns and points go through.
#include "waco/model/learned/learned_model.hpp"

#include <algorithm>
#include <cmath>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/mapped_file.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/model_weights.hpp"
#include "waco/pattern/pattern_features.hpp"

namespace waco::model {
namespace fs = std::filesystem;
namespace {

/// Those that a manifest names, the model's own first.
std::vector<Machine> machines_of(const nlohmann::json& manifest) {
  std::vector<Machine> machines;
  const auto add = [&](const nlohmann::json& machine) {
    if (!machine.is_null() && !machine.value("cpu", "").empty()) machines.push_back(machine.get<Machine>());
  };
  add(manifest.value("machine", nlohmann::json::object()));
  const nlohmann::json dataset = manifest.value("dataset", nlohmann::json::object());
  for (const nlohmann::json& machine : dataset.value("machines", nlohmann::json::array())) add(machine);
  return machines;
}

class FolderReader {
 public:
  explicit FolderReader(const fs::path& folder)
      : manifest_file_(folder / "model.json"), weights_file_(folder / "weights.safetensors") {
    std::error_code error;
    if (!fs::exists(manifest_file_, error))
      throw InputError(folder.string(), 0, "holds no model: there is no model.json in it");
    manifest_ = read_artifact(manifest_file_, kModelFormat, kModelVersion);
    with_keys([&] {
      check_versions();
      const auto op = schedule::parse_op(manifest_.at("op").get<std::string>());
      if (!op) fail(fmt::format("its op {} is none of this program's", manifest_.at("op").dump()));
      const auto extractor = manifest_.at("extractor").get<std::string>();
      const auto& names = extractor_names();
      if (std::find(names.begin(), names.end(), extractor) == names.end())
        fail(fmt::format("its extractor {} is unknown; use a newer program", extractor));
      check_encoding(*op);
      check_origin();
      op_ = *op;
      extractor_ = extractor;
    });
  }

  const nlohmann::json& manifest() const { return manifest_; }

  std::unique_ptr<LearnedModel::Weights> read() const {
    const TensorFile tensors = read_weights();
    std::unique_ptr<LearnedModel::Weights> weights;
    with_keys([&] {
      weights = std::make_unique<LearnedModel::Weights>(manifest_, hash(), op_, extractor_, tensors);
      check_dims(*weights);
    });
    return weights;
  }

  /// The tensors must be those that the manifest was written with, and numbers.
  TensorFile read_weights() const {
    std::error_code error;
    if (!fs::exists(weights_file_, error))
      throw InputError(weights_file_.string(), 0, "is missing beside model.json");
    const MappedFile file(weights_file_);
    with_keys([&] {
      if (!has_hash(file.content(), manifest_.at("weights_hash").get<std::string>()))
        throw InputError(weights_file_.string(), 0,
                         "is not the file that model.json was written with (weights_hash)");
    });
    TensorFile tensors = TensorFile::parse(weights_file_.string(), file.content());
    for (const auto& [name, tensor] : tensors.tensors())
      if (!std::all_of(tensor.data.begin(), tensor.data.end(), [](float x) { return std::isfinite(x); }))
        throw InputError(weights_file_.string(), 0,
                         fmt::format("tensor {} holds what is not a number", name));
    return tensors;
  }

 private:
  /// Does what looks at keys of the manifest; one that is not as it should be is the file's fault.
  template <typename Action>
  void with_keys(Action&& action) const {
    try {
      action();
    } catch (const nlohmann::json::exception&) {
      fail("a key is missing or of the wrong kind; write the model again with waco-train");
    }
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(manifest_file_.string(), 0, message);
  }

  void check_version(const char* key, int known) const {
    const auto found = manifest_.at(key).get<int64_t>();
    if (found != known)
      fail(fmt::format(
          "{} is {}, this program's is {}: train the model again, or use the program it came with", key,
          found, known));
  }

  void check_versions() const {
    check_version("encoding_version", schedule::kEncodingVersion);
    check_version("terms_version", kTermsVersion);
    if (manifest_.at("extractor") == "pyramid") check_version("feature_version", pattern::kFeatureVersion);
  }

  void check_encoding(schedule::Op op) const {
    const schedule::EncodingLayout& layout = schedule::encoding_layout(op);
    std::vector<int64_t> categories;
    for (const schedule::CategoryField& field : layout.categories) categories.push_back(field.num_values);
    const nlohmann::json& dims = manifest_.at("dims");
    if (dims.at("categories").get<std::vector<int64_t>>() != categories ||
        dims.at("level_vars").get<int64_t>() != layout.num_level_vars ||
        dims.at("loop_vars").get<int64_t>() != layout.num_loop_vars)
      fail("its dims are not those of the encoding of its op");
  }

  /// Which weights it has, and where and of what it has learned, which need not be there.
  void check_origin() const {
    (void)manifest_.at("weights_hash").get<std::string>();
    (void)machines_of(manifest_);
    try {
      (void)experience_of(manifest_);
    } catch (const UsageError& error) {
      fail(error.what());
    }
    const nlohmann::json dataset = manifest_.value("dataset", nlohmann::json::object());
    for (const char* side : {"training_originals", "validation_originals"})
      (void)dataset.value(side, std::vector<std::string>());
    (void)manifest_.value("rhs", std::vector<int64_t>());
    if (manifest_.value("types", std::vector<std::string>{"f32"}).empty()) fail("its types are none");
  }

  void check_dims(const LearnedModel::Weights& weights) const {
    const auto check = [&](const char* key, int64_t size) {
      const auto claimed = manifest_.at("dims").at(key).get<int64_t>();
      if (claimed != size) fail(fmt::format("dims.{} is {}, the weights have {}", key, claimed, size));
    };
    check("extracted", weights.extractor->size());
    check("pattern", weights.pattern2.outputs);
    check("embedding", weights.embedder.size());
    check("hidden", weights.retrieval.pattern.outputs);
    check("terms", weights.correction.terms.size());
  }

  std::string hash() const {
    return content_hash(manifest_.at("weights_hash").get<std::string>() + read_file(manifest_file_));
  }

  fs::path manifest_file_, weights_file_;
  nlohmann::json manifest_;
  schedule::Op op_ = schedule::Op::kSpmv;
  std::string extractor_;
};

}  // namespace

CorrectionWeights::CorrectionWeights(const TensorFile& file, int hidden_size)
    : terms(file, "terms", static_cast<int>(cost_feature_names().size())),
      term_layer(file, "correct.terms", -1, terms.size()),
      hidden_layer(file, "correct.hidden", term_layer.outputs, hidden_size, false),
      out(file, "correct.out", 1, term_layer.outputs),
      slope(file.get("correct.slope", {1}).data[0]) {
  const std::vector<float>& values = file.get("calibration", {2}).data;
  std::copy(values.begin(), values.end(), calibration);
}

LearnedModel::Weights::Weights(nlohmann::json json, std::string model_hash, schedule::Op model_op,
                               std::string_view extractor_name, const TensorFile& file)
    : manifest(std::move(json)),
      experience(experience_of(manifest)),
      hash(std::move(model_hash)),
      op(model_op),
      extractor(make_extractor(extractor_name, schedule::sparse_order(op), file)),
      problem(file, "problem", 2),
      pattern1(file, "pattern.fc1", -1, extractor->size() + problem.size()),
      pattern2(file, "pattern.fc2", -1, pattern1.outputs),
      embedder(file, op),
      retrieval(file, pattern2.outputs, embedder.size()),
      correction(file, retrieval.pattern.outputs) {
  // p and e are multiplied element by element.
  if (pattern2.outputs != embedder.size())
    throw InputError("weights", 0,
                     fmt::format("pattern.fc2 gives {} numbers, embedder.fc2 gives {}", pattern2.outputs,
                                 embedder.size()));
}

LearnedModel::LearnedModel(std::unique_ptr<Weights> weights) : weights_(std::move(weights)) {}
LearnedModel::~LearnedModel() = default;
LearnedModel::LearnedModel(LearnedModel&&) noexcept = default;
LearnedModel& LearnedModel::operator=(LearnedModel&&) noexcept = default;

LearnedModel LearnedModel::load(const fs::path& folder) {
  return LearnedModel(FolderReader(folder).read());
}

nlohmann::json read_model_manifest(const fs::path& folder) {
  return FolderReader(folder).manifest();
}

std::set<std::string> originals_in(const nlohmann::json& manifest, const char* key) {
  const nlohmann::json dataset =
      manifest.is_object() ? manifest.value("dataset", nlohmann::json()) : nlohmann::json();
  return dataset.is_object() ? dataset.value(key, std::set<std::string>()) : std::set<std::string>();
}

TensorFile read_model_weights(const fs::path& folder) {
  return FolderReader(folder).read_weights();
}

schedule::Op LearnedModel::op() const {
  return weights_->op;
}

const Experience& LearnedModel::experience() const {
  return weights_->experience;
}

std::vector<Machine> LearnedModel::machines() const {
  return machines_of(manifest());
}

const nlohmann::json& LearnedModel::manifest() const {
  return weights_->manifest;
}

const std::string& LearnedModel::hash() const {
  return weights_->hash;
}

int LearnedModel::embedding_size() const {
  return weights_->embedder.size();
}

bool LearnedModel::has_seen(int64_t rhs) const {
  for (const nlohmann::json& seen : manifest().value("rhs", nlohmann::json::array()))
    if (seen.is_number_integer() && 2 * rhs >= seen.get<int64_t>() && rhs <= 2 * seen.get<int64_t>())
      return true;
  return false;
}

PatternEmbedding LearnedModel::embed_pattern(const matrix::SparseTensor& tensor,
                                             const schedule::Problem& problem) const {
  pattern::LazyFeatures pattern(tensor);
  return embed_pattern(pattern, problem);
}

PatternEmbedding LearnedModel::embed_pattern(pattern::LazyFeatures& pattern,
                                             const schedule::Problem& problem) const {
  const Weights& w = *weights_;
  WACO_ASSERT(problem.op == w.op && pattern.tensor().order() == schedule::sparse_order(w.op));
  std::vector<float> inputs = w.extractor->extract(pattern);
  const bool f64 = problem.type == schedule::ValueType::kF64;
  float numbers[2] = {static_cast<float>(std::log2(static_cast<double>(problem.rhs))), f64 ? 1.0f : 0.0f};
  w.problem.apply(numbers, numbers);
  inputs.insert(inputs.end(), numbers, numbers + 2);
  std::vector<float> wide(static_cast<size_t>(w.pattern1.padded)), p(static_cast<size_t>(w.pattern2.padded));
  w.pattern1.apply(inputs.data(), w.pattern1.inputs, 1, wide.data());
  dense_kernels().relu(wide.data(), w.pattern1.padded);
  w.pattern2.apply(wide.data(), w.pattern1.padded, 1, p.data());
  p.resize(static_cast<size_t>(w.pattern2.outputs));
  return {std::move(p)};
}

std::vector<float> LearnedModel::embed_schedules(std::span<const schedule::SuperSchedule> points,
                                                 int max_threads) const {
  return weights_->embedder.embed(points, max_threads);
}

}  // namespace waco::model
