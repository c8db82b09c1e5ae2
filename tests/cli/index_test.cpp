// waco-index from the command line.
#include "../model/learned/random_model.hpp"
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

  const std::string newer = model_in(work, "newer", schedule::Op::kSpmm, 2);
  // Two threads, which are those of the machine that the index is for.
  run(waco_index()
          .with(model, "--from", work.path("a"), "-o", work.path("foreign"))
          .environment("OMP_THREAD_LIMIT", "1"));
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
