// One input, or a list that is continued where an earlier run ended.
#include "apps/tune/jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "waco/base/artifact.hpp"
#include "waco/base/clock.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/shard.hpp"
#include "waco/base/version.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/session.hpp"
#include "waco/tune/emit.hpp"
#include "waco/tune/plan_file.hpp"
#include "waco/tune/result_file.hpp"

namespace waco::apps {
namespace {

/// A kernel whose result was not checked is not written.
void write_kernel(const Options& options, const matrix::SparseTensor& tensor,
                  const tune::TuneResult& result) {
  if (!result.best || !result.best->verified) {
    spdlog::warn(
        "{} was not written: {}", options.kernel_file,
        result.complete ? "no point could be verified" : "the run was stopped before a kernel was verified");
    return;
  }
  write_file_atomically(options.kernel_file, tune::emit_best(tensor, result, version_line(kProgram)));
  log_written(options.kernel_file,
              result.best->is_baseline ? ": the kernel of fixed_csr, which is the answer" : "");
}

/// For people.
void tell(const Options& options, const std::string& table) {
  if (!options.common.quiet) print_to_stderr(table);
}

/// Does all of these, in this order, whichever of them fails: where there is no room for one file, the others
/// are what is left of the run. Throws what the first failure threw.
void do_all(std::initializer_list<std::function<void()>> outputs) {
  std::exception_ptr first;
  for (const auto& output : outputs) {
    try {
      output();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

/// Files, then the table (whoever reads stderr may have gone), then stdout.
void hand_over(const Options& options, const matrix::SparseTensor& tensor, const tune::TuneResult& result) {
  const nlohmann::ordered_json document = tune::plan_document(result, kProgram, options.command);
  do_all({[&] {
            if (options.plan_file.empty()) return;
            write_artifact(options.plan_file, document);
            log_written(options.plan_file);
          },
          [&] {
            if (!options.kernel_file.empty()) write_kernel(options, tensor, result);
          },
          [&] { tell(options, tune::to_table(result)); },
          [&] {
            if (options.json) print_to_stdout(artifact_text(document));
            if (options.jsonl) print_to_stdout(line_text(document) + "\n");
          }});
}

/// A given point that is wrong is the answer to the question asked; a searched one is merely not the winner.
ExitCode exit_code(const tune::TuneResult& result, bool points_given) {
  bool any_ok = !points_given, any_wrong = false, any_left = false;
  for (const tune::Candidate& candidate : result.candidates) {
    any_ok = any_ok || candidate.measurement.ok();
    any_wrong = any_wrong || candidate.measurement.failed_verification();
    any_left = any_left || !candidate.measured;
  }
  if (!result.complete && any_left) any_ok = true;  // nobody knows about those
  if (points_given && any_wrong) return ExitCode::kVerification;
  const bool only_predicted = result.effort == tune::Effort::kNone && result.complete;
  const bool answered = result.best && (result.best->verified || only_predicted);
  if (answered) return any_ok ? ExitCode::kDone : ExitCode::kFailed;
  return result.complete && any_wrong ? ExitCode::kVerification : ExitCode::kFailed;
}

/// What an exit code other than kDone stands for, with the reason of the first candidate that has one.
std::string fault_text(const tune::TuneResult& result, ExitCode code) {
  if (!result.complete && code == ExitCode::kFailed)
    return fmt::format("ended before a plan was verified ({})", result.stopped_by);
  const auto first = [&](auto has_it) -> const measure::Measurement* {
    const auto found = std::ranges::find_if(
        result.candidates, [&](const tune::Candidate& c) { return c.measured && has_it(c.measurement); });
    return found == result.candidates.end() ? nullptr : &found->measurement;
  };
  const auto is = [](measure::Status status) {
    return [status](const measure::Measurement& m) { return m.status == status; };
  };
  std::string_view what = "no plan could be run";
  const measure::Measurement* example = nullptr;
  if (code != ExitCode::kVerification)
    example = first([](const measure::Measurement& m) { return !m.ok(); });
  else if ((example = first(is(measure::Status::kWrong))) != nullptr)
    what = "a result was wrong";
  else if ((example = first(is(measure::Status::kCrash))) != nullptr)
    what = "a kernel crashed";
  else if ((example = first(is(measure::Status::kTimeout))) != nullptr)
    what = "a kernel did not finish in time";
  if (example == nullptr) return std::string(what);
  const std::string reason = example->message.empty() ? "" : fmt::format(" ({})", example->message);
  return fmt::format("{}: {}: {}{}", what, schedule::to_text(example->point), name(example->status), reason);
}

/// Throws an Error where the result answers nothing.
void check_answer(const tune::TuneResult& result, const tune::TuneOptions& tuning) {
  const ExitCode code = exit_code(result, !tuning.points.empty());
  if (code != ExitCode::kDone) throw Error(code, fault_text(result, code));
}

struct Input {
  matrix::SparseTensor tensor;
  double read_s = 0;
};

Input read_input(const Options& options, const matrix::CorpusItem& item) {
  const auto start = std::chrono::steady_clock::now();
  matrix::ReadOptions reading;
  reading.threads = options.common.threads;
  matrix::ReadResult read = matrix::read_item(item, reading);
  Input input{std::move(read.tensor), seconds_since(start)};
  for (const std::string& note : read.notes) spdlog::info("{}: {}", item.source, note);
  spdlog::info("{}: {}, {} nonzeros, read in {:.2f} s", item.source, fmt::join(input.tensor.dims, " x "),
               input.tensor.num_nonzeros(), input.read_s);
  return input;
}

/// `load_s`: how long there was nothing to do but wait for the model.
tune::TuneResult tune_input(const Input& input, const tune::TuneOptions& tuning, double load_s,
                            const StopToken& stop) {
  tune::TuneResult result = tune::tune(input.tensor, tuning, stop);
  result.seconds.load = load_s;
  result.seconds.read = input.read_s;
  result.seconds.total += load_s + input.read_s;
  return result;
}

/// The inputs of this process, and where their results go.
struct Batch {
  std::vector<matrix::CorpusItem> items;
  std::unique_ptr<tune::ResultFile> file;  ///< null without -o
};

Batch gather(const Options& options, const tune::TuneOptions& tuning) {
  const Shard shard = choose_shard(options.shard);
  Batch batch;
  matrix::InputOptions inputs = options.inputs;
  inputs.missing_are_errors = false;  // but failures of one input
  const auto all =
      matrix::gather_items(inputs, schedule::sparse_order(tuning.problem.op), options.common.seed);
  for (size_t place = 0; place < all.size(); ++place)
    if (shard.owns(place)) batch.items.push_back(all[place]);
  if (options.plan_file.empty()) return batch;
  std::filesystem::path file = options.plan_file;
  if (shard.count > 1) file = shard_path(file, shard);
  batch.file = std::make_unique<tune::ResultFile>(
      file, describe_machine(tuning.no_compile ? std::string() : tuning.compiler));
  return batch;
}

void require_compiler(const Options& options) {
  if (!options.no_compile) measure::require_compiler_program(options.common.compiler);
  (void)measure::kernel_cache_limit();  // a fault of the environment, too
}

/// What became of the inputs of a list.
struct Tally {
  size_t num_inputs = 0;
  size_t num_tuned = 0;
  size_t num_there = 0;  ///< had a result before
  size_t num_failed = 0;

  std::string text() const {
    return fmt::format("{} of {} inputs tuned, {} had a result already, {} failed", num_tuned, num_inputs,
                       num_there, num_failed);
  }
};

/// One input of a list.
struct Listed {
  tune::ListedResult result;
  std::string table;
  bool machine_failed = false;  ///< and so would the other inputs
};

/// Whether the other inputs would meet the fault, too.
bool is_of_machine(const std::exception& fault, const tune::TuneOptions& tuning) {
  // Kernels that are in the cache are there for some inputs.
  const auto* error = dynamic_cast<const EnvironmentError*>(&fault);
  const bool lacks_kernel = tuning.no_compile && error != nullptr && error->code() == ExitCode::kCompiler;
  return !lacks_kernel && measure::is_of_machine(fault);
}

/// What goes wrong in `work` says of which input.
template <class Work>
void name_faults(const std::string& input, const Work& work) {
  try {
    work();
  } catch (const Error& fault) {
    const std::string_view message = fault.what();
    if (message.starts_with(input)) throw;
    throw Error(fault.code(), fmt::format("{}: {}", input, message));
  } catch (const std::bad_alloc&) {
    throw Error(ExitCode::kFailed, fmt::format("{}: out of memory", input));
  }
}

/// `load_s` is told of the first input that is tuned.
Listed tune_listed(const Options& options, const matrix::CorpusItem& item, const tune::TuneOptions& tuning,
                   double& load_s, const StopToken& stop) {
  Listed listed;
  listed.result.input = item.source;
  const auto tune_item = [&] {
    try {
      const Input input = read_input(options, item);
      return tune_input(input, tuning, std::exchange(load_s, 0), stop);
    } catch (const std::exception& fault) {
      listed.machine_failed = is_of_machine(fault, tuning);
      throw;
    }
  };
  listed.result.outcome = guarded(kProgram, [&] {
    name_faults(item.source, [&] {
      const tune::TuneResult result = tune_item();
      listed.table = tune::to_table(result);
      listed.result.document = tune::plan_document(result, kProgram, options.command);
      check_answer(result, tuning);
    });
    return ExitCode::kDone;
  });
  return listed;
}

}  // namespace

ExitCode tune_one(const Options& options, const tune::ChosenProblem& chosen, const StopToken& stop) {
  // Reading may take minutes: what is wrong with the options is told before.
  for (const std::string& file : {options.plan_file, options.kernel_file})
    if (!file.empty()) check_can_be_written(file);
  if (tune::holds_results_of_list(options.plan_file))
    throw UsageError(
        fmt::format("{} holds the results of a list, which one plan would replace; name another "
                    "file, or continue the list by --list",
                    options.plan_file));
  require_compiler(options);
  tune::check_model_options(options.ranking, chosen.problem.op);
  auto opening = std::async(std::launch::async, [&] {
    describe_machine("");  // looks at the hardware, which is remembered
    return tune_options(options, chosen);
  });
  const Input input = read_input(options, matrix::file_item(options.inputs.paths[0]));
  const auto start = std::chrono::steady_clock::now();
  const tune::TuneOptions tuning = opening.get();
  const tune::TuneResult result = tune_input(input, tuning, seconds_since(start), stop);
  hand_over(options, input.tensor, result);
  check_answer(result, tuning);
  return ExitCode::kDone;
}

ExitCode tune_several(const Options& options, const tune::TuneOptions& tuning, const StopToken& stop) {
  require_compiler(options);
  Batch batch = gather(options, tuning);
  double load_s = tuning.learned ? tuning.learned->load_s : 0;  // until an input was told it
  Tally tally{batch.items.size()};
  size_t number = 0;
  for (const matrix::CorpusItem& item : batch.items) {
    ++number;
    // What stdin held before says nothing of what it holds now.
    if (batch.file && item.source != "-" && batch.file->holds(item.source, tuning)) {
      ++tally.num_there;
      continue;
    }
    if (stop.stop_requested()) return ExitCode::kPartial;
    spdlog::info("[{}/{}] {}", number, batch.items.size(), item.source);
    const Listed listed = tune_listed(options, item, tuning, load_s, stop);
    if (stop.stop_requested()) {  // the next run does it whole
      tell(options, listed.table);
      return ExitCode::kPartial;
    }
    if (listed.machine_failed) {
      spdlog::warn("ended early, as the other inputs would fail like {}: {}", item.source, tally.text());
      return listed.result.outcome.code;
    }
    const auto line = tune::listed_document(listed.result, tuning, kProgram, options.command);
    ++(tune::is_result(line) ? tally.num_tuned : tally.num_failed);
    do_all({[&] {
              if (batch.file) batch.file->append(line);
            },
            [&] { tell(options, listed.table); },
            [&] {
              if (options.jsonl) print_to_stdout(line_text(line) + "\n");
            }});
  }
  spdlog::info("{}", tally.text());
  return tally.num_failed > 0 ? ExitCode::kPartial : ExitCode::kDone;
}

}  // namespace waco::apps
