// waco-bench: times a tuned plan beside the baseline and the libraries that are installed, in one process.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "apps/bench/contest.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/pinning.hpp"
#include "apps/bench/record_file.hpp"
#include "apps/bench/report/html_report.hpp"
#include "apps/bench/report/markdown_report.hpp"
#include "apps/bench/report/summary.hpp"
#include "apps/bench/report/table.hpp"
#include "waco/base/artifact.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/signals.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/session.hpp"
#include "waco/model/pattern_profile.hpp"

namespace {

using namespace waco;
using namespace waco::bench;

/// For people: on stdout, unless that carries records or the page.
void say(const Options& options, const std::string& text) {
  const bool has_page = !options.html_file.empty() && same_descriptor(options.html_file, "-");
  if (!options.jsonl && !has_page) return print_to_stdout(text);
  if (!options.common.quiet) print_to_stderr(text);
}

/// Where nothing was measured an older page is worth more than none.
void write_page(const Options& options, const std::vector<Record>& records) {
  if (options.html_file.empty()) return;
  if (records.empty()) return spdlog::warn("{} is not written, as there is no record", options.html_file);
  write_file_atomically(options.html_file, html_report(records));
  log_written(options.html_file);
}

std::string summaries_of(const std::vector<Record>& records) {
  std::string text;
  for (const auto& group : by_problem(records)) text += to_table(summarize(group));
  return text;
}

/// A whole run over several matrices.
class Run {
 public:
  Run(const Options& options, const StopToken& stop)
      : options_(options),
        stop_(stop),
        plans_(read_plans(options.plan_file)),
        arena_(contest_options(options, plans_)) {
    if (!options.record_file.empty()) file_.emplace(options.record_file, describe_machine());
    arena_.find_ceilings();  // not beside another run that holds the file
  }

  ExitCode take() {
    size_t num_failed = 0, num_begun = 0;
    ExitCode last = ExitCode::kDone;
    try {
      for (const std::string& path : options_.matrices) {
        if (stop_() || machine_failed_) break;
        ++num_begun;
        const ExitCode code = guarded_one(path);
        if (code != ExitCode::kDone) last = code;
        num_failed += code != ExitCode::kDone && !was_stopped_ ? 1 : 0;
      }
    } catch (const ReaderGone&) {
      write_page(options_, records());
      throw;
    }
    if (num_begun < options_.matrices.size() && machine_failed_)
      spdlog::warn("ended early, as the other matrices would fail like {}", options_.matrices[num_begun - 1]);
    finish();
    if (machine_failed_) return last;
    if (options_.matrices.size() == 1) return num_begun > 0 ? last : ExitCode::kFailed;
    if (num_failed > 0) spdlog::warn("{} of {} matrices failed", num_failed, options_.matrices.size());
    if (num_begun < options_.matrices.size() || was_stopped_) return ExitCode::kStopped;
    return num_failed > 0 ? ExitCode::kPartial : ExitCode::kDone;
  }

 private:
  ExitCode guarded_one(const std::string& path) {
    const auto work = [&] {
      try {
        return one(path);
      } catch (const std::exception& fault) {
        machine_failed_ = measure::is_of_machine(fault);
        was_stopped_ = dynamic_cast<const Stopped*>(&fault) != nullptr;
        throw;
      }
    };
    return guarded(kProgram, work).code;
  }

  ExitCode one(const std::string& path) {
    matrix::ReadOptions reading;
    reading.threads = arena_.options().tuning.threads;
    reading.most_nonzeros = model::kMostNonzeros;  // whatever is given, its profile is made
    reading.order = schedule::sparse_order(arena_.options().tuning.problem.op);
    reading.stop = stop_;
    matrix::ReadResult input = matrix::read_tensor(path, reading);
    for (const std::string& note : input.notes) spdlog::info("{}: {}", path, note);
    const tune::TuneOptions& tuning = arena_.options().tuning;
    const std::string hash = matrix::pattern_hash(input.tensor);
    std::optional<GivenPlan> given;
    if (plans_) given = {plans_->find(path, hash, tuning.problem, tuning.threads), options_.plan_file};
    const Record* held =
        file_ ? file_->find(hash, input.tensor.name, tuning.problem, tuning.threads) : nullptr;
    if (held != nullptr) {
      const ExitCode code = code_of(*held);
      const std::string other =
          differences(*held, arena_.options(), options_.plan_file, given, arena_.compiler());
      const std::string told = fmt::format("{}: is in {} already{}, skipped", path, options_.record_file,
                                           code == ExitCode::kDone ? "" : ", and its plan failed");
      if (other.empty()) spdlog::info(told);
      if (!other.empty()) spdlog::warn("{}; it was timed {}", told, other);
      return code;
    }
    spdlog::info("{}: {}, {}", path, fmt::join(input.tensor.dims, " x "),
                 counted(input.tensor.num_nonzeros(), "nonzero"));
    if (given && !given->plan.matrix.hash.empty() && given->plan.matrix.hash != hash)
      spdlog::info("the plan is for another pattern, of {}", given->plan.matrix.name);
    return hand_over(arena_.hold(std::move(input.tensor), given, stop_));
  }

  ExitCode hand_over(Record record) {
    const nlohmann::ordered_json line = to_json(record, options_.command);
    const ExitCode code = code_of(record);
    const std::string table = to_table(record) + "\n";
    do_all({[&] { keep(line, std::move(record)); }, [&] { show(line, table); }});
    return code;
  }

  void keep(const nlohmann::ordered_json& line, Record record) {
    if (file_)
      file_->append(line, std::move(record));
    else
      records_.push_back(std::move(record));
  }

  void show(const nlohmann::ordered_json& line, const std::string& table) {
    if (options_.jsonl) print_to_stdout(line_text(line) + "\n");
    if (!told_ceilings_) say(options_, to_table(arena_.ceilings()) + "\n");
    told_ceilings_ = true;
    say(options_, table);
  }

  /// Files may hold plans that could not be set up, which says nothing of their results.
  static ExitCode code_of(const Record& record) {
    const Entry* waco = record.find(kWaco);
    if (waco != nullptr && waco->ok()) return ExitCode::kDone;
    return waco != nullptr && waco->failed_verification() ? ExitCode::kVerification : ExitCode::kFailed;
  }

  const std::vector<Record>& records() const { return file_ ? file_->records() : records_; }

  void finish() {
    do_all({[&] { write_page(options_, records()); },
            [&] {
              if (records().size() > 1) say(options_, summaries_of(records()));
            }});
  }

  static std::optional<tune::TunedPlans> read_plans(const std::string& file) {
    if (file.empty()) return std::nullopt;
    return tune::TunedPlans::read(file);
  }

  const Options& options_;
  StopToken stop_;
  std::optional<tune::TunedPlans> plans_;  ///< with --plan
  Arena arena_;
  std::optional<RecordFile> file_;
  std::vector<Record> records_;  ///< without a file
  bool told_ceilings_ = false;
  bool machine_failed_ = false;  ///< and so would the other matrices
  bool was_stopped_ = false;     ///< before the last one was done
};

ExitCode report(const Options& options) {
  const std::vector<Record> records = read_records(options.report_files);
  if (records.empty()) spdlog::warn("no record");
  do_all({[&] { write_page(options, records); },
          [&] { say(options, options.markdown ? markdown_report(records) : summaries_of(records)); }});
  return ExitCode::kDone;
}

ExitCode run(Options& options, char** argv, const StopToken& stop) {
  if (options.list_peers) {
    print_to_stdout(to_table(all_libraries()));
    return ExitCode::kDone;
  }
  if (!options.html_file.empty()) check_can_be_written(options.html_file);
  if (options.report) return report(options);
  if (options.common.threads == 0) options.common.threads = usable_threads();
  restart_with_pinned_threads(options.common.threads, argv);
  return Run(options, stop).take();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    const StopToken stop = stop_on_signals();
    Options options;
    return parse(argc, argv, options) ? run(options, argv, stop) : ExitCode::kDone;
  });
}
