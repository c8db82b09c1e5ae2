// Options by name.
#include <cmath>
#include <functional>

#include "waco/base/error.hpp"
#include "waco/train/trainer.hpp"

namespace waco::train {
namespace {

/// A number that can be set by name.
struct Knob {
  const char* name;
  double least, most;
  std::function<void(TrainerOptions&, double)> set;
  bool whole = false;  ///< takes no fractions
};

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> all = {
      {"warm_up", 0, 0.99, [](TrainerOptions& o, double v) { o.warm_up = v; }},
      {"groups_per_step", 1, 1e6,
       [](TrainerOptions& o, double v) { o.groups_per_step = static_cast<int>(v); }, true},
      {"points_per_group", 2, 1e6,
       [](TrainerOptions& o, double v) { o.points_per_group = static_cast<int>(v); }, true},
      {"least_gap", 0, 100, [](TrainerOptions& o, double v) { o.loss.least_gap = v; }},
      {"most_gap", 0, 100, [](TrainerOptions& o, double v) { o.loss.most_gap = v; }},
      {"top_weight", 0, 1e6, [](TrainerOptions& o, double v) { o.loss.top_weight = v; }},
      {"anchor", 0, 1e6, [](TrainerOptions& o, double v) { o.loss.anchor = v; }},
      {"feature_noise", 0, 100, [](TrainerOptions& o, double v) { o.regularisation.feature_noise = v; }},
      {"feature_dropout", 0, 0.99, [](TrainerOptions& o, double v) { o.regularisation.feature_dropout = v; }},
      {"pattern_dropout", 0, 0.99, [](TrainerOptions& o, double v) { o.regularisation.pattern_dropout = v; }},
      {"hidden_dropout", 0, 0.99, [](TrainerOptions& o, double v) { o.regularisation.hidden_dropout = v; }},
      {"weight_decay", 0, 100, [](TrainerOptions& o, double v) { o.optimizer.weight_decay = v; }},
      {"most_norm", 1e-6, 1e6, [](TrainerOptions& o, double v) { o.optimizer.most_norm = v; }},
      {"averaging", 0, 0.999999, [](TrainerOptions& o, double v) { o.optimizer.averaging = v; }},
  };
  return all;
}

}  // namespace

void apply_tweaks(const nlohmann::json& tweaks, TrainerOptions& options) {
  if (tweaks.is_null()) return;
  for (const auto& [name, value] : tweaks.items()) {
    bool known = false;
    for (const Knob& knob : knobs()) {
      if (name != knob.name) continue;
      if (!value.is_number()) throw UsageError(fmt::format("--set {}: not a number", name));
      const auto number = value.get<double>();
      if (!(knob.least <= number && number <= knob.most))
        throw UsageError(
            fmt::format("--set {}: {} is not from {} to {}", name, number, knob.least, knob.most));
      if (knob.whole && number != std::floor(number))
        throw UsageError(fmt::format("--set {}: {} is not a whole number", name, number));
      knob.set(options, number);
      known = true;
    }
    if (known) continue;
    std::string names;
    for (const Knob& knob : knobs()) names += std::string(names.empty() ? "" : ", ") + knob.name;
    throw UsageError(fmt::format("--set {}: there is no such number; there are {}", name, names));
  }
}

nlohmann::ordered_json to_json(const TrainerOptions& o) {
  return {{"epochs", o.epochs},
          {"learning_rate", o.learning_rate},
          {"warm_up", o.warm_up},
          {"groups_per_step", o.groups_per_step},
          {"points_per_group", o.points_per_group},
          {"patience", o.patience},
          {"seed", o.seed},
          {"freeze_embeddings", o.freeze_embeddings},
          {"loss", o.loss.kind == Loss::kRank ? "rank" : "l2"},
          {"least_gap", o.loss.least_gap},
          {"most_gap", o.loss.most_gap},
          {"top_weight", o.loss.top_weight},
          {"anchor", o.loss.anchor},
          {"feature_noise", o.regularisation.feature_noise},
          {"feature_dropout", o.regularisation.feature_dropout},
          {"pattern_dropout", o.regularisation.pattern_dropout},
          {"hidden_dropout", o.regularisation.hidden_dropout},
          {"weight_decay", o.optimizer.weight_decay},
          {"most_norm", o.optimizer.most_norm},
          {"averaging", o.optimizer.averaging}};
}

}  // namespace waco::train
