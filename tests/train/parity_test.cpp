// The network as it is trained, and as it is evaluated without libtorch, give the same numbers.
#include <torch/utils.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "small_dataset.hpp"
#include "waco/base/files.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/train/model_folder.hpp"
#include "waco/train/network/extractor.hpp"
#include "waco/train/trainer.hpp"

using namespace waco;
using namespace waco::train;

namespace {

constexpr int kThreads = 2;

/// Examples of random points on a few tensors, without times, and a network of random weights for them.
class Setting {
 public:
  Setting(schedule::Op op, const std::string& extractor) : extractor_(extractor) {
    torch::set_num_threads(1);
    torch::manual_seed(5);
    if (!takes_features(extractor))
      trainable_ = make_conv_torch_extractor(extractor, schedule::sparse_order(op), 100000);
    const std::vector<std::string> recipes =
        op == schedule::Op::kMttkrp
            ? std::vector<std::string>{"tensor i=40 k=30 l=20 nnz=900", "tensor i=9 k=80 l=50 nnz=2000"}
            : std::vector<std::string>{"stencil2d n=24", "rmat scale=9 degree=6", "fem nx=7 dof=3"};
    for (const std::string& recipe : recipes) add(op, recipe);
    std::vector<const Example*> pointers;
    for (const Example& example : examples_) pointers.push_back(&example);
    const Example& first = examples_[0];
    const auto num_features =
        static_cast<int64_t>(first.pattern ? first.pattern->inputs.size() : first.features.size());
    network_ = std::make_unique<Network>(
        make_dims(op, num_features, trainable_ ? trainable_->size() : num_features), trainable_);
    network_->standardise(pointers);
    network_->set_calibration(0.25F, 0.75F);
    costs_ = costs_of(*network_, pointers, LossOptions{});
    ModelDescription model;
    model.op = op;
    model.extractor = extractor;
    model.learned_from = pointers;
    model.dataset = model.training = model.metrics = nlohmann::ordered_json::object();
    const ModelFolder folder(folder_.path() / "model");
    folder.create();
    folder.write(*network_, model);
  }

  void check() {
    const model::LearnedModel learned = model::LearnedModel::load(folder_.path() / "model");
    for (size_t e = 0; e < examples_.size(); ++e) {
      const Group& group = examples_[e].group;
      const model::PatternEmbedding pattern = learned.embed_pattern(tensors_[e], group.problem);
      const std::vector<float> embeddings = learned.embed_schedules(group.points, kThreads);
      std::vector<float> retrieved(group.size());
      const auto count = static_cast<int64_t>(group.size());
      model::Retriever(learned, pattern).costs(embeddings.data(), count, retrieved.data(), 1);
      model::ClosedFormModel closed_form(tensors_[e], model::default_ceilings(kThreads));
      model::LearnedCostModel whole(learned, pattern, group.problem, closed_form, kThreads);
      const std::vector<double> predicted = whole.costs(group.points);
      for (size_t n = 0; n < group.size(); ++n) {
        INFO(extractor_ << " " << group.matrix << " " << to_text(group.points[n]));
        CHECK(retrieved[n] == Approx(costs_.retrieved[e][n]).epsilon(1e-4).margin(1e-4));
        CHECK(std::log2(predicted[n]) ==
              Approx(0.25 + 0.75 * costs_.corrected[e][n]).epsilon(1e-4).margin(1e-4));
      }
    }
  }

 private:
  void add(schedule::Op op, const std::string& recipe) {
    const matrix::CorpusItem item = matrix::synthetic_item(recipe);
    tensors_.push_back(matrix::make(item));
    Group group;
    group.matrix = item.name;
    group.matrix_hash = matrix::pattern_hash(tensors_.back());
    group.source = item.source;
    group.dims = tensors_.back().dims;
    group.num_nonzeros = tensors_.back().num_nonzeros();
    group.problem = {op, schedule::ValueType::kF32, op == schedule::Op::kSpmv ? 1 : 32};
    group.threads = kThreads;
    const schedule::ScheduleSpace space(group.problem, group.dims, {.max_threads = kThreads});
    Random random(3);
    for (int n = 0; n < 20; ++n) {
      group.points.push_back(space.sample_stratified(random, schedule::kStrata[static_cast<size_t>(n) % 6]));
      group.labels.push_back({static_cast<float>(n), 0.01F, false});
    }
    PreparationOptions options;
    options.extractor = extractor_;
    if (trainable_)
      options.make_pattern = [this](const matrix::SparseTensor& tensor) {
        return trainable_->prepare(tensor);
      };
    options.cache = folder_.path() / "cache";
    options.ceilings = model::default_ceilings;
    Preparation prepared = prepare({group}, MatrixFiles({}), options, {});
    REQUIRE(prepared.examples.size() == 1);
    examples_.push_back(std::move(prepared.examples[0]));
  }

  std::string extractor_;
  TemporaryFolder folder_;
  std::shared_ptr<TorchExtractor> trainable_;
  std::vector<matrix::SparseTensor> tensors_;
  std::vector<Example> examples_;
  std::unique_ptr<Network> network_;
  ExampleCosts costs_;
};

}  // namespace

TEST_CASE("parity: every extractor gives the same costs with and without libtorch", "[train]") {
  for (const std::string& name : model::extractor_names()) Setting(schedule::Op::kSpmv, name).check();
}

TEST_CASE("parity: every op gives the same costs with and without libtorch", "[train]") {
  for (const schedule::Op op : {schedule::Op::kSpmm, schedule::Op::kSddmm, schedule::Op::kMttkrp})
    Setting(op, "pyramid").check();
}
