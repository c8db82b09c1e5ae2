// Draws figure 16 of the paper again, for a model and its index: search_perf --help.
//   convergence: the best predicted cost of each search against evaluations and seconds, and the share of its
//   time that goes into evaluating
//   retrieval: how many of the ten cheapest vertices the walk over the graph finds, and what it costs
//   breakdown: where the time of one search goes, against the matrix's nonzeros
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <set>

#include "search_traces.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/matrix/read.hpp"
#include "waco/measure/statistics.hpp"
#include "waco/search/named.hpp"

using namespace waco;
using namespace waco::perf;

namespace {

struct Options {
  CommonOptions common;
  std::string model, index, type = "f32";
  std::vector<std::string> matrices;
  int64_t rhs = 0;
  int64_t budget = 3000;
  int repeats = 20;
  bool json = false;
};

/// One matrix, ready to be looked up.
struct Subject {
  std::string name;
  int64_t nonzeros = 0;
  double read_s = 0, features_s = 0;
  matrix::SparseTensor tensor;
  std::unique_ptr<model::Retriever> retriever;
  std::unique_ptr<schedule::ScheduleSpace> space;
  model::PatternEmbedding pattern;
};

struct RetrievalResult {
  double exact_s = 0, anns_s = 0, evaluating_share = 0;
  int64_t visits = 0;
  int found = 0;  ///< of the ten cheapest
};

struct Breakdown {
  double retrieval_s = 0, search_s = 0;
};

class Benchmark {
 public:
  Benchmark(const Options& options)
      : options_(options),
        threads_(threads_or_all(options.common.threads)),
        model_(model::LearnedModel::load(options.model)),
        index_(index::Index::open(options.index, {model_, options.model}, threads_, cache_folder())) {
    problem_.op = model_.op();
    problem_.type = *schedule::parse_value_type(options.type);
    problem_.rhs = options.rhs > 0 ? options.rhs : schedule::default_rhs(problem_.op);
    index_.graph();
  }

  Subject prepare(const std::string& path) const {
    Subject subject;
    auto start = Clock::now();
    subject.tensor = matrix::read_tensor(path, {}).tensor;
    subject.read_s = seconds_since(start);
    subject.name = subject.tensor.name;
    subject.nonzeros = subject.tensor.num_nonzeros();
    subject.space = std::make_unique<schedule::ScheduleSpace>(problem_, subject.tensor.dims,
                                                              schedule::SpaceLimits{.max_threads = threads_});
    start = Clock::now();
    subject.pattern = model_.embed_pattern(subject.tensor, problem_);
    subject.features_s = seconds_since(start);
    subject.retriever = std::make_unique<model::Retriever>(model_, subject.pattern);
    return subject;
  }

  std::vector<Trace> converge(const Subject& subject) const {
    std::vector<Trace> traces;
    for (const std::string& name : search::search_names()) {
      if (search::needs_index(name)) continue;
      TracedModel traced(model_, *subject.retriever, threads_);
      Random random(options_.common.seed);
      search::make_search(name)->run(*subject.space, traced, {}, options_.budget, random, 10);
      traces.push_back(traced.finish(name));
    }
    traces.push_back(trace_walk(subject));
    traces.push_back(score_all(subject));
    return traces;
  }

  RetrievalResult retrieve(const Subject& subject) const {
    const search::Query query{index_, *subject.retriever};
    RetrievalResult result;
    std::vector<index::Visit> exact, found;
    result.exact_s = timed([&] { exact = search::retrieve_exact(query, *subject.space, 10); });
    result.anns_s = timed([&] {
      found = search::retrieve_anns(query, *subject.space, 10, search::walk_breadth(10), &result.visits);
    });
    std::set<int64_t> truth;
    for (const index::Visit& visit : exact) truth.insert(visit.vertex);
    for (const index::Visit& visit : found) result.found += static_cast<int>(truth.count(visit.vertex));
    const Walk walked = walk(subject);
    result.evaluating_share = walked.evaluating / walked.seconds;
    return result;
  }

  Breakdown break_down(const Subject& subject) const {
    const search::Query query{index_, *subject.retriever};
    model::ClosedFormModel closed_form(subject.tensor, model::default_ceilings(threads_));
    model::LearnedCostModel costs(model_, subject.pattern, problem_, closed_form, threads_);
    const pattern::PatternCounts counts(subject.tensor);
    const auto feasible = [&](const schedule::SuperSchedule& point) {
      return !schedule::exclusion_reason(point, counts, subject.space->limits());
    };
    Breakdown result;
    result.retrieval_s = timed([&] { search::retrieve_exact(query, *subject.space, 10); });
    const auto start = Clock::now();
    Random random(options_.common.seed);
    search::make_search("exact", &query)->run(*subject.space, costs, feasible, options_.budget, random, 10);
    result.search_s = seconds_since(start);
    return result;
  }

  const index::Index& index() const { return index_; }
  const schedule::Problem& problem() const { return problem_; }
  int threads() const { return threads_; }

 private:
  double timed(const std::function<void()>& work) const {
    return median_seconds({.least = options_.repeats}, work);
  }

  float cost(const Subject& subject, int64_t vertex) const {
    return subject.retriever->cost(index_.embeddings() + vertex * index_.embedding_size());
  }

  struct Walk {
    std::vector<index::Visit> visits;
    double seconds = 0, evaluating = 0;
  };

  /// Walks as they are and walks that look at the clock around each evaluation, by turns. The clock's own
  /// time is taken off: a pair of looks apart says how much of it falls between the two.
  Walk walk(const Subject& subject) const {
    const int64_t breadth = search::walk_breadth(10);
    Walk walk;
    std::vector<double> whole, evaluating;
    for (int n = 0; n < options_.repeats; ++n) {
      auto start = Clock::now();
      walk.visits = index_.graph().search([&](int64_t v) { return cost(subject, v); }, breadth);
      whole.push_back(seconds_since(start));
      double sum = 0;
      const auto timed_cost = [&](int64_t v) {
        const auto before = Clock::now();
        const float result = cost(subject, v);
        sum += seconds_since(before);
        return result;
      };
      index_.graph().search(timed_cost, breadth);
      double looks = 0;
      for (size_t visit = 0; visit < walk.visits.size(); ++visit) looks += seconds_since(Clock::now());
      evaluating.push_back(sum - looks);
    }
    walk.seconds = measure::estimate_median(whole).median;
    walk.evaluating = measure::estimate_median(evaluating).median;
    return walk;
  }

  Trace trace_walk(const Subject& subject) const {
    const auto [visits, seconds, evaluating] = walk(subject);
    Trace trace{.search = "anns", .steps = {}};
    trace.seconds = seconds;
    trace.evaluating = evaluating;
    trace.evaluations = static_cast<int64_t>(visits.size());
    double best = INFINITY;
    for (size_t n = 0; n < visits.size(); ++n) {
      if (index_.needs(visits[n].vertex).met_by(*subject.space))
        best = std::min(best, static_cast<double>(visits[n].cost));
      const double share = static_cast<double>(n + 1) / static_cast<double>(visits.size());
      trace.steps.push_back({static_cast<int64_t>(n) + 1, trace.seconds * share, best});
    }
    return trace;
  }

  Trace score_all(const Subject& subject) const {
    const search::Query query{index_, *subject.retriever};
    std::vector<float> costs(static_cast<size_t>(index_.size()));
    Trace trace{.search = "exact", .steps = {}, .evaluations = index_.size()};
    std::vector<index::Visit> best;
    trace.seconds = timed([&] { best = search::retrieve_exact(query, *subject.space, 1); });
    trace.evaluating =
        timed([&] { subject.retriever->costs(index_.embeddings(), index_.size(), costs.data()); });
    if (!best.empty()) trace.steps.push_back({index_.size(), trace.seconds, best[0].cost});
    return trace;
  }

  const Options& options_;
  int threads_;
  model::LearnedModel model_;
  index::Index index_;
  schedule::Problem problem_;
};

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Figure 16 of the paper for a model and its index.", "search_perf");
  app.add_option("MODEL", options.model)->required();
  app.add_option("INDEX", options.index)->required();
  app.add_option("MATRIX", options.matrices)->required();
  app.add_option("--type", options.type)->capture_default_str()->check(CLI::IsMember({"f32", "f64"}));
  app.add_option("--rhs", options.rhs, "Size of the dense index");
  app.add_option("--budget", options.budget, "Evaluations of each search")->capture_default_str();
  app.add_option("--repeats", options.repeats, "Runs of which a time is the median")->capture_default_str();
  app.add_flag("--json", options.json);
  add_common_options(app, "search_perf", options.common);
  return parse_command_line(app, argc, argv, options.common);
}

ExitCode run(const Options& options) {
  const Benchmark benchmark(options);
  nlohmann::ordered_json document{{"op", schedule::name(benchmark.problem().op)},
                                  {"rhs", benchmark.problem().rhs},
                                  {"vertices", benchmark.index().size()},
                                  {"threads", benchmark.threads()},
                                  {"matrices", nlohmann::ordered_json::array()}};
  std::string retrieval, breakdown;
  for (const std::string& path : options.matrices) {
    const Subject subject = benchmark.prepare(path);
    const std::vector<Trace> traces = benchmark.converge(subject);
    const RetrievalResult r = benchmark.retrieve(subject);
    const Breakdown b = benchmark.break_down(subject);
    nlohmann::ordered_json entry{{"matrix", subject.name}, {"nnz", subject.nonzeros}};
    for (const Trace& trace : traces) entry["convergence"].push_back(to_json(trace));
    entry["retrieval"] = {{"recall_at_10", r.found / 10.0},
                          {"visits", r.visits},
                          {"anns_s", r.anns_s},
                          {"exact_s", r.exact_s},
                          {"evaluating_share", r.evaluating_share}};
    entry["breakdown_s"] = {{"read", subject.read_s},
                            {"features", subject.features_s},
                            {"retrieval", b.retrieval_s},
                            {"rank_and_refine", b.search_s - b.retrieval_s}};
    document["matrices"].push_back(entry);
    if (!options.json) print_traces(subject.name, traces);
    retrieval += fmt::format("| {} | {} | {:.2f} | {} | {:.2f} | {:.0f} % | {:.2f} |\n", subject.name,
                             subject.nonzeros, r.found / 10.0, r.visits, 1e3 * r.anns_s,
                             100 * r.evaluating_share, 1e3 * r.exact_s);
    breakdown += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", subject.name,
                             subject.nonzeros, 1e3 * subject.read_s, 1e3 * subject.features_s,
                             1e3 * b.retrieval_s, 1e3 * (b.search_s - b.retrieval_s));
  }
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
    return ExitCode::kDone;
  }
  fmt::print(
      "\n### Retrieval from {} vertices, one thread\n\n| matrix | nonzeros | recall@10 | visits | anns "
      "ms | of it evaluating | exact ms |\n|---|---|---|---|---|---|---|\n{}",
      benchmark.index().size(), retrieval);
  fmt::print(
      "\n### Breakdown\n\n| matrix | nonzeros | read ms | features ms | retrieval ms | rank and refine "
      "ms |\n|---|---|---|---|---|---|\n{}",
      breakdown);
  return ExitCode::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main("search_perf", [&] {
    Options options;
    return parse(argc, argv, options) ? run(options) : ExitCode::kDone;
  });
}
