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

#include "apps/tune/answer.hpp"
#include "waco/base/artifact.hpp"
#include "waco/base/clock.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/counted.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/shard.hpp"
#include "waco/base/version.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/compiler.hpp"
#include "waco/measure/kernel_cache.hpp"
#include "waco/measure/session.hpp"
#include "waco/model/pattern_profile.hpp"
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

/// A plan that an earlier run has found is kept where there is none to take its place.
void write_plan(const Options& options, const nlohmann::ordered_json& document,
                const tune::TuneResult& result) {
  if (!result.best && tune::holds_plan(options.plan_file)) {
    spdlog::warn("{} was left as it was: no plan was found", options.plan_file);
    return;
  }
  write_artifact(options.plan_file, document);
  log_written(options.plan_file);
}

/// Files, then the table (whoever reads stderr may have gone), then stdout.
void hand_over(const Options& options, const matrix::SparseTensor& tensor, const tune::TuneResult& result) {
  const nlohmann::ordered_json document = tune::plan_document(result, kProgram, options.command);
  do_all({[&] {
            if (!options.plan_file.empty()) write_plan(options, document, result);
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

struct Input {
  matrix::SparseTensor tensor;
  double read_s = 0;
};

Input read_input(const Options& options, const matrix::CorpusItem& item, schedule::Op op,
                 const StopToken& stop) {
  const auto start = std::chrono::steady_clock::now();
  matrix::ReadOptions reading;
  reading.threads = options.common.threads;
  reading.most_nonzeros = model::kMostNonzeros;
  reading.order = schedule::sparse_order(op);
  reading.stop = stop;
  matrix::ReadResult read = matrix::read_item(item, reading);
  Input input{std::move(read.tensor), seconds_since(start)};
  for (const std::string& note : read.notes) spdlog::info("{}: {}", item.source, note);
  spdlog::info("{}: {}, {}, read in {:.2f} s", item.source, fmt::join(input.tensor.dims, " x "),
               counted(input.tensor.num_nonzeros(), "nonzero"), input.read_s);
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
  Shard shard;
  std::vector<matrix::CorpusItem> items;
  size_t num_in_all = 0;                   ///< of all shards
  std::unique_ptr<tune::ResultFile> file;  ///< null without -o
};

Batch gather(const Options& options, const tune::TuneOptions& tuning) {
  Batch batch;
  const Shard& shard = batch.shard = choose_shard(options.shard);
  const auto all =
      matrix::gather_items(options.inputs, schedule::sparse_order(tuning.problem.op), options.common.seed);
  batch.num_in_all = all.size();
  for (size_t place = 0; place < all.size(); ++place)
    if (shard.owns(place)) batch.items.push_back(all[place]);
  if (options.plan_file.empty()) return batch;
  std::filesystem::path file = options.plan_file;
  if (shard.count > 1) file = shard_path(file, shard);
  batch.file = std::make_unique<tune::ResultFile>(file, tuning.machine());
  return batch;
}

void require_compiler(const Options& options) {
  if (!options.no_compile) measure::require_compiler_program(options.common.compiler);
  (void)measure::kernel_cache_limit();  // a fault of the environment, too
}

/// What became of the inputs of a list.
struct Tally {
  size_t num_tuned = 0;
  size_t num_there = 0;  ///< had a result before
  size_t num_failed = 0;
  size_t num_cut = 0;  ///< have a plan, but the machine failed before all was measured

  std::string text(const Batch& batch) const {
    std::string text = fmt::format("{} of {} tuned, {} had a result already, {} failed", num_tuned,
                                   counted(batch.items.size(), "input"), num_there, num_failed);
    if (num_cut > 0) text += fmt::format(", {} cut short by the machine", num_cut);
    if (batch.shard.count > 1)
      text += fmt::format("; shard {}/{} of {}", batch.shard.index, batch.shard.count,
                          counted(batch.num_in_all, "input"));
    return text;
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
      const Input input = read_input(options, item, tuning.problem.op, stop);
      if (stop.stop_requested()) throw Stopped(fmt::format("{}: stopped ({})", item.source, stop.reason()));
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
    limit_parallel_regions(options.common.threads);
    describe_machine();  // looks at the hardware, which is remembered
    return tune_options(options, chosen);
  });
  const Input input =
      read_input(options, matrix::file_item(options.inputs.paths[0]), chosen.problem.op, stop);
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
  Tally tally;
  size_t number = 0;
  for (const matrix::CorpusItem& item : batch.items) {
    ++number;
    // What a stream held before says nothing of what it holds now.
    if (batch.file && !is_stream(item.source) && batch.file->holds(item.source, tuning)) {
      ++tally.num_there;
      continue;
    }
    if (stop.stop_requested()) return ExitCode::kStopped;
    spdlog::info("[{}/{}] {}", number, batch.items.size(), item.source);
    const Listed listed = tune_listed(options, item, tuning, load_s, stop);
    const bool is_whole =
        listed.result.outcome.code == ExitCode::kDone && listed.result.document.value("complete", false);
    if (stop.stop_requested() && !is_whole) {  // the next run does it whole
      tell(options, listed.table);
      return ExitCode::kStopped;
    }
    if (listed.machine_failed) {
      spdlog::warn("ended early, as the other inputs would fail like {}: {}", item.source, tally.text(batch));
      return listed.result.outcome.code;
    }
    const auto line = tune::listed_document(listed.result, tuning, kProgram, options.command);
    try {
      do_all({[&] {
                if (batch.file) batch.file->append(line);
              },
              [&] { tell(options, listed.table); },
              [&] {
                if (options.jsonl) print_to_stdout(line_text(line) + "\n");
              }});
    } catch (const EnvironmentError&) {  // such as of a full disk
      spdlog::warn("ended early, as the result of {} can't be kept: {}", item.source, tally.text(batch));
      throw;
    }
    ++(tune::is_result(line)                 ? tally.num_tuned
       : line.value("machine_failed", false) ? tally.num_cut
                                             : tally.num_failed);
  }
  spdlog::info("{}", tally.text(batch));
  if (tally.num_cut > 0) return ExitCode::kFailed;  // another run may do more
  return tally.num_failed > 0 ? ExitCode::kPartial : ExitCode::kDone;
}

}  // namespace waco::apps
