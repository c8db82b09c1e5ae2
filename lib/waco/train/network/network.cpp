// Layers, names and initial values.
#include "waco/train/network/network.hpp"

#include <torch/utils.h>

#include <cmath>

#include "waco/base/error.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/train/network/extractor.hpp"

namespace waco::train {
namespace {

// An input that hardly varies while training says nothing, and must not say anything later.
constexpr double kLeastDeviation = 1e-4;
constexpr double kFirstSlope = 0.5;
/// Of what is drawn for a table, the share that a category begins with which a first network never saw: a row
/// of zeros would stay so, as nothing behind it has a slope there, and a whole one be noise in what was
/// learned.
constexpr double kNewRow = 0.1;

std::vector<float> values_of(const torch::Tensor& tensor) {
  const torch::Tensor flat = tensor.detach().to(torch::kFloat32).contiguous();
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

void assign(torch::Tensor to, const std::vector<float>& values) {
  const torch::NoGradGuard no_grad;
  to.copy_(torch::tensor(values, torch::kFloat32).view(to.sizes()));
}

torch::Tensor drop_out(const torch::Tensor& values, double chance, bool training) {
  return training && chance > 0 ? torch::dropout(values, chance, true) : values;
}

/// Rows of a table [n, width] as vectors.
void add_rows(const std::vector<float>& table, size_t width, std::vector<std::vector<float>>& rows) {
  for (size_t at = 0; at < table.size(); at += width)
    rows.emplace_back(table.begin() + static_cast<std::ptrdiff_t>(at),
                      table.begin() + static_cast<std::ptrdiff_t>(at + width));
}

// Extractors call theirs otherwise; see extractor.hpp.
std::string name_of_buffer(const std::string& name) {
  if (name == "input_mean") return "input.features.mean";
  if (name == "input_scale") return "input.features.scale";
  return "extractor." + name;
}

}  // namespace

Dims make_dims(schedule::Op op, int64_t features, int64_t extracted) {
  const schedule::EncodingLayout& layout = schedule::encoding_layout(op);
  Dims dims;
  dims.features = features;
  dims.extracted = extracted;
  dims.categories = layout.categories;
  dims.level_vars = layout.num_level_vars;
  dims.loop_vars = layout.num_loop_vars;
  dims.numbers = static_cast<int64_t>(layout.numbers.size());
  dims.terms = static_cast<int64_t>(model::cost_feature_names().size());
  return dims;
}

nlohmann::ordered_json to_json(const Dims& dims) {
  std::vector<int> categories;
  for (const schedule::CategoryField& field : dims.categories) categories.push_back(field.num_values);
  return {{"features", dims.features},   {"extracted", dims.extracted}, {"problem", Dims::kProblem},
          {"categories", categories},    {"table", Dims::kTable},       {"level_vars", dims.level_vars},
          {"loop_vars", dims.loop_vars}, {"numbers", dims.numbers},     {"terms", dims.terms},
          {"pattern", dims.pattern},     {"embedding", dims.embedding}, {"hidden", dims.hidden},
          {"wide", Dims::kWide},         {"narrow", Dims::kNarrow}};
}

Network::Network(Dims dims, std::shared_ptr<TorchExtractor> extractor)
    : dims_(std::move(dims)), extractor_(std::move(extractor)) {
  const auto add_input = [this](const std::string& name, int64_t size) {
    fixed_["input." + name + ".mean"] = torch::zeros({size});
    fixed_["input." + name + ".scale"] = torch::ones({size});
  };
  add_input("problem", Dims::kProblem);
  add_input("numbers", dims_.numbers);
  add_input("terms", dims_.terms);
  fixed_["calibration"] = torch::tensor({0.F, 1.F});
  if (extractor_) {
    for (const auto& parameter : extractor_->named_parameters())
      weights_["extractor." + parameter.key()] = parameter.value();
    for (const auto& buffer : extractor_->named_buffers())
      fixed_[name_of_buffer(buffer.key())] = buffer.value();
  } else {
    add_input("features", dims_.features);
  }

  add_linear("pattern.fc1", Dims::kWide, dims_.extracted + Dims::kProblem);
  add_linear("pattern.fc2", dims_.pattern, Dims::kWide);
  for (const schedule::CategoryField& field : dims_.categories)
    weights_["embedder.table." + field.name + ".weight"] =
        0.5 * torch::randn({field.num_values, Dims::kTable});
  add_linear("embedder.levels", Dims::kTable, dims_.level_vars * dims_.level_vars);
  add_linear("embedder.loops", Dims::kTable, dims_.loop_vars * dims_.loop_vars);
  add_linear("embedder.numbers", Dims::kTable, dims_.numbers);
  const auto num_parts = static_cast<int64_t>(dims_.categories.size()) + 3;
  add_linear("embedder.fc1", Dims::kWide, Dims::kTable * num_parts);
  add_linear("embedder.fc2", dims_.embedding, Dims::kWide);
  add_linear("retrieve.pattern", dims_.hidden, dims_.pattern);
  add_linear("retrieve.schedule", dims_.hidden, dims_.embedding, false);
  add_linear("retrieve.product", dims_.hidden, dims_.embedding, false);
  add_linear("retrieve.fc", Dims::kNarrow, dims_.hidden);
  add_linear("retrieve.out", 1, Dims::kNarrow);
  add_linear("correct.terms", Dims::kNarrow, dims_.terms);
  add_linear("correct.hidden", Dims::kNarrow, dims_.hidden, false);
  add_linear("correct.out", 1, Dims::kNarrow);
  weights_["correct.slope"] = torch::full({1}, kFirstSlope);
  for (auto& [name, weight] : weights_) weight.set_requires_grad(true);
}

/// As torch's own linear layers: uniform, by the number of inputs.
void Network::add_linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, inputs)));
  weights_[name + ".weight"] = torch::empty({outputs, inputs}).uniform_(-bound, bound);
  if (bias) weights_[name + ".bias"] = torch::empty({outputs}).uniform_(-bound, bound);
}

void Network::set_input(const std::string& name, const std::vector<std::vector<float>>& rows) {
  torch::Tensor mean = fixed_.at("input." + name + ".mean");
  torch::Tensor scale = fixed_.at("input." + name + ".scale");
  const auto width = static_cast<size_t>(mean.numel());
  std::vector<float> means(width), scales(width);
  for (size_t i = 0; i < width; ++i) {
    double sum = 0, squares = 0;
    for (const std::vector<float>& row : rows) sum += row[i];
    const double center = sum / static_cast<double>(rows.size());
    for (const std::vector<float>& row : rows) squares += (row[i] - center) * (row[i] - center);
    const double deviation = std::sqrt(squares / static_cast<double>(rows.size()));
    means[i] = static_cast<float>(center);
    scales[i] = deviation > kLeastDeviation ? static_cast<float>(1 / deviation) : 0.F;
  }
  assign(mean, means);
  assign(scale, scales);
}

void Network::standardise(const std::vector<const Example*>& examples) {
  std::vector<std::vector<float>> features, problem, numbers, terms;
  for (const Example* example : examples) {
    features.push_back(example->pattern ? example->pattern->inputs : example->features);
    problem.push_back(example->problem);
    add_rows(example->numbers, static_cast<size_t>(dims_.numbers), numbers);
    add_rows(example->terms, static_cast<size_t>(dims_.terms), terms);
  }
  set_input("features", features);
  set_input("problem", problem);
  set_input("numbers", numbers);
  set_input("terms", terms);
}

void Network::clear_unused_rows(const std::vector<const Example*>& examples) {
  const torch::NoGradGuard no_grad;
  const size_t num_fields = dims_.categories.size();
  for (size_t c = 0; c < num_fields; ++c) {
    torch::Tensor& table = weights_.at("embedder.table." + dims_.categories[c].name + ".weight");
    std::vector<bool> used(static_cast<size_t>(table.size(0)));
    for (const Example* example : examples)
      for (size_t at = c; at < example->categories.size(); at += num_fields)
        used[static_cast<size_t>(example->categories[at])] = true;
    for (size_t row = 0; row < used.size(); ++row)
      if (!used[row]) table.select(0, static_cast<int64_t>(row)).zero_();
  }
}

torch::Tensor Network::standardised(const std::string& input, const torch::Tensor& values) const {
  return train::standardised(values, fixed_.at("input." + input + ".mean"),
                             fixed_.at("input." + input + ".scale"));
}

torch::Tensor Network::linear(const std::string& name, const torch::Tensor& input) const {
  const auto bias = weights_.find(name + ".bias");
  return bias == weights_.end() ? torch::linear(input, weights_.at(name + ".weight"))
                                : torch::linear(input, weights_.at(name + ".weight"), bias->second);
}

torch::Tensor Network::embed_pattern(const Batch& batch, bool training) {
  torch::Tensor extracted;  // [M, Q]
  if (extractor_) {
    extracted = extractor_->forward(batch.patterns);
  } else {
    extracted = standardised("features", batch.features);
    if (training && regularisation_.feature_noise > 0)
      extracted = extracted + regularisation_.feature_noise * torch::randn_like(extracted);
  }
  extracted = drop_out(extracted, regularisation_.feature_dropout, training);
  if (training && regularisation_.pattern_dropout > 0)
    extracted =
        extracted *
        (torch::rand({extracted.size(0), 1}) >= regularisation_.pattern_dropout).to(extracted.dtype());
  const torch::Tensor inputs = torch::cat({extracted, standardised("problem", batch.problem)}, 1);
  const torch::Tensor wide =
      drop_out(torch::relu(linear("pattern.fc1", inputs)), regularisation_.hidden_dropout, training);
  return linear("pattern.fc2", wide);
}

torch::Tensor Network::embed_points(const Batch& batch) const {
  std::vector<torch::Tensor> parts;  // [M, N, 16] each
  for (size_t c = 0; c < dims_.categories.size(); ++c)
    parts.push_back(torch::embedding(weights_.at("embedder.table." + dims_.categories[c].name + ".weight"),
                                     batch.categories.select(2, static_cast<int64_t>(c))));
  parts.push_back(linear("embedder.levels", batch.levels));
  parts.push_back(linear("embedder.loops", batch.loops));
  parts.push_back(linear("embedder.numbers", standardised("numbers", batch.numbers)));
  const torch::Tensor joined = torch::relu(torch::cat(parts, 2));  // [M, N, 16 (C + 3)]
  return linear("embedder.fc2", torch::relu(linear("embedder.fc1", joined)));
}

Costs Network::forward(const Batch& batch, bool training) {
  const double chance = regularisation_.hidden_dropout;
  const torch::Tensor pattern = embed_pattern(batch, training).unsqueeze(1);     // [M, 1, P]
  const torch::Tensor points = drop_out(embed_points(batch), chance, training);  // [M, N, E]
  const torch::Tensor hidden =
      drop_out(torch::relu(linear("retrieve.pattern", pattern) + linear("retrieve.schedule", points) +
                           linear("retrieve.product", pattern * points)),
               chance, training);  // [M, N, H]
  Costs costs;
  costs.retrieved = linear("retrieve.out", torch::relu(linear("retrieve.fc", hidden))).squeeze(2);
  torch::Tensor terms = standardised("terms", batch.terms);
  if (training && regularisation_.feature_noise > 0)
    terms = terms + regularisation_.feature_noise * torch::randn_like(terms);
  const torch::Tensor corrections = drop_out(
      torch::relu(linear("correct.terms", terms) + linear("correct.hidden", hidden)), chance, training);
  costs.corrected = costs.retrieved + linear("correct.out", corrections).squeeze(2) +
                    weights_.at("correct.slope") * batch.terms.select(2, 0);
  return costs;
}

void Network::set_calibration(float offset, float slope) {
  assign(fixed_.at("calibration"), {offset, slope});
}

std::pair<float, float> Network::calibration() const {
  const torch::Tensor& both = fixed_.at("calibration");
  return {both[0].item<float>(), both[1].item<float>()};
}

model::TensorFile Network::save() const {
  model::TensorFile file;
  for (const auto* tensors : {&weights_, &fixed_})
    for (const auto& [name, tensor] : *tensors) file.set(name, tensor.sizes().vec(), values_of(tensor));
  return file;
}

void Network::load(const model::TensorFile& file) {
  for (auto* tensors : {&weights_, &fixed_})
    for (auto& [name, tensor] : *tensors) assign(tensor, file.get(name, tensor.sizes().vec()).data);
}

void Network::start_from(const model::TensorFile& file, bool embeddings_learn) {
  const model::TensorFile own = save();
  load(file);
  if (embeddings_learn)
    for (const schedule::CategoryField& field : dims_.categories) begin_new_rows(field.name, own);
  if (!extractor_) begin_new_inputs("features", own, "pattern.fc1", 0);
  begin_new_inputs("problem", own, "pattern.fc1", dims_.extracted);
  begin_new_inputs("numbers", own, "embedder.numbers", 0);
  begin_new_inputs("terms", own, "correct.terms", 0);
}

void Network::begin_new_rows(const std::string& field, const model::TensorFile& own) {
  const torch::NoGradGuard no_grad;
  const std::string name = "embedder.table." + field + ".weight";
  torch::Tensor table = weights_.at(name);
  const torch::Tensor drawn = torch::tensor(own.get(name, table.sizes().vec()).data).view(table.sizes());
  const torch::Tensor is_new = table.eq(0).all(1, true);  // [rows, 1]
  table.copy_(torch::where(is_new, kNewRow * drawn, table));
}

void Network::begin_new_inputs(const std::string& input, const model::TensorFile& own,
                               const std::string& layer, int64_t first) {
  const torch::NoGradGuard no_grad;
  torch::Tensor mean = fixed_.at("input." + input + ".mean");
  torch::Tensor scale = fixed_.at("input." + input + ".scale");
  const std::vector<int64_t> shape = scale.sizes().vec();
  const std::vector<float>& own_mean = own.get("input." + input + ".mean", shape).data;
  const std::vector<float>& own_scale = own.get("input." + input + ".scale", shape).data;
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (scale[i].item<float>() != 0) continue;
    mean[i] = own_mean[static_cast<size_t>(i)];
    scale[i] = own_scale[static_cast<size_t>(i)];
    weights_.at(layer + ".weight").select(1, first + i).zero_();
  }
}

}  // namespace waco::train
