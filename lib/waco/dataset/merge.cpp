// Two passes over the inputs: their headers, then their records.
#include "waco/dataset/merge.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/measure/statistics.hpp"

namespace waco::dataset {
namespace fs = std::filesystem;
namespace {

/// Lines, gzipped or not, that take the place of a file at the end.
class Output {
 public:
  explicit Output(fs::path file)
      : file_(std::move(file)),
        replacement_(file_),
        // "T" writes without compression or a gzip header. Closing closes its descriptor.
        gz_(::gzdopen(::fcntl(replacement_.fd(), F_DUPFD_CLOEXEC, 0),
                      file_.extension() == ".gz" ? "wb9" : "wbT")) {
    if (gz_ == nullptr) fail();
  }
  ~Output() {
    if (gz_ != nullptr) ::gzclose(gz_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void line(const std::string& text) {
    if (::gzwrite(gz_, text.data(), static_cast<unsigned>(text.size())) != static_cast<int>(text.size()) ||
        ::gzputc(gz_, '\n') < 0)
      fail();
  }
  void finish() {
    if (::gzclose(std::exchange(gz_, nullptr)) != Z_OK) fail();
    replacement_.commit();
  }

 private:
  [[noreturn]] void fail() const {
    if (errno == EPIPE) throw ReaderGone();
    throw os_error(fmt::format("{}: can't be written", file_.string()));
  }

  const fs::path file_;
  FileReplacement replacement_;
  gzFile gz_;
};

/// Three samples whose median and interval are those of the given ones, which are few or many.
std::vector<int64_t> summarized(const std::vector<int64_t>& samples) {
  if (samples.size() <= 3) return samples;
  const measure::Estimate time = measure::estimate_median({samples.begin(), samples.end()});
  return {std::llround(time.low), std::llround(time.median), std::llround(time.high)};
}

class Merge {
 public:
  Merge(const std::vector<fs::path>& inputs, const MergeOptions& options)
      : inputs_(inputs), options_(options) {
    for (const fs::path& input : inputs_) headers_.push_back(read_header(input));
    for (const Header& header : headers_) {
      std::vector<int>& places = places_.emplace_back();
      const std::vector<Machine> machines = machines_of(header);
      for (size_t n = 0; n < machines.size(); ++n)
        places.push_back(place_of(machines[n], n < header.ceilings.size() ? header.ceilings[n] : nullptr));
    }
    if (machines_.size() > 1 && !options_.allow_different_machines) refuse();
  }

  Header header() const {
    Header header;
    header.created_by = options_.created_by;
    header.machine = machines_[0];
    if (machines_.size() > 1) header.machines = machines_;
    const bool some_known = std::any_of(ceilings_.begin(), ceilings_.end(),
                                        [](const nlohmann::json& ceilings) { return !ceilings.is_null(); });
    if (some_known) header.ceilings = ceilings_;
    header.collection = headers_[0].collection;
    for (const Header& other : headers_) {
      // Shards of one collection differ in nothing else.
      nlohmann::ordered_json collection = other.collection;
      if (collection.is_object()) collection.erase("shard");
      if (header.collection.is_object()) header.collection.erase("shard");
      if (collection != header.collection) header.collection = nullptr;
    }
    return header;
  }

  MergeSummary write(Output& output) {
    output.line(header_line(header()));
    if (inputs_.size() > 1) note_telling();
    for (size_t file = 0; file < inputs_.size(); ++file)
      read_dataset(inputs_[file], [&](Record&& record) {
        if (accept(file, record)) {
          if (options_.summarize_samples) record.samples_ns = summarized(record.samples_ns);
          output.line(line_text(to_json(record)));
          ++summary_.num_records;
        }
      });
    return summary_;
  }

 private:
  /// Of each point that a record says something of: one that says nothing takes no place from it.
  void note_telling() {
    for (size_t file = 0; file < inputs_.size(); ++file)
      read_dataset(inputs_[file], [&](Record&& record) {
        place_machine(file, record);
        if (record.tells()) telling_.insert(content_hash(key(record)));
      });
  }

  int place_of(const Machine& machine, const nlohmann::json& ceilings) {
    const auto same = [&](const Machine& other) { return same_machine(machine, other); };
    const auto at = std::find_if(machines_.begin(), machines_.end(), same);
    const auto place = static_cast<size_t>(at - machines_.begin());
    if (at == machines_.end()) {
      machines_.push_back(machine);
      ceilings_.emplace_back();
    }
    nlohmann::json& kept = ceilings_[place];
    if (kept.is_null())
      kept = ceilings;
    else if (!ceilings.is_null() && ceilings.value("threads", 0) != kept.value("threads", 0))
      spdlog::warn(
          "one dataset has the ceilings of one number of threads of a machine: those of {} are kept, of {} "
          "are not",
          kept.value("threads", 0), ceilings.value("threads", 0));
    return static_cast<int>(place);
  }

  [[noreturn]] void refuse() const {
    // The first input has the first machine; the second one may be in it as well.
    const auto has_second = [](const std::vector<int>& places) {
      return std::find(places.begin(), places.end(), 1) != places.end();
    };
    const auto other = std::find_if(places_.begin(), places_.end(), has_second) - places_.begin();
    const std::string first = inputs_[0].string();
    throw UsageError(fmt::format(
        "{} of different machines ({}, {}; {}, {}), whose times do not compare; "
        "--allow-different-machines merges them and keeps the machine of each record",
        other == 0 ? first + " holds records"
                   : fmt::format("{} and {} are", first, inputs_[static_cast<size_t>(other)].string()),
        machines_[0].cpu_model, machines_[0].compiler.version, machines_[1].cpu_model,
        machines_[1].compiler.version));
  }

  /// Makes the record's machine that of the result.
  void place_machine(size_t file, Record& record) const {
    const auto at = static_cast<size_t>(record.machine.value_or(0));
    if (at >= places_[file].size())
      throw InputError(inputs_[file].string(), 0, "a record names a machine that the header lacks");
    record.machine.reset();
    if (machines_.size() > 1) record.machine = places_[file][at];
  }

  /// Whether the record belongs into the result; its machine and split are made those of the result.
  bool accept(size_t file, Record& record) {
    place_machine(file, record);
    // Before keys, in which names play no part: a twin has the points of what it repeats.
    if (is_renamed(file, record)) {
      ++summary_.num_renamed;
      return false;
    }
    const std::string point = content_hash(key(record));
    if ((!record.tells() && telling_.contains(point)) || !keys_.insert(point).second) {
      ++summary_.num_repeated;
      return false;
    }
    const Split split = split_.emplace(record.original, record.split).first->second;
    if (split != record.split) ++summary_.num_resplit;
    record.split = split;
    return true;
  }

  /// Whether the matrix was met under another name, or is a copy of one that was.
  bool is_renamed(size_t file, const Record& record) {
    const bool is_copy = record.matrix != record.original;
    if (is_copy && renamed_.contains({file, record.original})) return true;
    const bool renamed = owner_.emplace(record.matrix_hash, record.matrix).first->second != record.matrix;
    if (renamed) renamed_.emplace(file, record.matrix);
    return renamed;
  }

  const std::vector<fs::path>& inputs_;
  const MergeOptions& options_;
  std::vector<Header> headers_;
  std::vector<Machine> machines_;
  std::vector<nlohmann::json> ceilings_;  ///< of each machine
  std::vector<std::vector<int>> places_;  ///< per input: place in machines_ of each of its machines
  std::unordered_set<std::string> keys_, telling_;
  std::unordered_map<std::string, std::string> owner_;  ///< pattern -> name it was first met under
  /// Input and name of matrices left out for that. Their copies, which follow them, could be on the other
  /// side of the split.
  std::set<std::pair<size_t, std::string>> renamed_;
  std::unordered_map<std::string, Split> split_;  ///< original -> side it was first met on
  MergeSummary summary_;
};

}  // namespace

MergeSummary merge_datasets(const std::vector<fs::path>& inputs, const fs::path& output,
                            const MergeOptions& options) {
  WACO_ASSERT(!inputs.empty());
  // A dataset that another run appends to is not taken away from it. A gzipped one is none.
  std::optional<LineAppender> lock;
  std::error_code error;
  const bool may_grow = output.extension() != ".gz" && !is_stream(output);
  if (may_grow && fs::is_regular_file(output, error)) lock.emplace(output);
  Merge merge(inputs, options);
  Output file(output);
  const MergeSummary summary = merge.write(file);
  file.finish();
  return summary;
}

}  // namespace waco::dataset
