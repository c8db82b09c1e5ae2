// Datasets to examples, with a word on what is mixed, borrowed or missing.
#include "waco/train/training_data.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/train/model_folder.hpp"

namespace waco::train {
namespace {

using nlohmann::ordered_json;

PreparationOptions preparation_options(const DataOptions& options, const std::string& extractor,
                                       const std::shared_ptr<TorchExtractor>& network) {
  PreparationOptions result;
  result.extractor = extractor;
  if (network)
    result.make_pattern = [network](const matrix::SparseTensor& tensor) { return network->prepare(tensor); };
  if (!options.cache.empty()) result.cache = options.cache / "training";
  result.threads = options.threads;
  result.ceilings = [cache = options.cache](int threads) {
    return model::load_or_measure_ceilings(threads, cache);
  };
  return result;
}

std::string names_of(const std::vector<Machine>& machines) {
  std::vector<std::string> names;
  for (const Machine& machine : machines)
    names.push_back(machine.compiler.version.empty()
                        ? machine.cpu_model
                        : fmt::format("{} ({})", machine.cpu_model, machine.compiler.version));
  return fmt::format("{}", fmt::join(names, "; "));
}

/// Machines that measured the examples, of `machines`.
nlohmann::json machines_of(const Examples& examples, const std::vector<Machine>& machines) {
  std::set<size_t> places;
  for (const Example* example : examples) places.insert(example->group.machine);
  nlohmann::json json = nlohmann::json::array();
  for (const size_t place : places) json.push_back(machines[place]);
  return json;
}

/// Warns about records of several machines, and about those that are computed with numbers of a machine that
/// did not measure them.
void check_machines(const Records& records) {
  if (records.machines.size() > 1)
    spdlog::warn(
        "the records are of {} machines, and one model is made of all: {}; it will pass for one of {}",
        records.machines.size(), names_of(records.machines), records.machine.value("cpu", "the first"));
  const Machine here = describe_machine();
  std::set<size_t> places;
  int64_t num_groups = 0;
  for (const Group& group : records.groups) {
    if (group.ceilings || same_hardware(records.machines[group.machine], here)) continue;
    places.insert(group.machine);
    ++num_groups;
  }
  if (num_groups == 0) return;
  std::vector<Machine> others;
  for (const size_t place : places) others.push_back(records.machines[place]);
  spdlog::warn(
      "{} of {}, of which no ceilings are known: for them the closed-form model uses those of this machine, "
      "{}",
      counted(num_groups, "group"), names_of(others), here.cpu_model);
}

}  // namespace

Data load_data(const DataOptions& options, const std::string& extractor, int64_t max_sites,
               const std::filesystem::path& model, const StopToken& stop) {
  Data data;
  data.records = load_records(options.datasets, options.resplit);
  if (!model.empty()) data.weights = load_weights(model, data.records.op, extractor);
  check_machines(data.records);
  if (!takes_features(extractor))
    data.extractor = make_conv_torch_extractor(extractor, schedule::sparse_order(data.records.op), max_sites);
  const MatrixFiles files(options.matrices);
  std::vector<Group> groups = std::move(data.records.groups);
  Preparation prepared =
      prepare(std::move(groups), files, preparation_options(options, extractor, data.extractor), stop);
  if (prepared.num_missing_groups > 0 && stop())
    throw EnvironmentError(
        fmt::format("ended while preparing{}",
                    options.cache.empty() ? "" : "; what was prepared is kept for the next run"));
  if (prepared.num_missing_groups > 0)
    spdlog::warn("{} in {} left out, for want of matrices (not in --matrices, or of no use): {} ...",
                 counted(prepared.num_missing_records, "record"),
                 counted(prepared.num_missing_groups, "group"), prepared.first_missing);
  data.num_missing_records = prepared.num_missing_records;
  data.borrowed_ceilings = std::move(prepared.borrowed_ceilings);
  data.examples = std::move(prepared.examples);
  if (data.examples.empty())
    throw InputError(options.datasets[0].string(), 0,
                     "none of its matrices was found; name their folders with --matrices");
  for (const Example& example : data.examples)
    (example.group.split == dataset::Split::kValidation ? data.validation : data.training)
        .push_back(&example);
  return data;
}

ordered_json resplit_json(const std::optional<Resplit>& resplit) {
  if (!resplit) return nullptr;
  return {{"seed", resplit->seed}, {"validation_share", resplit->validation_share}};
}

std::set<std::string> originals_of(const Examples& examples) {
  std::set<std::string> names;
  for (const Example* example : examples) names.insert(example->group.original);
  return names;
}

ordered_json data_json(const Data& data, const std::optional<Resplit>& resplit) {
  const auto count = [](const Examples& examples) {
    int64_t records = 0;
    for (const Example* example : examples) records += static_cast<int64_t>(example->group.size());
    return ordered_json{{"groups", examples.size()}, {"records", records}};
  };
  ordered_json json = {{"files", data.records.files},
                       {"failed_records", data.records.num_failed},
                       {"lone_records", data.records.num_alone},
                       {"missing_records", data.num_missing_records},
                       {"training", count(data.training)},
                       {"validation", count(data.validation)}};
  json["training_originals"] = originals_of(data.training);
  json["validation_originals"] = originals_of(data.validation);
  if (data.records.machines.size() > 1) json["machines"] = machines_of(data.training, data.records.machines);
  for (const model::Ceilings& ceilings : data.borrowed_ceilings)
    json["borrowed_ceilings"].emplace_back(model::to_json(ceilings));
  if (resplit) json["resplit"] = resplit_json(resplit);
  return json;
}

}  // namespace waco::train
