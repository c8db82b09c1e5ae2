// Epochs, steps, learning rate, best weights.
#include "waco/train/trainer.hpp"

#include <spdlog/spdlog.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "waco/base/clock.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/encoding.hpp"
#include "waco/train/checkpoint.hpp"

namespace waco::train {
namespace {

using Examples = std::vector<const Example*>;
using Clock = std::chrono::steady_clock;

constexpr size_t kEvaluatedAtOnce = 8;  // groups

/// The first `count` of 0 .. size-1 in random order.
std::vector<int64_t> draw(size_t size, size_t count, Random& random) {
  std::vector<int64_t> order(size);
  std::iota(order.begin(), order.end(), int64_t{0});
  count = std::min(count, size);
  for (size_t n = 0; n < count; ++n)
    std::swap(order[n], order[n + static_cast<size_t>(random.below(size - n))]);
  order.resize(count);
  return order;
}

void append_rows(const torch::Tensor& costs, std::span<const Member> members, std::vector<GroupCosts>& rows) {
  const torch::Tensor flat = costs.to(torch::kFloat64).contiguous();
  for (size_t m = 0; m < members.size(); ++m) {
    const double* row = flat.data_ptr<double>() + static_cast<int64_t>(m) * flat.size(1);
    rows.emplace_back(row, row + members[m].example->group.size());
  }
}

/// Lower is better: what the best epoch is chosen by. Accuracy and regret of the whole model count, and a
/// little those of retrieval.
double validation_score(const Epoch& epoch) {
  const auto score = [](const Metrics& metrics) {
    return (1 - metrics.pairwise_accuracy) + 0.25 * std::log2(metrics.regret[0]) +
           std::log2(metrics.regret[2]);
  };
  return score(epoch.corrected) + 0.25 * score(epoch.retrieved);
}

/// Those that the options let change; the others keep no gradients.
Optimizer::Tensors trained_parameters(const Network& network, const TrainerOptions& options) {
  Optimizer::Tensors trained;
  for (const auto& [name, parameter] : network.parameters()) {
    const bool predicts = name.starts_with("retrieve.") || name.starts_with("correct.");
    parameter.set_requires_grad(predicts || !options.freeze_embeddings);
    if (parameter.requires_grad()) trained.emplace(name, parameter);
  }
  return trained;
}

/// Weights that predict numbers no longer; those of an epoch before may be good.
class Diverged : public EnvironmentError {
 public:
  Diverged() : EnvironmentError("the loss is no longer a number; train with a smaller --lr") {}
};

void check_finite(double loss) {
  if (!std::isfinite(loss)) throw Diverged();
}

/// One run; see train_network.
class Training {
 public:
  Training(Network& network, const Examples& training, const Examples& validation,
           const TrainerOptions& options, const std::filesystem::path& checkpoint)
      : network_(network),
        training_(training),
        validation_(validation.empty() ? training : validation),
        options_(options),
        fingerprint_(fingerprint_of(network.dims(), training_, validation_, options)),
        trained_(trained_parameters(network, options)),
        optimizer_(trained_, options.optimizer),
        checkpoint_(checkpoint) {
    network_.set_regularisation(options.regularisation);
    const size_t per_step = static_cast<size_t>(options_.groups_per_step);
    steps_per_epoch_ = static_cast<int64_t>((training_.size() + per_step - 1) / per_step);
  }

  void resume() {
    const std::optional<Checkpoint> found = checkpoint_.read();
    if (!found) {
      spdlog::info("no checkpoint to continue from; training starts anew");
      return;
    }
    if (found->state.at("options") != fingerprint_)
      throw UsageError(
          "the checkpoint was written with other options or other data; delete it to train anew, or name "
          "another "
          "folder");
    const int64_t num_steps = read_progress(found->state);
    network_.load(sub_file(found->tensors, "weights."));
    best_weights_ = sub_file(found->tensors, "best.");
    optimizer_.load(found->tensors, num_steps);
    spdlog::info("continues after epoch {}", history_.epochs.size());
  }

  History run(const StopToken& stop) {
    try {
      run_epochs(stop);
    } catch (const Diverged& error) {
      if (history_.best == 0) throw;
      spdlog::warn("training ends after epoch {}: {}; the best epoch before is kept", history_.epochs.size(),
                   error.what());
    }
    if (history_.best > 0) network_.load(best_weights_);
    return history_;
  }

 private:
  void run_epochs(const StopToken& stop) {
    for (int number = static_cast<int>(history_.epochs.size()) + 1; number <= options_.epochs; ++number) {
      if (out_of_patience(number)) break;
      if (stop() || !run_epoch(number, stop)) {
        history_.stopped = true;
        break;
      }
    }
  }

  /// Returns the number of steps of the optimizer. Throws InputError where the numbers are of no run.
  int64_t read_progress(const nlohmann::json& state) {
    try {
      const int64_t num_steps = state.at("steps");
      history_.best = state.at("best");
      for (const auto& epoch : state.at("history")) history_.epochs.push_back(epoch_from_json(epoch));
      const std::ptrdiff_t num_epochs = std::ssize(history_.epochs);
      if (num_steps >= 0 && history_.best >= 0 && history_.best <= num_epochs &&
          state.at("epoch") == num_epochs)
        return num_steps;
    } catch (const nlohmann::json::exception&) {
    }
    checkpoint_.fail();
  }

  bool out_of_patience(int number) const {
    return options_.patience > 0 && history_.best > 0 && number > history_.best + options_.patience;
  }

  double learning_rate() const {
    const double total = static_cast<double>(steps_per_epoch_) * options_.epochs;
    const double done = (static_cast<double>(optimizer_.num_steps()) + 1) / total;
    if (done < options_.warm_up) return options_.learning_rate * done / options_.warm_up;
    const double share = (done - options_.warm_up) / (1 - options_.warm_up);
    return options_.learning_rate * (0.01 + 0.99 * 0.5 * (1 + std::cos(std::numbers::pi * share)));
  }

  /// Every group once, in a random order. All draws follow from seed and epoch. False when it was ended.
  bool run_epoch(int number, const StopToken& stop) {
    const auto start = Clock::now();
    Random random(options_.seed, static_cast<uint64_t>(number));
    torch::manual_seed(random.next());
    const std::vector<int64_t> order = draw(training_.size(), training_.size(), random);
    double loss = 0;
    for (size_t at = 0; at < order.size(); at += static_cast<size_t>(options_.groups_per_step)) {
      if (stop()) return false;  // the epoch counts for nothing; the checkpoint is that of the one before
      std::vector<Member> members;
      for (size_t n = at; n < std::min(order.size(), at + static_cast<size_t>(options_.groups_per_step)); ++n)
        members.push_back(member(*training_[static_cast<size_t>(order[n])], random));
      loss += step(members);
    }
    Epoch epoch;
    epoch.number = number;
    epoch.training_loss = loss / static_cast<double>(steps_per_epoch_);
    optimizer_.swap_averages();
    validate(epoch);
    optimizer_.swap_averages();
    epoch.seconds = seconds_since(start);
    report(epoch);
    history_.epochs.push_back(epoch);
    write_checkpoint();
    return true;
  }

  Member member(const Example& example, Random& random) const {
    const auto most = static_cast<size_t>(options_.points_per_group);
    if (example.group.size() <= most) return {&example, {}};
    return {&example, draw(example.group.size(), most, random)};
  }

  double step(const std::vector<Member>& members) {
    const Batch batch = make_batch(members);
    const Costs costs = network_.forward(batch, true);
    const torch::Tensor loss =
        loss_of(costs.retrieved, batch, options_.loss) + loss_of(costs.corrected, batch, options_.loss);
    const double value = loss.item<double>();
    check_finite(value);
    optimizer_.step(loss, learning_rate());
    return value;
  }

  void validate(Epoch& epoch) {
    const ExampleCosts costs = costs_of(network_, validation_, options_.loss);
    check_finite(costs.loss);  // finite only where all costs are
    std::vector<const Group*> groups;
    for (const Example* example : validation_) groups.push_back(&example->group);
    epoch.validation_loss = costs.loss;
    epoch.retrieved = metrics_of(groups, costs.retrieved);
    epoch.corrected = metrics_of(groups, costs.corrected);
    const double score = validation_score(epoch);
    if (history_.best > 0 &&
        score >= validation_score(history_.epochs[static_cast<size_t>(history_.best) - 1]))
      return;
    history_.best = epoch.number;
    best_weights_ = network_.save();
  }

  static void report(const Epoch& epoch) {
    spdlog::debug(
        "epoch {}: loss {:.4f}, validation {:.4f}; pairs {:.4f} ({:.4f} by retrieval), regret {:.3f} {:.3f} "
        "{:.3f}, {:.1f} s",
        epoch.number, epoch.training_loss, epoch.validation_loss, epoch.corrected.pairwise_accuracy,
        epoch.retrieved.pairwise_accuracy, epoch.corrected.regret[0], epoch.corrected.regret[1],
        epoch.corrected.regret[2], epoch.seconds);
  }

  static void add(const model::TensorFile& from, const std::string& prefix, model::TensorFile& to) {
    for (const auto& [name, tensor] : from.tensors()) to.set(prefix + name, tensor.shape, tensor.data);
  }
  static model::TensorFile sub_file(const model::TensorFile& from, const std::string& prefix) {
    model::TensorFile result;
    for (const auto& [name, tensor] : from.tensors())
      if (name.starts_with(prefix)) result.set(name.substr(prefix.size()), tensor.shape, tensor.data);
    return result;
  }

  void write_checkpoint() {
    Checkpoint checkpoint;
    add(network_.save(), "weights.", checkpoint.tensors);
    add(best_weights_, "best.", checkpoint.tensors);
    optimizer_.save(checkpoint.tensors);
    nlohmann::ordered_json history = nlohmann::ordered_json::array();
    for (const Epoch& epoch : history_.epochs) history.push_back(to_json(epoch));
    checkpoint.state = {{"epoch", history_.epochs.size()},
                        {"steps", optimizer_.num_steps()},
                        {"options", fingerprint_},
                        {"best", history_.best},
                        {"history", history}};
    checkpoint_.write(checkpoint);
  }

  Network& network_;
  const Examples training_, validation_;
  const TrainerOptions options_;
  const std::string fingerprint_;
  const Optimizer::Tensors trained_;
  Optimizer optimizer_;
  CheckpointFolder checkpoint_;
  int64_t steps_per_epoch_ = 1;
  model::TensorFile best_weights_;
  History history_;
};

}  // namespace

std::string fingerprint_of(const Dims& dims, const Examples& training, const Examples& validation,
                           const TrainerOptions& options) {
  std::string text = to_json(options).dump() + to_json(dims).dump() + options.start;
  text += fmt::format("{} {} {}", pattern::kFeatureVersion, schedule::kEncodingVersion, model::kTermsVersion);
  for (const Examples* examples : {&training, &validation}) {
    text += "\n";
    for (const Example* example : *examples) {
      const Group& group = example->group;
      text += fmt::format("{} {} {} {}\n", group.matrix_hash, schedule::name(group.problem.type),
                          group.problem.rhs, group.threads);
      for (size_t n = 0; n < group.size(); ++n) {
        const Label& label = group.labels[n];
        text +=
            fmt::format("{} {} {} {}\n", to_text(group.points[n]), label.cost, label.noise, label.censored);
      }
    }
  }
  return content_hash(text);
}

ExampleCosts costs_of(Network& network, const Examples& examples, const LossOptions& loss) {
  const torch::NoGradGuard no_grad;
  ExampleCosts result;
  for (size_t at = 0; at < examples.size(); at += kEvaluatedAtOnce) {
    std::vector<Member> members;
    for (size_t n = at; n < std::min(examples.size(), at + kEvaluatedAtOnce); ++n)
      members.push_back({examples[n], {}});
    const Batch batch = make_batch(members);
    const Costs costs = network.forward(batch, false);
    append_rows(costs.retrieved, members, result.retrieved);
    append_rows(costs.corrected, members, result.corrected);
    const torch::Tensor sum = loss_of(costs.retrieved, batch, loss) + loss_of(costs.corrected, batch, loss);
    result.loss += sum.item<double>() * static_cast<double>(members.size());
  }
  if (!examples.empty()) result.loss /= static_cast<double>(examples.size());
  return result;
}

History train_network(Network& network, const Examples& training, const Examples& validation,
                      const TrainerOptions& options, const std::filesystem::path& checkpoint, bool resume,
                      const StopToken& stop) {
  Training run(network, training, validation, options, checkpoint);
  if (resume) run.resume();
  return run.run(stop);
}

}  // namespace waco::train
