// The steps of training and evaluation.
#include "waco/train/training.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <torch/utils.h>

#include <algorithm>
#include <optional>
#include <set>

#include "waco/base/artifact.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/model/conv/conv_networks.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/train/experience.hpp"
#include "waco/train/model_folder.hpp"
#include "waco/train/trainer.hpp"
#include "waco/train/training_data.hpp"

namespace waco::train {
namespace fs = std::filesystem;
namespace {

using nlohmann::ordered_json;

constexpr size_t kNumMisrankings = 10;
// Of manifests.
const ordered_json::json_pointer kComplete("/training/complete");
const ordered_json::json_pointer kFingerprint("/training/fingerprint");
// Nonzeros of a pattern that convolutions of a new model look at: more would make an epoch take minutes.
constexpr int64_t kMaxSites = int64_t{1} << 17;

/// Every thread that a step may use; reductions then have a fixed order.
void set_up_torch(int threads, uint64_t seed) {
  torch::set_num_threads(threads);
  torch::manual_seed(seed);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
}

void check_extractor(const std::string& name) {
  const std::vector<std::string>& names = model::extractor_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw UsageError(fmt::format("unknown extractor '{}'; there are {}", name, fmt::join(names, ", ")));
}

/// Nonzeros of a pattern that the extractor of the model in `folder` looks at, where it is of this name:
/// training and judging it go by the patterns that it was trained on.
int64_t max_sites_of(const fs::path& folder, const nlohmann::json& manifest, const std::string& extractor) {
  if (takes_features(extractor) || manifest.value("extractor", "") != extractor) return kMaxSites;
  return model::max_sites_of(model::read_model_weights(folder));
}

Network make_network(const Data& data) {
  const Example& first = data.examples[0];
  const auto num_features =
      static_cast<int64_t>(first.pattern ? first.pattern->inputs.size() : first.features.size());
  const int64_t extracted = data.extractor ? data.extractor->size() : num_features;
  return Network(make_dims(data.records.op, num_features, extracted), data.extractor);
}

size_t num_common(const std::set<std::string>& a, const std::set<std::string>& b) {
  return static_cast<size_t>(
      std::ranges::count_if(a, [&](const std::string& name) { return b.contains(name); }));
}

bool tells_what_it_learned_from(const nlohmann::json& manifest) {
  const nlohmann::json dataset = manifest.value("dataset", nlohmann::json::object());
  return dataset.contains("training_originals") && !dataset.value("training_originals_partial", false);
}

/// Warns when a model has learned from what is judged by now. Of one that does not say what it learned from,
/// when what it was judged by is on the training side: then it was trained with another split.
void check_split_of(const fs::path& model, const nlohmann::json& manifest, const Data& data) {
  const size_t num_known =
      num_common(waco::model::originals_in(manifest, "training_originals"), originals_of(data.validation));
  const size_t num_moved =
      num_common(waco::model::originals_in(manifest, "validation_originals"), originals_of(data.training));
  if (num_known > 0)
    spdlog::warn("{} has learned from {} of the originals that are judged by, and looks better than it is",
                 model.string(), num_known);
  else if (!tells_what_it_learned_from(manifest) && num_moved > 0)
    spdlog::warn(
        "{} that {} was judged by on the training side now: the datasets are divided in another way, and it "
        "may "
        "have learned from what is judged by now",
        counted(num_moved, "original"), model.string());
}

/// Metrics of the model and of all that it is compared with.
ordered_json compare_models(const Network& network, const Examples& examples, const ExampleCosts& costs) {
  const auto [offset, slope] = network.calibration();
  std::vector<const Group*> groups;
  std::vector<GroupCosts> closed_form, blended;
  for (size_t e = 0; e < examples.size(); ++e) {
    const Example& example = *examples[e];
    groups.push_back(&example.group);
    const size_t num_terms = example.terms.size() / example.group.size();
    GroupCosts own, both;
    for (size_t n = 0; n < example.group.size(); ++n) {
      own.push_back(example.terms[n * num_terms]);
      const double learned = offset + slope * costs.corrected[e][n];
      both.push_back(learned + model::kClosedFormShare * (own.back() - learned));
    }
    closed_form.push_back(std::move(own));
    blended.push_back(std::move(both));
  }
  ordered_json worst = ordered_json::array();
  for (const Misranking& pair : worst_misrankings(groups, costs.corrected, kNumMisrankings))
    worst.push_back(to_json(pair));
  return {{"learned", to_json(metrics_of(groups, costs.corrected))},
          {"blended", to_json(metrics_of(groups, blended))},
          {"retrieval", to_json(metrics_of(groups, costs.retrieved))},
          {"closed_form", to_json(metrics_of(groups, closed_form))},
          {"random", to_json(random_metrics(groups, 1))},
          {"fixed_csr", to_json(baseline_metrics(groups))},
          {"worst_pairs", std::move(worst)}};
}

/// Fits the corrected costs to the labels: predicted log2(time / fixed_csr) = offset + slope * cost, over
/// points that were timed to the end.
std::pair<float, float> calibration_of(const Examples& examples, const std::vector<GroupCosts>& costs) {
  double count = 0, sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (size_t e = 0; e < examples.size(); ++e) {
    for (size_t n = 0; n < costs[e].size(); ++n) {
      const Label& label = examples[e]->group.labels[n];
      if (label.censored) continue;
      const double x = costs[e][n], y = label.cost;
      count += 1, sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
    }
  }
  const double variance = count * sum_xx - sum_x * sum_x;
  if (count < 2 || variance <= 1e-9) return {0.F, 1.F};
  // Costs keep their order whatever the fit says.
  const double slope = std::max(0.05, (count * sum_xy - sum_x * sum_y) / variance);
  return {static_cast<float>((sum_y - slope * sum_x) / count), static_cast<float>(slope)};
}

/// Convolutions cost a hundred times more, so they get fewer epochs. From the weights of another model on,
/// the rate of a fresh network undoes more than it teaches: in its first epochs, while the rate rises, such a
/// training is at its best.
TrainerOptions trainer_options(const TrainingOptions& options) {
  const bool cheap = takes_features(options.extractor), fresh = options.init.empty();
  TrainerOptions result;
  result.epochs = options.epochs.value_or(!cheap ? 30 : fresh ? 120 : 40);
  result.learning_rate = options.learning_rate.value_or((cheap ? 2e-3 : 1e-3) * (fresh ? 1 : 0.2));
  result.patience = options.patience.value_or(cheap ? 40 : 10);
  result.seed = options.seed;
  result.freeze_embeddings = options.freeze_embeddings;
  result.loss.kind = options.loss == "l2" ? Loss::kL2 : Loss::kRank;
  apply_tweaks(options.tweaks, result);
  return result;
}

/// What reports and manifests have in common; no epochs.
ordered_json report_of(const fs::path& folder, const ordered_json& manifest) {
  const auto value = [&](const char* key) { return manifest.value(key, ordered_json()); };
  return {{"model", folder.string()},
          {"complete", manifest.value(kComplete, false)},
          {"op", value("op")},
          {"extractor", value("extractor")},
          {"weights_hash", value("weights_hash")},
          {"dataset", value("dataset")},
          {"training", value("training")},
          {"epochs", ordered_json::array()}};
}

/// What manifests say of a training before it begins.
ordered_json settings_json(const TrainingOptions& options, const TrainerOptions& training) {
  ordered_json json = to_json(training);
  json["init"] = options.init.string();
  return json;
}

/// What manifests say of settings and datasets before the records' matrices are looked for.
nlohmann::json wanted_json(const TrainingOptions& options, const TrainerOptions& training,
                           const Records& records) {
  return {{"extractor", options.extractor},
          {"dataset", {{"files", records.files}, {"resplit", resplit_json(options.data.resplit)}}},
          {"training", settings_json(options, training)}};
}

/// Throws EnvironmentError when the complete model in `folder` is of the same settings and datasets, and has
/// learned from records whose matrices are not found now: what would take its place is no better.
void check_records_found(const fs::path& folder, const nlohmann::json& manifest, const nlohmann::json& wanted,
                         int64_t num_missing) {
  nlohmann::json same = manifest;
  same.merge_patch(wanted);
  const int64_t num_before = manifest.value("/dataset/missing_records"_json_pointer, int64_t{0});
  if (same == manifest && num_missing > num_before)
    throw EnvironmentError(
        fmt::format("{} is complete, and has learned from matrices that are not found now: {} left out, {} "
                    "before; name their folders with --matrices, or train anew without --resume",
                    folder.string(), counted(num_missing, "record"), num_before));
}

/// The manifest of the model in `folder`; empty when there is none that is complete and can be read.
ordered_json manifest_of_complete(const fs::path& folder) {
  try {
    ordered_json manifest = model::read_model_manifest(folder);
    model::read_model_weights(folder);  // throws where the manifest was copied without them
    if (manifest.value(kComplete, false)) return manifest;
  } catch (const InputError&) {  // such as one of an older version
  }
  return ordered_json::object();
}

/// The report of a model that is complete.
ordered_json report_of_finished(const fs::path& folder, const ordered_json& manifest) {
  ordered_json report = report_of(folder, manifest);
  report["metrics"] = manifest.value("metrics", ordered_json());
  return report;
}

void check_checkpoint(const ModelFolder& folder, bool resume) {
  if (!resume && folder.has_checkpoint())
    throw UsageError(
        fmt::format("{} is of a run that was ended early: --resume continues it; delete it to train anew",
                    folder.checkpoint().string()));
}

/// The report of the complete model that this training would make again, null when there is none. Throws as
/// check_records_found does.
ordered_json find_finished(const TrainingOptions& options, const TrainerOptions& training,
                           const ModelFolder& folder, const Data& data, const std::string& fingerprint) {
  if (!options.resume || folder.has_checkpoint() || !folder.has_model()) return nullptr;
  const ordered_json manifest = manifest_of_complete(options.output);
  if (manifest.value(kFingerprint, "") == fingerprint) {
    folder.remove_checkpoint();  // which is the lock alone
    return report_of_finished(options.output, manifest);
  }
  check_records_found(options.output, manifest, wanted_json(options, training, data.records),
                      data.num_missing_records);
  return nullptr;
}

void tell_sizes(const Data& data) {
  if (data.validation.empty())
    spdlog::warn("the datasets have no validation matrix; metrics are of the training ones");
  spdlog::info("{}: {} to learn from and {} to judge by, {}", schedule::name(data.records.op),
               counted(data.training.size(), "group"), data.validation.size(),
               counted(data.records.num_records - data.num_missing_records, "record"));
}

/// Trains a network that was just made, or goes on where the checkpoint ended.
History train(Network& network, const Data& data, const TrainingOptions& options,
              const TrainerOptions& training, const ModelFolder& folder, const StopToken& stop) {
  network.standardise(data.training);
  network.clear_unused_rows(data.training);
  if (data.weights) network.start_from(*data.weights, !training.freeze_embeddings);
  History history = train_network(network, data.training, data.validation, training, folder.checkpoint(),
                                  options.resume, stop);
  if (history.best == 0)
    throw EnvironmentError("ended before the first epoch was complete; no model was written");
  return history;
}

/// Calibrates a trained network. Returns its metrics and those of what it is compared with.
ordered_json calibrate_and_judge(Network& network, const Data& data, const LossOptions& loss) {
  const ExampleCosts fitted = costs_of(network, data.training, loss);
  const auto [offset, slope] = calibration_of(data.training, fitted.corrected);
  network.set_calibration(offset, slope);
  const Examples& judged = data.validation.empty() ? data.training : data.validation;
  return compare_models(network, judged, costs_of(network, judged, loss));
}

/// All but the metrics.
ModelDescription describe(const TrainingOptions& options, const TrainerOptions& training, const Data& data,
                          const std::string& fingerprint, const History& history) {
  ModelDescription model;
  model.created_by = options.created_by;
  model.machine = data.records.machine;
  model.op = data.records.op;
  model.extractor = options.extractor;
  model.learned_from = data.training;
  model.experience = {clustered_costs(data.training), families_of(data.training)};
  model.dataset = data_json(data, options.data.resplit);
  model.training = settings_json(options, training);
  model.training["fingerprint"] = fingerprint;
  model.training["epochs_done"] = history.epochs.size();
  model.training["best_epoch"] = history.best;
  model.training["complete"] = !history.stopped;
  return model;
}

}  // namespace

ordered_json run_training(const TrainingOptions& options, const StopToken& stop) {
  check_extractor(options.extractor);
  TrainerOptions training = trainer_options(options);
  const ModelFolder folder(options.output);
  folder.check();
  check_checkpoint(folder, options.resume);
  nlohmann::json first_model;
  int64_t max_sites = kMaxSites;
  training.start = options.extractor;
  if (!options.init.empty()) {
    first_model = model::read_model_manifest(options.init);
    training.start += " " + first_model.value("weights_hash", "");
    max_sites = max_sites_of(options.init, first_model, options.extractor);
  }
  set_up_torch(options.data.threads, options.seed);
  const Data data = load_data(options.data, options.extractor, max_sites, options.init, stop);
  if (data.training.empty()) throw UsageError("the datasets have no training matrix");
  torch::manual_seed(options.seed);
  Network network = make_network(data);
  const std::string fingerprint = fingerprint_of(network.dims(), data.training, data.validation, training);
  folder.create();
  const LockFile lock = folder.lock();
  check_checkpoint(folder, options.resume);  // again: another run may have ended while the data was loaded
  ordered_json finished = find_finished(options, training, folder, data, fingerprint);
  if (!finished.is_null()) return finished;
  tell_sizes(data);
  if (!options.init.empty()) check_split_of(options.init, first_model, data);

  const History history = train(network, data, options, training, folder, stop);
  ModelDescription model = describe(options, training, data, fingerprint, history);
  if (!options.init.empty()) {
    std::set<std::string> learned_from = originals_of(data.training);
    learned_from.merge(waco::model::originals_in(first_model, "training_originals"));
    model.dataset["training_originals"] = learned_from;
    if (!tells_what_it_learned_from(first_model)) model.dataset["training_originals_partial"] = true;
    model.experience.add_earlier(waco::model::experience_of(first_model));
  }
  model.metrics = calibrate_and_judge(network, data, training.loss);
  const ordered_json manifest = folder.write(network, model);
  if (!history.stopped) folder.remove_checkpoint();

  ordered_json report = report_of(options.output, manifest);
  for (const Epoch& epoch : history.epochs) report["epochs"].push_back(to_json(epoch));
  report["metrics"] = std::move(model.metrics);
  return report;
}

ordered_json run_evaluation(const fs::path& model, const DataOptions& options, bool every_group,
                            const StopToken& stop) {
  const nlohmann::json manifest = waco::model::read_model_manifest(model);
  const std::string extractor = manifest.at("extractor");
  set_up_torch(options.threads, 1);
  const Data data = load_data(options, extractor, max_sites_of(model, manifest, extractor), model, stop);
  Network network = make_network(data);
  network.load(*data.weights);
  if (!every_group) check_split_of(model, manifest, data);
  Examples judged = data.validation;
  if (every_group) judged.insert(judged.end(), data.training.begin(), data.training.end());
  if (judged.empty()) throw UsageError("the datasets have no validation matrix; --all judges all matrices");
  return {{"model", model.string()},
          {"op", schedule::name(data.records.op)},
          {"extractor", extractor},
          {"dataset", data_json(data, options.resplit)},
          {"metrics", compare_models(network, judged, costs_of(network, judged, LossOptions{}))}};
}

}  // namespace waco::train
