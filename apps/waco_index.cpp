// waco-index: makes the index in which tuning looks patterns up: points, embedded by a model and linked.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "waco/base/artifact.hpp"
#include "waco/base/clock.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/machine.hpp"
#include "waco/index/index.hpp"
#include "waco/index/vertex_sources.hpp"
#include "waco/model/learned/learned_model.hpp"

namespace {

using namespace waco;
namespace fs = std::filesystem;

constexpr const char* kProgram = "waco-index";
constexpr const char* kExamples = R"(Examples:
  waco-index spmm-model --dataset spmm.jsonl.gz -o spmm-index
  waco-index spmv-model --dataset a.jsonl --dataset b.jsonl --vertices 100000 -o spmv-index
  waco-index spmm-model --from spmm-index -o spmm-index     (after training the model again)
  waco-index spmm-model --from spmm-index --vertices-only -o small-index

Exit codes: 0 done, 1 failed, 2 usage, 3 unreadable input.)";

struct Options {
  CommonOptions common;
  std::string model;
  std::string output;
  std::vector<std::string> datasets;
  std::string from;
  std::optional<int64_t> num_samples;
  std::optional<int> threads;
  index::GraphOptions graph;
  bool vertices_only = false;
  std::string command;
};

bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Makes the index in which tuning looks patterns up: points, embedded by a model and linked.",
               kProgram);
  app.footer(kExamples);
  app.add_option("MODEL", options.model, "The folder of a model, made by waco-train")->required();
  app.add_option("-o,--output", options.output, "The folder of the index; an index there is replaced")
      ->required();
  app.add_option("--dataset", options.datasets, "Take the points of a dataset; repeatable")
      ->allow_extra_args(false);
  app.add_option("--from", options.from, "Take the points of an index, of this or another model");
  app.add_option("--vertices", options.num_samples,
                 "Add so many more points: neighbours of the datasets' best, and samples of the space "
                 "(default: 20000; 0 with --from)")
      ->check(CLI::Range(0, 10000000));
  app.add_option("--links", options.graph.links, "Links of a vertex; twice as many on the lowest layer")
      ->check(CLI::Range(2, 256))
      ->capture_default_str();
  app.add_option("--ef-construction", options.graph.ef_construction,
                 "Candidates kept while a vertex is linked")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--vertices-only", options.vertices_only,
               "Write no embeddings and no graph: the first use makes them");
  add_common_options(app, kProgram, options.common);
  app.remove_option(app.get_option("--compiler"));  // nothing is compiled
  app.remove_option(app.get_option("--threads"));   // those of another machine are not this one's
  app.add_option("--threads", options.threads,
                 "Threads of the machine the index is for (default: all this process may use)")
      ->check(CLI::Range(1, 1024));
  options.command = command_text(argc, argv);
  return parse_command_line(app, argc, argv, options.common);
}

/// Adds the points of all sources and notes how many each gave.
index::VertexList gather(const Options& options, schedule::Op op, nlohmann::ordered_json& sources) {
  index::VertexList vertices(op);
  sources = nlohmann::ordered_json::array();
  if (!options.from.empty()) {
    const index::VertexList old = index::Index::read_vertices(options.from);
    if (old.op() != op)
      throw InputError(options.from, 0,
                       fmt::format("is an index for {}, and {} is a model for {}", schedule::name(old.op()),
                                   options.model, schedule::name(op)));
    for (int64_t v = 0; v < old.size(); ++v) vertices.add(old.vertex(v), index::kAllThreads);
    sources.push_back({{"index", fs::path(options.from).filename().string()}, {"count", vertices.size()}});
  }
  const std::set<std::string> judged_by =
      model::originals_in(model::read_model_manifest(options.model), "validation_originals");
  std::vector<index::FastestRecords> fastest;  // of each dataset
  for (const std::string& dataset : options.datasets) {
    const int64_t added = index::add_dataset(vertices, dataset, judged_by, fastest.emplace_back());
    spdlog::info("{}: {} new vertices", dataset, added);
    sources.push_back({{"dataset", fs::path(dataset).filename().string()}, {"count", added}});
  }
  int64_t wanted = options.num_samples.value_or(options.from.empty() ? 20000 : 0);
  // Half of them near the best measured points, an equal part for each dataset.
  const int64_t near = options.datasets.empty() ? 0 : wanted / 2 / std::ssize(options.datasets);
  for (const index::FastestRecords& of_dataset : fastest) {
    const int64_t added = index::add_neighbours(vertices, of_dataset, near);
    sources.push_back({{"neighbours_in", of_dataset.file.filename().string()}, {"count", added}});
    wanted -= added;
  }
  if (wanted > 0) {
    const int64_t added = index::add_samples(vertices, wanted, options.common.seed);
    if (added < wanted) spdlog::warn("the space gave only {} of {} new points", added, wanted);
    sources.push_back({{"sampled", added}, {"seed", options.common.seed}});
  }
  if (vertices.size() == 0)
    throw UsageError(options.datasets.empty() ? "no vertices: give --dataset, --from or --vertices"
                                              : "no vertices: no point of the datasets ran; give --vertices");
  return vertices;
}

ExitCode run(Options options) {
  const auto start = std::chrono::steady_clock::now();
  index::Index::check_replaceable(options.output);
  const model::LearnedModel model = model::LearnedModel::load(options.model);
  options.graph.seed = options.common.seed;
  index::IndexOptions making;
  making.graph = options.graph;
  making.max_threads = options.threads.value_or(usable_threads());
  making.created_by = created_by(kProgram, options.command);
  index::VertexList vertices = gather(options, model.op(), making.sources);
  const index::Index index(std::move(vertices), model, std::move(making));
  index.write(options.output, options.vertices_only);
  spdlog::info("wrote {}: {} vertices for {} in {:.1f} s", options.output, index.size(),
               schedule::name(index.op()), seconds_since(start));
  return ExitCode::kDone;
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kProgram, [&] {
    Options options;
    return parse(argc, argv, options) ? run(std::move(options)) : ExitCode::kDone;
  });
}
