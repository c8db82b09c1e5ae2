// Collect, train, judge, index, replace.
#include "waco/tune/calibration.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/dataset/dataset_file.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/model/learned/learned_model.hpp"
#include "waco/search/learned.hpp"
#include "waco/tune/sibling_programs.hpp"

namespace waco::tune {
namespace fs = std::filesystem;

namespace {

using nlohmann::json;

// Corpus and split of the built-in datasets: what their models were judged on is judged on here too.
constexpr int kNumSynthetic = 84;
constexpr int kSeed = 7;
// A few named matrices may all be on one side of that split: then more are kept to judge by.
constexpr std::array<double, 4> kValidationShares{0.2, 0.3, 0.4, 0.5};
// A few points each on many matrices tell more of a machine than many points on a few.
constexpr int kPerMatrix = 30;
constexpr double kClearlyBetter = 0.01;
constexpr int64_t kFewest = 3;     ///< matrices to learn from, and to judge by
constexpr int kTraining_s = 3600;  ///< of a model, at most

/// Whether a model may have learned from one of `judged`, the originals that models are judged by here,
/// chosen by `share`. Where it does not say what it learned from: unless it was trained with the same
/// division.
bool may_know(const fs::path& model, const std::set<std::string>& judged, double share) {
  const json manifest = model::read_model_manifest(model);
  const json data = manifest.value("dataset", json::object());
  const auto learned = data.value("training_originals", std::set<std::string>());
  if (std::ranges::any_of(judged, [&](const std::string& name) { return learned.contains(name); }))
    return true;
  if (data.contains("training_originals") && !data.value("training_originals_partial", false)) return false;
  const json resplit = data.value("resplit", json());
  if (!resplit.is_object() && share != kValidationShares[0]) return true;
  if (resplit.is_object() &&
      (resplit.value("seed", -1) != kSeed || resplit.value("validation_share", 0.0) != share))
    return true;
  const json originals = data.value("validation_originals", json::array());
  return originals.empty() || !std::ranges::all_of(originals, [&](const json& original) {
           return original.is_string() &&
                  dataset::split_of(original.get<std::string>(), kSeed, share) == dataset::Split::kValidation;
         });
}

/// A name that no program takes for an option or a sub-command, however it begins.
std::string as_path(const fs::path& name) {
  return name.is_absolute() ? name : "." / name;
}

CalibrationScore score_of(const json& report) {
  const json& ranked = report.at("metrics").at("blended");  // what tuning ranks by
  if (!ranked.contains("pairwise_accuracy"))
    throw EnvironmentError(
        "no two points of the matrices to judge by are clearly apart; run it again, with more --minutes");
  return {ranked.at("pairwise_accuracy"), ranked.at("top1_regret")};
}

/// All of it or nothing.
void copy_folder(const fs::path& from, const fs::path& to) {
  const fs::path copy = temporary_name(to);
  std::error_code error;
  fs::copy(from, copy, fs::copy_options::recursive, error);
  if (!error) fs::rename(copy, to, error);
  if (!error) return;
  const std::string cause = error.message();
  fs::remove_all(copy, error);
  throw EnvironmentError(fmt::format("{}: can't be copied to {}: {}", from.string(), to.string(), cause));
}

schedule::Op op_of_model(const fs::path& folder) {
  const fs::path file = folder / "model.json";
  const auto op =
      schedule::parse_op(read_artifact(file, model::kModelFormat, model::kModelVersion).value("op", ""));
  if (!op) throw InputError(file.string(), 0, "is the manifest of a model of an unknown op");
  return *op;
}

class Calibration {
 public:
  Calibration(const CalibrationOptions& options, const StopToken& stop)
      : options_(options),
        stop_(stop),
        op_(schedule::name(options.op)),
        manifest_(model::read_model_manifest(options.start.model)),
        threads_(std::to_string(threads_or_all(options.threads))) {
    const fs::path user = user_data_folder();
    if (user.empty()) throw EnvironmentError("there is no home folder to keep a model in; set XDG_DATA_HOME");
    work_ = user / "calibration" / (op_ + "-" + kind_of_measurements());
    std::error_code error;
    for (const fs::path& folder : {work_, user / "models"}) fs::create_directories(folder, error);
    if (error) throw EnvironmentError(fmt::format("{}: can't be made: {}", work_.string(), error.message()));
    lock_.emplace(work_.parent_path() / (op_ + ".lock"),
                  fmt::format("another calibration of {} is running", op_));
    result_.model = users_place(options.op);
  }

  CalibrationResult run() {
    collect();
    divide();
    result_.before = judge(options_.start.model);
    result_.own = judge_own();
    Trained best = train("predictor", false);
    // The whole network soon knows a few synthetic matrices by heart: it has to be clearly better.
    Trained whole = train("network", true);
    if (whole.score.right_pairs > best.score.right_pairs + kClearlyBetter) std::swap(best, whole);
    result_.after = best.score;
    if (result_.after.right_pairs <= result_.before.right_pairs ||
        (result_.own && result_.after.right_pairs <= result_.own->right_pairs))
      return result_;
    add_index(best.folder);
    keep_own();
    // From beside it: measurements may lie on another file system.
    std::error_code error;
    const fs::path place = fs::weakly_canonical(result_.model, error);
    const fs::path fresh = temporary_name(error ? result_.model : place);
    copy_folder(best.folder, fresh);
    replace_folder(fresh, result_.model);
    fs::remove_all(best.folder, error);
    result_.replaced = true;
    return result_;
  }

 private:
  /// Measurements of one machine, compiler and number of threads do not mix with those of another. Memory
  /// and the CPUs that a job was given, make no difference (dataset::same_machine).
  std::string kind_of_measurements() const {
    const CompilerTarget target = measure::Compiler::find(options_.compiler).target();
    const Machine here = describe_machine(target);
    Machine compared;
    compared.cpu_model = here.cpu_model;
    compared.num_cores = here.num_cores;
    compared.caches = here.caches;
    compared.compiler.version = target.version;
    compared.compiler.fingerprint = target.fingerprint;
    return content_hash(json(compared).dump() + threads_).substr(0, 12);
  }

  /// A dataset for each type and size of the dense index, in equal times; those of other ones that are there
  /// already count, too.
  void collect() {
    const json types =
        options_.type.empty() ? manifest_.value("types", json::array({"f32"})) : json::array({options_.type});
    const json sizes = options_.rhs ? json::array({*options_.rhs}) : manifest_.value("rhs", json::array());
    if (sizes.empty())
      throw UsageError(
          fmt::format("{}: does not say of which sizes of the dense index it is; name one (--rhs)",
                      options_.start.model.string()));
    const double seconds = options_.minutes * 60 / static_cast<double>(types.size() * sizes.size());
    for (const std::string type : types)
      for (const int64_t rhs : sizes) {
        const fs::path file = work_ / fmt::format("{}-{}.jsonl", type, rhs);
        const ProcessEnd end = run_in_view(collect_command(type, rhs, seconds, file), stop_);
        if (stop_.stop_requested())
          throw EnvironmentError(
              fmt::format("calibration was stopped ({}); measurements are kept, the same command continues",
                          stop_.reason()));
        const auto code = end.exited ? static_cast<ExitCode>(end.code) : ExitCode::kFailed;
        if (code != ExitCode::kDone && code != ExitCode::kPartial)
          throw EnvironmentError(
              fmt::format("waco-collect failed ({})", end.describe()),
              code == ExitCode::kCompiler || code == ExitCode::kInput ? code : ExitCode::kFailed);
      }
    find_datasets();
  }

  void find_datasets() {
    for (const auto& entry : fs::directory_iterator(work_)) {
      const fs::path& file = entry.path();
      if (file.extension() != ".jsonl") continue;
      if (dataset::is_torn_header(file)) {
        spdlog::warn("{}: is left out, as the run that began it was ended before its header", file.string());
      } else {
        datasets_.push_back(file);
      }
    }
    std::sort(datasets_.begin(), datasets_.end());
  }

  std::vector<std::string> collect_command(const std::string& type, int64_t rhs, double seconds,
                                           const fs::path& file) const {
    std::vector<std::string> command{
        sibling_program("waco-collect"), "--op", op_, "--type", type, "-o", file};
    if (schedule::has_dense_index(options_.op)) append(command, {"--rhs", std::to_string(rhs)});
    append(command, {"--per-matrix", std::to_string(kPerMatrix), "--seed", std::to_string(kSeed)});
    append(command, {"--validation-share", fmt::format("{}", kValidationShares[0])});
    append(command, {"--threads", threads_, "--time-limit", fmt::format("{:.3f}", seconds)});
    append(command, {"--shard", "0/1"});  // all, even where this is a task of an array or a step
    if (!options_.compiler.empty()) append(command, {"--compiler", options_.compiler});
    if (options_.quiet) command.push_back("-q");
    for (const std::string& matrix : options_.matrices) command.push_back(as_path(matrix));
    for (const std::string& list : options_.lists) append(command, {"--list", as_path(list)});
    if (!names_matrices()) append(command, {"--synthetic", std::to_string(kNumSynthetic)});
    return command;
  }

  /// Divides the matrices with two points to rank, as waco-train counts them.
  void divide() {
    std::set<std::string> originals;
    for (const fs::path& file : datasets_) {
      std::map<std::string, int> num_points;  // by group
      for (const dataset::Record& record : dataset::load_dataset(file).records) {
        ++result_.num_records;
        if (record.tells() && ++num_points[dataset::group(record)] == 2) originals.insert(record.original);
      }
    }
    for (const double share : kValidationShares) {
      judged_.clear();
      std::ranges::copy_if(originals, std::inserter(judged_, judged_.end()), [&](const std::string& name) {
        return dataset::split_of(name, kSeed, share) == dataset::Split::kValidation;
      });
      const int64_t num_judging = std::ssize(judged_);
      const int64_t num_learning = std::ssize(originals) - num_judging;
      if (num_judging < kFewest || num_learning < kFewest) continue;
      validation_share_ = share;
      result_.num_validation = num_judging;
      return;
    }
    throw EnvironmentError(fmt::format(
        "{}: {} measured so far, too few to learn from some and judge by others; run it again, with more {}",
        op_, counted(originals.size(), "matrix", "matrices"),
        names_matrices() ? "matrices or --minutes" : "--minutes"));
  }

  bool names_matrices() const { return !options_.matrices.empty() || !options_.lists.empty(); }

  CalibrationScore judge(const fs::path& model) const {
    return score_of(json::parse(run_silently(
        with_data({sibling_program("waco-train"), "evaluate", as_path(model), "--json"}), stop_)));
  }

  /// None when the user has no model of the op, or none that tuning can use.
  std::optional<CalibrationScore> judge_own() const {
    const std::optional<ModelPlace> own = model_in(result_.model);
    if (!own) return std::nullopt;
    try {
      const auto learned = search::Learned::open(own->model, own->index, std::stoi(threads_));
      if (learned->model.op() != options_.op) return std::nullopt;
    } catch (const Error& fault) {
      if (stop_.stop_requested()) throw;
      spdlog::warn("{}", fault.what());
      return std::nullopt;
    }
    if (may_know(own->model, judged_, validation_share_))
      spdlog::warn(
          "{}: may have learned from the matrices that are judged by here, and look better than it is; "
          "rename it to take the calibrated one in any case",
          own->model.string());
    return judge(own->model);
  }

  /// Copies what is to be replaced to a name that tuning does not look at: it may have taken long to train.
  void keep_own() {
    std::error_code error;
    if (!fs::exists(result_.model, error) || fs::is_empty(result_.model, error)) return;
    for (int n = 1; result_.kept.empty() || fs::exists(result_.kept, error); ++n)
      result_.kept = result_.model.parent_path() / fmt::format("{}.old-{}", op_, n);
    copy_folder(result_.model, result_.kept);
  }

  /// A model trained from the start: its predictor alone, or all of it.
  struct Trained {
    fs::path folder;
    CalibrationScore score;
  };

  Trained train(const char* name, bool whole) {
    Trained trained{work_ / name, {}};
    std::error_code error;
    fs::remove_all(trained.folder, error);  // of a run that was ended
    spdlog::info("{}: fine-tuning the {} with {} records", op_, name, result_.num_records);
    std::vector<std::string> command{sibling_program("waco-train"), "-o", trained.folder, "--json"};
    append(command, {"--init", as_path(options_.start.model), "--extractor", manifest_.at("extractor")});
    append(command, {"--epochs", "60", "--lr", "5e-4", "--patience", "20"});
    append(command, {"--time-limit", std::to_string(kTraining_s)});
    if (!whole) command.push_back("--freeze-embeddings");
    const json report = json::parse(run_silently(with_data(std::move(command)), stop_));
    if (!report.at("complete").get<bool>()) {
      spdlog::warn("{}: fine-tuning the {} took over an hour; its best weights until then are judged", op_,
                   name);
      fs::remove_all(trained.folder / "checkpoint", error);
    }
    trained.score = score_of(report);
    return trained;
  }

  void add_index(const fs::path& model) {
    if (options_.start.index.empty()) return;
    run_silently({sibling_program("waco-index"), model, "--from", as_path(options_.start.index), "-o",
                  model / "index", "--threads", threads_},
                 stop_);
  }

  static void append(std::vector<std::string>& arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  }

  /// The datasets, and where their matrices are.
  std::vector<std::string> with_data(std::vector<std::string> arguments) const {
    for (const fs::path& dataset : datasets_) arguments.push_back(dataset);
    for (const auto* places : {&options_.matrices, &options_.lists})
      for (const std::string& place : *places) append(arguments, {"--matrices", as_path(place)});
    if (validation_share_ != kValidationShares[0])
      append(arguments,
             {"--split", std::to_string(kSeed), "--validation-share", fmt::format("{}", validation_share_)});
    append(arguments, {"--threads", threads_});
    return arguments;
  }

  const CalibrationOptions& options_;
  const StopToken& stop_;
  const std::string op_;
  const json manifest_;  ///< of the model to fit
  const std::string threads_;
  fs::path work_;  ///< measurements, and models until they are judged
  std::optional<LockFile> lock_;
  std::vector<fs::path> datasets_;
  double validation_share_ = kValidationShares[0];
  std::set<std::string> judged_;  ///< originals that models are judged by
  CalibrationResult result_;
};

}  // namespace

void check_can_calibrate() {
  for (const char* name : {"waco-collect", "waco-train", "waco-index"}) sibling_program(name);
}

CalibrationResult calibrate(const CalibrationOptions& options, const StopToken& stop) {
  return Calibration(options, stop).run();
}

std::vector<schedule::Op> ops_to_calibrate(const std::string& op, const fs::path& model) {
  if (!op.empty()) return {*schedule::parse_op(op)};
  if (!model.empty()) return {op_of_model(model)};
  std::vector<schedule::Op> ops;
  for (const schedule::Op each : schedule::kAllOps)
    if (find_built_in_model(each)) ops.push_back(each);
  if (ops.empty()) throw UsageError("there is no built-in model to calibrate; --model names another");
  return ops;
}

ModelPlace calibration_start(schedule::Op op, const fs::path& model) {
  if (!model.empty()) {
    const schedule::Op own = op_of_model(model);
    if (own != op)
      throw UsageError(fmt::format("{} is a model of {}, not of {}", model.string(), schedule::name(own),
                                   schedule::name(op)));
    return *model_in(model);
  }
  if (const auto start = find_built_in_model(op)) return *start;
  throw UsageError(fmt::format("there is no built-in model of {} to calibrate; --model names another",
                               schedule::name(op)));
}

std::string to_text(schedule::Op op, const CalibrationResult& result) {
  const auto score = [](const CalibrationScore& s) {
    return fmt::format("{:.1f} % of the pairs right, first point {:.3f} times the best", 100 * s.right_pairs,
                       s.regret);
  };
  std::string text =
      fmt::format("{}: {} records of this machine, judged on {} matrices\n  before: {}\n  after:  {}\n",
                  schedule::name(op), result.num_records, result.num_validation, score(result.before),
                  score(result.after));
  if (result.own) text += fmt::format("  yours:  {}\n", score(*result.own));
  if (!result.replaced) return text + "  no better: the model stays as it is\n";
  text += fmt::format("  wrote {}\n", result.model.string());
  if (!result.kept.empty())
    text += fmt::format("  the model that was there is now {}\n", result.kept.string());
  return text;
}

}  // namespace waco::tune
