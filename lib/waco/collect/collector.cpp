// The run over all matrices of a shard.
#include "waco/collect/collector.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <system_error>

#include "waco/base/artifact.hpp"
#include "waco/base/clock.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/progress.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/collect/matrix_run.hpp"
#include "waco/dataset/dataset_file.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/worker_process.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/model/closed_form.hpp"
#include "waco/schedule/row_windows.hpp"

namespace waco::collect {
namespace {

/// Clustered rows are learned of where CSR, written row after row, is expected to take at most this share of
/// its time with the rows as they are.
constexpr double kWorthCollecting = 0.95;

using matrix::CorpusItem;

/// The target of the compiler. Throws EnvironmentError when a matrix could not be measured for want of the
/// compiler, OpenMP or the worker.
CompilerTarget usable_target(const std::string& compiler, const StopToken& stop) {
  measure::find_worker({});
  const measure::KernelCache cache(measure::Compiler::find(compiler, stop));
  cache.require_openmp(stop);
  return cache.compiler().target();
}

std::string stored_source(const CorpusItem& item) {
  return stored_text(matrix::record_source(item));
}

/// What the file was begun with; a run with other values would mix unlike records.
nlohmann::ordered_json collection_json(const CollectOptions& options, int threads) {
  nlohmann::ordered_json json = {{"op", schedule::name(options.problem.op)},
                                 {"type", schedule::name(options.problem.type)},
                                 {"rhs", options.problem.rhs},
                                 {"threads", threads},
                                 {"seed", options.seed},
                                 {"per_matrix", options.per_matrix},
                                 {"augment", options.num_copies},
                                 {"censor_ratio", options.censor_ratio},
                                 {"validation_share", options.validation_share},
                                 {"max_fill", options.max_fill}};
  if (options.clustered) json["clustered"] = true;
  for (const schedule::SuperSchedule& point : options.asked)
    json["schedules"].push_back(schedule::to_text(point));
  if (options.learned) {
    const auto& index = options.learned->index;
    json["model"] = options.learned->hash();
    json["index"] = index ? fast_content_hash(index->vertices().plain()) : "none";
  }
  if (options.shard.count > 1) json["shard"] = fmt::format("{}/{}", options.shard.index, options.shard.count);
  return json;
}

class Collection {
 public:
  Collection(const CollectOptions& options, const StopToken& stop)
      : options_(options),
        stop_(stop),
        threads_(threads_or_all(options.threads)),
        target_(usable_target(options.compiler, stop)),
        machine_(describe_machine(target_)),
        items_(own_items()),
        file_(
            options.output, header(), [this](dataset::Record&& record) { ledger_.add(record); },
            [this](dataset::Header& header) { add_ceilings(header); }),
        pool_(options.problem, threads_, options.seed),
        context_{options, choice_options(), pool_, compiled_, stop, {}} {
    context_.on_record = [this](const dataset::Record& record) { keep(record); };
    // Those that look complete are read at the end, so that runs of limited time come to the others.
    std::stable_partition(items_.begin(), items_.end(), [&](const CorpusItem& item) {
      return !is_complete(ledger_.find(item.name, stored_source(item)));
    });
    summary_.num_before = ledger_.num_records();
  }

  CollectSummary run() {
    const auto start = std::chrono::steady_clock::now();
    Progress::Style style = Progress::style_for(stderr);
    style.rates = true;
    progress_.emplace("collecting", num_planned(), stderr, style);
    for (const CorpusItem& item : items_) {
      if (stops_here()) break;
      collect_original(item);
    }
    file_.sync();
    const bool is_empty = summary_.num_before + summary_.num_records == 0;
    if (is_empty && summary_.num_unreadable > 0 && !summary_.stopped) file_.discard();
    progress_.reset();
    summary_.seconds = seconds_since(start);
    return summary_;
  }

 private:
  std::vector<CorpusItem> own_items() const {
    const std::vector<CorpusItem> all =
        matrix::gather_items(options_.inputs, schedule::sparse_order(options_.problem.op), options_.seed);
    for (const CorpusItem& item : all)
      if (is_stream(item.source))
        throw UsageError(fmt::format(
            "{}: matrices are read again where a run continues, which stdin and pipes can't be: name a file",
            item.source));
    std::vector<CorpusItem> own;
    for (size_t place = 0; place < all.size(); ++place)
      if (options_.shard.owns(place))
        own.push_back({stored_text(all[place].name), stored_text(all[place].original), all[place].source});
    return own;
  }

  dataset::Header header() const {
    dataset::Header header;
    header.created_by = options_.created_by;
    header.machine = machine_;
    header.collection = collection_json(options_, threads_);
    return header;
  }

  /// Takes all threads for seconds where they have to be measured, which another run that writes to the file
  /// would feel.
  void add_ceilings(dataset::Header& header) const {
    header.ceilings = {model::to_json(model::load_or_measure_ceilings(threads_, cache_folder_if_any()))};
  }

  ChoiceOptions choice_options() const {
    ChoiceOptions choice;
    choice.problem = options_.problem;
    choice.threads = threads_;
    choice.per_matrix = options_.per_matrix;
    choice.asked = options_.asked;
    choice.clustered = options_.clustered;
    choice.seed = options_.seed;
    choice.max_fill = options_.max_fill;
    // Of all memory, not of what is free now, and of the machine that began the file: the points must be the
    // same in every run. Several candidates are packed at the same time, and packing needs room as well.
    choice.max_bytes = std::max<int64_t>(file_.header().machine.memory_bytes / 24, int64_t{1} << 20);
    choice.vector_bytes = target_.vector_bytes;
    choice.learned = options_.learned.get();
    choice.ceilings = ceilings_of_file();
    if (choice.learned != nullptr || !choice.ceilings) return choice;
    // Points of all strata are drawn the same on every machine of a kind, whatever was measured of it. The L3
    // is that behind the CPUs that the first run was allowed.
    const int64_t l3_bytes = choice.ceilings->levels[2].capacity_bytes;
    choice.ceilings = model::default_ceilings(threads_);
    choice.ceilings->levels[2].capacity_bytes = l3_bytes;
    return choice;
  }

  /// What a learned model was trained with, and waco-tune ranks with: measured. Those that the file was begun
  /// with, so that a run that goes on chooses the same points; nullopt in files without.
  std::optional<model::Ceilings> ceilings_of_file() const {
    const std::vector<nlohmann::json>& found = file_.header().ceilings;
    if (found.empty() || found[0].is_null()) return std::nullopt;
    try {
      return model::ceilings_from_json(found[0]);
    } catch (const UsageError&) {
      throw InputError(options_.output.string(), 1, "the ceilings of its machine are damaged");
    }
  }

  int64_t num_planned() const {
    return static_cast<int64_t>(items_.size()) * (1 + options_.num_copies) * options_.per_matrix;
  }

  /// Asked where there is more to do.
  bool stops_here() {
    summary_.stopped = summary_.stopped || stop_();
    return summary_.stopped;
  }

  /// An original and its reshaped copies, which one shard makes together.
  void collect_original(const CorpusItem& item) {
    // A recipe says all of what it makes; a file of the same name may be another matrix.
    const bool sure = item.source.starts_with(matrix::kSynthetic);
    const std::optional<Collected> original = collect_item(item, sure);
    if (!original) {
      progress_->skip(int64_t{options_.num_copies} * options_.per_matrix);
      return;
    }
    for (const CorpusItem& copy : matrix::augmented(item, original->dims, original->num_nonzeros,
                                                    options_.num_copies, options_.seed)) {
      if (stops_here()) return;
      // The copies that are there were made of the only matrix of its name.
      collect_item(copy, original->ledger != nullptr &&
                             ledger_.find(item.name, stored_source(item)) == original->ledger);
    }
  }

  /// A matrix, and what there is of it; nullptr where its rows are not worth clustering.
  struct Collected {
    std::vector<int64_t> dims;
    int64_t num_nonzeros = 0;
    const MatrixLedger* ledger = nullptr;
  };
  static Collected collected(const MatrixLedger* ledger) {
    return {ledger->dims, ledger->num_nonzeros, ledger};
  }

  /// nullopt when the item can't be used, or is another one's duplicate: copies of that could be on the other
  /// side of the split. One that is `sure` to be the matrix that has its name and source in the file is not
  /// made when it is complete there.
  std::optional<Collected> collect_item(const CorpusItem& item, bool sure) {
    const MatrixLedger* before = sure ? ledger_.find(item.name, stored_source(item)) : nullptr;
    if (is_complete(before)) return complete(before);
    try {
      const matrix::ReadResult read =
          matrix::read_item(item, {.threads = threads_,
                                   .most_nonzeros = model::kMostNonzeros,
                                   .order = schedule::sparse_order(options_.problem.op),
                                   .stop = stop_});
      if (item.name == item.original)  // of copies it would be told again
        for (const std::string& note : read.notes) spdlog::info("{}: {}", item.name, note);
      return collect_tensor(item, read.tensor);
    } catch (const Stopped&) {
      summary_.stopped = true;
    } catch (const measure::Unmeasurable& error) {
      leave_out(item, error.what());
    } catch (const TooLargeError& error) {
      leave_out(item, error.what());
    } catch (const EnvironmentError& error) {  // of no matrix's making
      throw EnvironmentError(fmt::format("{}: {}", item.name, error.what()), error.code());
    } catch (const std::system_error&) {
      throw;
    } catch (const std::bad_alloc&) {
      leave_out(item, "not enough memory");
    } catch (const std::exception& error) {  // its input, or a bug of ours that it meets; the others go on
      leave_out(item, error.what());
    }
    return std::nullopt;
  }

  bool is_complete(const MatrixLedger* before) const {
    return before != nullptr && static_cast<int>(before->plans.size()) >= options_.per_matrix;
  }

  Collected complete(const MatrixLedger* before) {
    progress_->skip(options_.per_matrix);
    ++summary_.num_matrices;
    return collected(before);
  }

  void leave_out(const CorpusItem& item, const char* reason) {
    if (stops_here()) return;  // being stopped is no fault of the matrix
    spdlog::warn("{}: left out: {}", item.name, reason);
    ++summary_.num_unreadable;
    progress_->skip(options_.per_matrix);
  }

  std::optional<Collected> collect_tensor(const CorpusItem& item, const matrix::SparseTensor& tensor) {
    const int order = schedule::sparse_order(options_.problem.op);
    if (tensor.order() != order)
      throw InputError(item.source, 0,
                       fmt::format("{} needs a {}", schedule::name(options_.problem.op),
                                   order == 2 ? "matrix" : "3-D tensor"));
    if (tensor.num_nonzeros() == 0) return without_nonzeros(item);
    const dataset::Record record = common_record(item, tensor);
    const MatrixLedger* before = ledger_.find(record.matrix_hash);
    const auto in_good_order = in_good_order_.find(record.matrix_hash);
    const std::string first = before != nullptr                       ? before->matrix
                              : in_good_order != in_good_order_.end() ? in_good_order->second
                                                                      : item.name;
    if (first != item.name) {
      spdlog::info("{}: left out, has the pattern of {}", item.name, first);
      ++summary_.num_matrices;
      progress_->skip(options_.per_matrix);
      return std::nullopt;
    }
    if (is_complete(before)) return complete(before);
    std::optional<matrix::SparseTensor> clustered;
    if (options_.clustered) {
      clustered = worth_clustering(tensor);
      if (!clustered) {
        in_good_order_[record.matrix_hash] = item.name;
        return with_good_order(item, tensor);
      }
      if (stops_here()) return std::nullopt;  // clustering took its time
    }
    const MatrixLedger own = before != nullptr ? *before : MatrixLedger();
    const auto num_before = static_cast<int64_t>(own.plans.size());
    const int64_t num_records = summary_.num_records;
    progress_->skip(num_before);
    if (!collect_matrix(tensor, clustered ? &*clustered : nullptr, record, own, context_)) {
      summary_.stopped = true;
      return std::nullopt;
    }
    file_.sync();
    ++summary_.num_matrices;
    // Tiny matrices have fewer points than asked for.
    progress_->skip(options_.per_matrix - num_before - (summary_.num_records - num_records));
    const MatrixLedger* ledger = ledger_.find(record.matrix_hash);
    return ledger != nullptr ? std::optional(collected(ledger)) : std::nullopt;
  }

  /// The matrix with its rows clustered, where that may gain.
  std::optional<matrix::SparseTensor> worth_clustering(const matrix::SparseTensor& tensor) const {
    const model::Ceilings ceilings = context_.choice.ceilings.value_or(model::default_ceilings(threads_))
                                         .with_vectors_of(target_.vector_bytes);
    model::ClosedFormModel given(tensor, ceilings);
    if (!given.may_gain_by_clustering(options_.problem)) return std::nullopt;
    const int64_t window = schedule::cluster_window(options_.problem, tensor.dims[0], threads_);
    matrix::SparseTensor clustered = codegen::with_clustered_rows(tensor, window, threads_);
    model::ClosedFormModel expected(clustered, ceilings);
    const schedule::SuperSchedule csr = schedule::csr_point(options_.problem, threads_);
    const bool gains = expected.terms(csr).total_ns <= kWorthCollecting * given.terms(csr).total_ns;
    return gains ? std::optional(std::move(clustered)) : std::nullopt;
  }

  /// There is nothing to learn of its rows.
  Collected with_good_order(const CorpusItem& item, const matrix::SparseTensor& tensor) {
    spdlog::info("{}: left out, its rows come in a good order", item.name);
    ++summary_.num_in_good_order;
    progress_->skip(options_.per_matrix);
    return {tensor.dims, tensor.num_nonzeros(), nullptr};
  }

  /// A fault of an original; copies are drawn, and may be windows of nothing.
  std::optional<Collected> without_nonzeros(const CorpusItem& item) {
    if (item.name == item.original) throw InputError(item.source, 0, "has no nonzeros to measure on");
    spdlog::info("{}: left out, has no nonzeros", item.name);
    progress_->skip(options_.per_matrix);
    return std::nullopt;
  }

  dataset::Record common_record(const CorpusItem& item, const matrix::SparseTensor& tensor) const {
    dataset::Record record;
    record.matrix = item.name;
    record.matrix_hash = matrix::pattern_hash(tensor);
    record.original = item.original;
    record.source = stored_source(item);
    record.dims = tensor.dims;
    record.num_nonzeros = tensor.num_nonzeros();
    record.split = dataset::split_of(item.original, options_.seed, options_.validation_share);
    record.problem = options_.problem;
    record.threads = threads_;
    record.seed = options_.seed;
    return record;
  }

  void keep(const dataset::Record& record) {
    file_.append(record);
    ledger_.add(record);
    ++summary_.num_records;
    summary_.num_failed += record.ok() ? 0 : 1;
    summary_.num_disturbed += record.disturbed ? 1 : 0;
    record.ok() ? progress_->advance() : progress_->fail();
  }

  const CollectOptions& options_;
  StopToken stop_;
  const int threads_;
  const CompilerTarget target_;
  const Machine machine_;
  std::vector<CorpusItem> items_;
  Ledger ledger_;
  std::map<std::string, std::string> in_good_order_;  ///< names of matrices without records, by pattern
  dataset::DatasetAppender file_;
  StructurePool pool_;
  std::set<std::string> compiled_;
  RunContext context_;
  std::optional<Progress> progress_;
  CollectSummary summary_;
};

}  // namespace

CollectSummary collect(const CollectOptions& options, const StopToken& stop) {
  try {
    return Collection(options, stop).run();
  } catch (const Stopped&) {  // before the first matrix
    CollectSummary summary;
    summary.stopped = true;
    return summary;
  }
}

}  // namespace waco::collect
