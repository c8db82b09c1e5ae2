// waco-index from the command line.
#include <algorithm>

#include "../model/learned/random_model.hpp"
#include "../train/small_dataset.hpp"
#include "program.hpp"
#include "waco/base/file_replacement.hpp"

using namespace waco;
using namespace waco::cli;
namespace fs = std::filesystem;

namespace {

std::string model_in(const Workspace& work, const std::string& name, schedule::Op op, uint64_t seed = 1) {
  test::write_random_model(work.path(name), op, seed);
  return work.path(name);
}

}  // namespace

TEST_CASE("waco-index: makes the same index twice, and one for a new model from an old one", "[cli]") {
  const Workspace work;
  const std::string model = model_in(work, "model", schedule::Op::kSpmm);
  const auto run = [&](const Program& program) {
    const RunResult result = program.run();
    INFO(result.err);
    CHECK(result.end.code == 0);
    CHECK(result.out.empty());
  };
  run(waco_index().with(model, "--vertices", "300", "-o", work.path("a")));
  run(waco_index().with(model, "--vertices", "300", "-o", work.path("b")));
  for (const char* file : {"vertices.txt.gz", "embeddings.safetensors", "graph.bin"})
    CHECK(read_file(work.path("a") + "/" + file) == read_file(work.path("b") + "/" + file));
  const auto manifest = parse_file(work.path("a") + "/index.json");
  CHECK(manifest["format"] == "waco-index");
  CHECK(manifest["op"] == "spmm");
  CHECK(manifest["vertices"]["count"] == 300);
  CHECK(manifest["max_threads"] == 2);

  const std::string newer = model_in(work, "newer", schedule::Op::kSpmm, 2);
  // Two threads, which are those of the machine that the index is for.
  run(waco_index()
          .with(model, "--from", work.path("a"), "-o", work.path("foreign"))
          .environment("OMP_THREAD_LIMIT", "1"));
  const auto foreign = parse_file(work.path("foreign") + "/index.json");
  CHECK(foreign["max_threads"] == 2);
  CHECK(foreign["model_hash"] == manifest["model_hash"]);
  for (const char* file : {"vertices.txt.gz", "embeddings.safetensors"})
    CHECK(read_file(work.path("foreign") + "/" + file) == read_file(work.path("b") + "/" + file));
  run(waco_index().with(newer, "--from", work.path("a"), "-o", work.path("a")));
  const auto repaired = parse_file(work.path("a") + "/index.json");
  CHECK(repaired["vertices"]["count"] == 300);
  CHECK(repaired["model_hash"] != manifest["model_hash"]);
  CHECK(read_file(work.path("a") + "/vertices.txt.gz") == read_file(work.path("b") + "/vertices.txt.gz"));
  run(waco_index().with(model, "--from", work.path("a"), "--vertices", "50", "--vertices-only", "-o",
                        work.path("small")));
  CHECK(parse_file(work.path("small") + "/index.json")["vertices"]["count"] == 350);
  CHECK_FALSE(fs::exists(work.path("small") + "/graph.bin"));
}

TEST_CASE("waco-index: links vertices as it is told", "[cli]") {
  const Workspace work;
  const std::string model = model_in(work, "model", schedule::Op::kSpmm);
  make_index(model, work.path("usual"), 50);
  run_well(waco_index()
               .with(model, "--vertices", "50", "--links", "8", "--ef-construction", "40")
               .with("-o", work.path("sparse")));
  const auto usual = parse_file(work.path("usual/index.json"))["graph"];
  CHECK(usual["links"] == 16);
  CHECK(usual["ef_construction"] == 200);
  const auto sparse = parse_file(work.path("sparse/index.json"))["graph"];
  CHECK(sparse["links"] == 8);
  CHECK(sparse["ef_construction"] == 40);
  CHECK(fs::file_size(work.path("sparse/graph.bin")) < fs::file_size(work.path("usual/graph.bin")));
}

TEST_CASE("waco-index: takes no points of the matrices that a model is judged by", "[cli]") {
  const Workspace work;
  const std::string model = model_in(work, "model", schedule::Op::kSpmv);
  fs::create_directory(work.path("data"));
  const std::string dataset = train::testing::write_small_dataset(work.path("data"), 2, 5);
  const std::vector<nlohmann::json> lines = lines_of(dataset);
  REQUIRE(lines.size() == 11);
  const std::string judged = lines.back().at("original");
  std::string others;
  for (const nlohmann::json& line : lines)
    if (line.value("original", "") != judged) others += line.dump() + "\n";
  const auto vertices_of = [&](const std::string& points, const std::string& name) {
    run_well(waco_index().with(model, "--dataset", points, "--vertices", "0", "-o", work.path(name)));
    return parse_file(work.path(name) + "/index.json").at("vertices");
  };
  const nlohmann::json all = vertices_of(dataset, "all");
  const nlohmann::json without = vertices_of(work.write("others.jsonl", others), "others");
  test::edit_manifest(model, [&](auto& manifest) {
    manifest["dataset"]["validation_originals"] = std::vector<std::string>{judged};
  });
  const nlohmann::json guarded = vertices_of(dataset, "guarded");
  CHECK(guarded.at("count") == without.at("count"));
  CHECK(guarded.at("count").get<int>() < all.at("count").get<int>());
  CHECK(guarded.at("sources").at(0).at("dataset") == "small.jsonl");
  CHECK(guarded.at("sources").at(0).at("count") == guarded.at("count"));
  CHECK(read_file(work.path("guarded") + "/vertices.txt.gz") ==
        read_file(work.path("others") + "/vertices.txt.gz"));
}

TEST_CASE("waco-index: what can't be used is refused with the right code", "[cli]") {
  const Workspace work;
  const std::string model = model_in(work, "model", schedule::Op::kSpmm);
  const std::string spmv = model_in(work, "spmv", schedule::Op::kSpmv);
  check_refused(waco_index().with(work.path("absent"), "-o", work.path("x")), 3, "absent");
  check_refused(waco_index().with(model, "--vertices", "0", "-o", work.path("x")), 2, "no vertices");
  check_refused(waco_index().with(model, "--from", work.path("absent"), "-o", work.path("x")), 3,
                "waco-index");
  check_refused(waco_index().with(model, "--dataset", work.write("d.jsonl", "hello\n"), "-o", work.path("x")),
                3, "d.jsonl");
  make_index(spmv, work.path("spmv-index"), 50);
  check_refused(waco_index().with(model, "--from", work.path("spmv-index"), "-o", work.path("x")), 3, "spmv");
  fs::create_directory(work.path("taken"));
  work.write("taken/letter.txt", "dear");
  check_refused(waco_index().with(model, "--vertices", "50", "-o", work.path("taken")), 2, "not an index");
  // That comes before anything is read.
  check_refused(waco_index().with(work.path("absent"), "-o", work.path("none/x")), 1, "can't be created");
  write_file_atomically(work.path("spmv-index") + "/vertices.txt.gz", "hello");
  check_refused(waco_index().with(spmv, "--from", work.path("spmv-index"), "-o", work.path("x")), 3,
                "vertices.txt.gz");
  CHECK_FALSE(fs::exists(work.path("x")));
}
