// From records to groups and labels.
#include "waco/train/data/groups.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "waco/base/content_hash.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/dataset/dataset_file.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::train {
namespace {

using dataset::Record;

/// Intervals of few samples can be anything; a label is never trusted further than this.
constexpr double kLeastNoise = 0.005;

Label label_of(const Record& record) {
  Label label;
  label.censored = record.censored;
  label.cost = static_cast<float>(-std::log2(record.speedup));
  const measure::Estimate time =
      measure::estimate_median({record.samples_ns.begin(), record.samples_ns.end()});
  label.noise = static_cast<float>(std::log2(1 + std::max(kLeastNoise, time.relative_width())));
  return label;
}

/// Puts all groups of an original, and all of a pattern whatever its name, on the side where the first of
/// them is: what validation judges by must not have been learned from.
void join_sides(std::vector<Group>& groups) {
  std::map<std::string, size_t> first;
  std::vector<size_t> parent(groups.size());  // an earlier group of the same side, or the group itself
  const auto first_of = [&](size_t group) {
    while (parent[group] != group) group = parent[group];
    return group;
  };
  for (size_t g = 0; g < groups.size(); ++g) {
    parent[g] = g;
    for (const std::string& key : {"original " + groups[g].original, "pattern " + groups[g].matrix_hash}) {
      const size_t one = first_of(first.try_emplace(key, g).first->second), other = first_of(g);
      parent[std::max(one, other)] = std::min(one, other);
    }
  }
  int64_t num_moved = 0;
  std::set<std::string> originals;
  for (size_t g = 0; g < groups.size(); ++g) {
    const dataset::Split split = groups[first_of(g)].split;
    if (groups[g].split == split) continue;
    groups[g].split = split;
    ++num_moved;
    originals.insert(groups[g].original);
  }
  if (num_moved > 0)
    spdlog::warn(
        "matrices of one original or pattern were on both sides: {} of {} changed to the side of "
        "training or validation on which theirs was met first",
        counted(num_moved, "group"), counted(originals.size(), "original"));
}

class Loading {
 public:
  explicit Loading(const std::optional<Resplit>& resplit) : resplit_(resplit) {}

  void add_file(const std::filesystem::path& file, size_t number) {
    std::vector<Record> records;
    const dataset::ReadSummary found =
        dataset::read_dataset(file, [&](Record&& record) { records.push_back(std::move(record)); });
    if (number == 0) result_.machine = found.header.machine;
    const std::vector<std::shared_ptr<const model::Ceilings>> ceilings = ceilings_of(found.header, file);
    std::set<std::string> keys;
    int64_t num_repeated = 0;
    for (const Record& record : records) {
      if (!keys.insert(dataset::key(record)).second) {
        ++num_repeated;
        continue;
      }
      const auto place = static_cast<size_t>(record.machine.value_or(0));
      if (record.machine && place >= found.header.machines.size())
        throw InputError(file.string(), 0,
                         fmt::format("a record of {} names machine {}, and the header has {} machines",
                                     record.matrix, *record.machine, found.header.machines.size()));
      const Machine& machine = record.machine ? found.header.machines[place] : found.header.machine;
      const Origin origin{machine, place < ceilings.size() ? ceilings[place] : nullptr,
                          fmt::format("{} {}", number, record.machine.value_or(-1))};
      add(file, record, origin);
    }
    if (num_repeated > 0)
      spdlog::warn("{}: {} left out, of a point that an earlier record is of", file.string(),
                   counted(num_repeated, "record"));
    result_.files.push_back({{"name", file.filename().string()},
                             {"records", records.size()},
                             {"hash", content_hash(read_file(file))}});
  }

  Records take() {
    std::erase_if(result_.groups, [this](const Group& group) {
      if (group.size() == 1) ++result_.num_alone;
      return group.size() < 2;
    });
    for (const Group& group : result_.groups) result_.num_records += static_cast<int64_t>(group.size());
    if (result_.groups.empty()) throw UsageError("no matrix of the datasets has two points that were timed");
    join_sides(result_.groups);
    return std::move(result_);
  }

 private:
  /// Where a record was measured.
  struct Origin {
    const Machine& machine;
    std::shared_ptr<const model::Ceilings> ceilings;
    std::string key;  ///< differs from that of other machines and files
  };

  static std::vector<std::shared_ptr<const model::Ceilings>> ceilings_of(const dataset::Header& header,
                                                                         const std::filesystem::path& file) {
    std::vector<std::shared_ptr<const model::Ceilings>> ceilings;
    try {
      for (const nlohmann::json& json : header.ceilings)
        ceilings.push_back(
            json.is_null() ? nullptr : std::make_shared<model::Ceilings>(model::ceilings_from_json(json)));
    } catch (const UsageError&) {
      throw InputError(file.string(), 1, "the ceilings of a machine are damaged");
    }
    return ceilings;
  }

  void add(const std::filesystem::path& file, const Record& record, const Origin& origin) {
    if (std::exchange(is_first_, false)) result_.op = record.problem.op;
    if (record.problem.op != result_.op)
      throw UsageError(fmt::format("{}: has records of {}, other datasets are of {}; a model is of one op",
                                   file.string(), schedule::name(record.problem.op),
                                   schedule::name(result_.op)));
    if (!record.tells()) {
      ++result_.num_failed;
      return;
    }
    schedule::SuperSchedule point = dataset::point_of(record, file);
    if (point.format.skewed()) {  // predicted from other patterns
      ++result_.num_alone;
      return;
    }
    if (is_clustered_csr(point, record.threads)) {
      ++result_.num_alone;
      return;
    }
    const std::string key = fmt::format(
        "{} {} {} {} {} {} {}", origin.key, record.matrix_hash, schedule::name(record.problem.type),
        record.problem.rhs, record.threads, point.format.clustered(), point.format.cluster_window);
    const auto [place, is_new] = places_.try_emplace(key, result_.groups.size());
    if (is_new) result_.groups.push_back(new_group(record, origin, point.format));
    Group& group = result_.groups[place->second];
    group.points.push_back(std::move(point));
    group.labels.push_back(label_of(record));
  }

  /// Its kernel is a generated one, while CSR's point elsewhere stands for fixed_csr's, and no input of a
  /// model tells the two apart.
  static bool is_clustered_csr(const schedule::SuperSchedule& point, int threads) {
    return point.format.clustered() && schedule::arranged(point, schedule::Arrangement::kGiven) ==
                                           schedule::csr_point(point.problem, threads);
  }

  /// Of a machine among those of the result.
  size_t place_of(const Machine& machine) {
    const auto same = [&](const Machine& other) { return dataset::same_machine(machine, other); };
    const auto at = std::find_if(result_.machines.begin(), result_.machines.end(), same);
    const auto place = static_cast<size_t>(at - result_.machines.begin());
    if (at == result_.machines.end()) result_.machines.push_back(machine);
    return place;
  }

  Group new_group(const Record& record, const Origin& origin, const schedule::FormatSchedule& format) {
    Group group;
    group.clustered = format.clustered();
    group.cluster_window = format.cluster_window;
    group.matrix = record.matrix;
    group.matrix_hash = record.matrix_hash;
    group.original = record.original;
    group.source = record.source;
    group.dims = record.dims;
    group.num_nonzeros = record.num_nonzeros;
    group.problem = record.problem;
    group.threads = record.threads;
    group.machine = place_of(origin.machine);
    const CompilerTarget& target = origin.machine.compiler;
    group.vector_bytes = target.command.empty() ? 0 : target.vector_bytes;
    if (origin.ceilings && origin.ceilings->threads == record.threads) group.ceilings = origin.ceilings;
    group.split = resplit_ ? dataset::split_of(record.original, resplit_->seed, resplit_->validation_share)
                           : record.split;
    return group;
  }

  std::optional<Resplit> resplit_;
  bool is_first_ = true;
  std::map<std::string, size_t> places_;
  Records result_;
};

}  // namespace

int Group::baseline() const {
  const auto found = std::find(points.begin(), points.end(), schedule::csr_point(problem, threads));
  return found == points.end() ? -1 : static_cast<int>(found - points.begin());
}

float Group::best() const {
  float least = std::numeric_limits<float>::infinity();
  for (const Label& label : labels)
    if (!label.censored) least = std::min(least, label.cost);
  return least;
}

Records load_records(const std::vector<std::filesystem::path>& files, const std::optional<Resplit>& resplit) {
  Loading loading(resplit);
  for (size_t number = 0; number < files.size(); ++number) loading.add_file(files[number], number);
  return loading.take();
}

bool is_slower(const Label& slow, const Label& fast, float margin) {
  return !fast.censored && slow.cost - fast.cost > std::max(margin, slow.noise + fast.noise);
}

}  // namespace waco::train
