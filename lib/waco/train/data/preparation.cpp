// Inputs of all groups, several groups at a time.
#include "waco/train/data/preparation.hpp"

#include <omp.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "waco/base/error.hpp"
#include "waco/base/progress.hpp"
#include "waco/base/thread_places.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/model/learned/cost_features.hpp"
#include "waco/model/learned/extractor.hpp"
#include "waco/pattern/pattern_features.hpp"
#include "waco/schedule/encoding.hpp"
#include "waco/train/data/preparation_cache.hpp"

namespace waco::train {
namespace {

void append(std::vector<float>& to, const std::vector<float>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// The closed-form model's terms of all points: [n, T].
std::vector<float> compute_terms(const Group& group, const matrix::SparseTensor& tensor,
                                 const model::Ceilings& ceilings) {
  model::ClosedFormModel closed_form(tensor, ceilings);
  const model::CostTerms csr = closed_form.terms(schedule::csr_point(group.problem, group.threads));
  std::vector<float> terms;
  for (const schedule::SuperSchedule& point : group.points)
    append(terms, model::cost_features(closed_form.terms(point), csr));
  return terms;
}

void encode_points(Example& example) {
  const Group& group = example.group;
  for (const schedule::SuperSchedule& point : group.points) {
    const schedule::Encoding code = schedule::encode(point, group.threads);
    example.categories.insert(example.categories.end(), code.categories.begin(), code.categories.end());
    append(example.levels, code.levels);
    append(example.loops, code.loops);
    append(example.numbers, code.numbers);
  }
  const bool f64 = group.problem.type == schedule::ValueType::kF64;
  example.problem = {static_cast<float>(std::log2(static_cast<double>(group.problem.rhs))), f64 ? 1.F : 0.F};
}

/// Prepares groups; every worker takes the next one.
class Preparing {
 public:
  Preparing(std::vector<Group> groups, const MatrixFiles& files, const PreparationOptions& options,
            const StopToken& stop)
      : groups_(std::move(groups)),
        files_(files),
        options_(options),
        stop_(stop),
        cache_(options.cache),
        results_(groups_.size()),
        progress_("preparing", static_cast<int64_t>(groups_.size())) {
    for (const Group& group : groups_)
      if (!group.ceilings && !borrowed_.count(group.threads))
        borrowed_[group.threads] = options.ceilings(group.threads);
  }

  Preparation run() {
    {
      std::vector<std::jthread> workers;
      for (int n = 0; n < std::max(1, options_.threads); ++n) workers.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    for (const size_t at : too_large_) prepare_alone(at);
    if (!stop_()) cache_.tidy();  // a run that was ended has not come to all that it uses
    return collect();
  }

 private:
  void work() {
    // Groups are what runs in parallel: regions of a worker take the threads that are left to it. Where
    // OpenMP binds threads, it would bind each worker to the first place at its first region.
    omp_set_num_threads(threads_each());
    (void)omp_get_place_num();
    release_this_thread();
    for (size_t at; (at = next_++) < groups_.size();) {
      if (stop_() || failed_) return;
      try {
        prepare_one(at);
      } catch (const TooLargeError&) {
        put_off(at);
      } catch (const std::bad_alloc&) {
        put_off(at);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        failure_ = std::current_exception();
        failed_ = true;
      }
      progress_.advance();
    }
  }

  void put_off(size_t at) {
    const std::scoped_lock lock(mutex_);
    too_large_.push_back(at);
  }

  /// A group whose matrix found no room beside those of the other workers.
  void prepare_alone(size_t at) {
    if (stop_()) return;
    try {
      prepare_one(at);
    } catch (const TooLargeError& error) {
      spdlog::warn("{}", error.what());
    } catch (const std::bad_alloc&) {
      spdlog::warn("{}: is left out: there is too little memory", groups_[at].matrix);
    }
  }

  int threads_each() const {
    return std::max(1, options_.threads / static_cast<int>(std::max<size_t>(1, groups_.size())));
  }

  void prepare_one(size_t at) {
    const Group& group = groups_[at];
    Example example;
    std::optional<matrix::SparseTensor> tensor;  // read when something needs it
    const auto have = [&] {
      if (!tensor) tensor = read(group);
      return tensor.has_value();
    };
    model::Ceilings ceilings = group.ceilings ? *group.ceilings : borrowed_.at(group.threads);
    if (group.vector_bytes > 0) ceilings = ceilings.with_vectors_of(group.vector_bytes);
    std::optional<std::vector<float>> terms = cache_.terms(group, ceilings);
    if (!terms) {
      if (!have()) return;
      terms = compute_terms(group, *tensor, ceilings);
      cache_.keep_terms(group, ceilings, *terms);
    }
    example.terms = std::move(*terms);
    if (options_.make_pattern) {
      const std::string key = pattern_key(group);
      example.pattern = pattern_of(key);
      if (!example.pattern) {
        if (!have()) return;
        example.pattern = keep_pattern(key, options_.make_pattern(*tensor));
      }
    } else if (options_.extractor == "human") {
      example.features = model::shape_features(group.dims, group.num_nonzeros);
    } else {
      std::optional<std::vector<float>> features = cache_.features(group);
      if (!features) {
        if (!have()) return;
        features = pattern::pattern_features(*tensor, threads_each());
        cache_.keep_features(group, *features);
      }
      example.features = std::move(*features);
    }
    example.group = group;
    encode_points(example);
    results_[at] = std::move(example);
  }

  static std::string pattern_key(const Group& group) {
    return fmt::format("{} {} {}", group.matrix_hash, group.clustered, group.cluster_window);
  }

  /// As another group had it, or null.
  std::shared_ptr<const PreparedPattern> pattern_of(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = patterns_.find(key);
    return found == patterns_.end() ? nullptr : found->second;
  }

  /// Returns the one that all groups share.
  std::shared_ptr<const PreparedPattern> keep_pattern(const std::string& key,
                                                      std::shared_ptr<const PreparedPattern> pattern) {
    const std::scoped_lock lock(mutex_);
    return patterns_.try_emplace(key, std::move(pattern)).first->second;
  }

  /// The tensor of a group, its rows clustered where the points cluster them; nullopt when it is not to be
  /// had.
  std::optional<matrix::SparseTensor> read(const Group& group) const {
    std::vector<std::string> faults;
    for (const matrix::CorpusItem& item : files_.find(group)) {
      try {
        matrix::SparseTensor tensor = matrix::read_item(item, {.threads = threads_each()}).tensor;
        const std::string hash = matrix::pattern_hash(tensor);
        files_.note_pattern(item, hash);
        if (hash == group.matrix_hash)
          return group.clustered ? codegen::with_clustered_rows(tensor, group.cluster_window, threads_each())
                                 : std::move(tensor);
        faults.push_back(
            fmt::format("{}: has another pattern than the dataset's {}", item.source, group.matrix));
      } catch (const EnvironmentError&) {  // no fault of the matrix
        throw;
      } catch (const Error& error) {
        faults.push_back(error.what());
      }
    }
    for (const std::string& fault : faults) spdlog::warn("{}", fault);
    return std::nullopt;
  }

  Preparation collect() {
    Preparation result;
    for (const auto& [threads, ceilings] : borrowed_) result.borrowed_ceilings.push_back(ceilings);
    for (size_t at = 0; at < groups_.size(); ++at) {
      if (results_[at]) {
        result.examples.push_back(std::move(*results_[at]));
        continue;
      }
      if (result.num_missing_groups++ == 0) result.first_missing = groups_[at].source;
      result.num_missing_records += static_cast<int64_t>(groups_[at].size());
    }
    return result;
  }

  const std::vector<Group> groups_;
  const MatrixFiles& files_;
  const PreparationOptions& options_;
  const StopToken stop_;
  const PreparationCache cache_;
  std::map<int, model::Ceilings> borrowed_;  ///< of this machine, by threads
  std::vector<std::optional<Example>> results_;
  std::map<std::string, std::shared_ptr<const PreparedPattern>> patterns_;
  Progress progress_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::vector<size_t> too_large_;  ///< groups that are prepared alone, when the others are done
  std::exception_ptr failure_;
};

}  // namespace

bool takes_features(std::string_view extractor) {
  return extractor == "pyramid" || extractor == "human";
}

Preparation prepare(std::vector<Group> groups, const MatrixFiles& files, const PreparationOptions& options,
                    const StopToken& stop) {
  return Preparing(std::move(groups), files, options, stop).run();
}

}  // namespace waco::train
