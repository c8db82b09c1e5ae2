// waco-tune --calibrate as users run it: what it replaces, what it leaves alone, and what an interruption
// leaves.
#include <signal.h>

#include "../model/learned/random_model.hpp"
#include "program.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/dataset/dataset_file.hpp"
#include "waco/matrix/corpus.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A model of another machine with its index, some small matrices on both sides of the split, and a home.
struct Bench {
  Bench() {
    test::write_random_model(model, schedule::Op::kSpmv);
    test::edit_manifest(model, [](auto& manifest) { manifest["machine"]["cpu"] = "a CPU of somebody else"; });
    make_index(model, model + "/index", 300);
    std::string text;
    int training = 0, validation = 0;
    for (int n = 20; training < 5 || validation < 3; ++n) {
      const std::string recipe = fmt::format("stencil2d n={}", n);
      const std::string original = matrix::synthetic_item(recipe).original;
      const bool judges = dataset::split_of(original, 7, 0.2) == dataset::Split::kValidation;
      int& count = judges ? validation : training;
      if (count == (judges ? 3 : 5)) continue;
      text += "synthetic: " + recipe + "\n";
      items.push_back(matrix::synthetic_item(recipe));
      ++count;
    }
    list = work.write("list", text);
  }
  /// The one folder with measurements.
  fs::path measured() const {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(work.path("home/waco/calibration")))
      if (entry.is_directory()) folders.push_back(entry.path());
    REQUIRE(folders.size() == 1);
    return folders[0];
  }
  /// Instead of what was measured: `per_matrix` points of each matrix, all equally fast, with those of
  /// `num_judging` matrices to judge by.
  void pretend(const fs::path& dataset, size_t per_matrix, int num_judging) const {
    const dataset::Dataset measured = dataset::load_dataset(dataset);
    std::string text = dataset::header_line(measured.header) + "\n";
    for (const matrix::CorpusItem& item : items) {
      const matrix::SparseTensor tensor = matrix::make(item);
      const dataset::Split split = dataset::split_of(item.original, 7, 0.2);
      if (split == dataset::Split::kValidation && num_judging-- <= 0) continue;
      size_t count = 0;
      for (dataset::Record record : measured.records) {
        if (!record.ok() || count == per_matrix) continue;
        ++count;
        record.matrix = record.original = item.original;
        record.source = item.source;
        record.matrix_hash = matrix::pattern_hash(tensor);
        record.dims = tensor.dims;
        record.num_nonzeros = tensor.num_nonzeros();
        record.split = split;
        record.time_ns = record.fixed_csr_ns = 1000;
        record.speedup = 1;
        record.censored = false;
        record.samples_ns.assign(7, 1000);
        text += dataset::to_json(record).dump() + "\n";
      }
    }
    write_file_atomically(dataset, text);
  }
  Program calibrate(const char* minutes = "5") const {
    return waco_tune()
        .with("--calibrate", "--op", "spmv", "--model", model, "--list", list, "--minutes", minutes)
        .environment("XDG_DATA_HOME", work.path("home"));
  }
  std::string users_model() const { return work.path("home/waco/models/spmv"); }
  /// By the model that is found, or the one that is named.
  json tuned(const std::string& matrix, const std::string& named = "") const {
    Program program = waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "--json");
    if (!named.empty()) program.with("--model", named);
    return document_of(program.environment("XDG_DATA_HOME", work.path("home")));
  }

  Workspace work;
  std::string model = work.path("model"), list;
  std::vector<matrix::CorpusItem> items;  ///< of the list
};

}  // namespace

TEST_CASE("cli: a calibrated model is this machine's, and is taken from then on", "[cli]") {
  const Bench bench;
  fs::create_directories(bench.work.path("home/waco/models"));
  // The user's own, of this machine, and one of another, as where machines share a home folder.
  test::write_random_model(bench.users_model(), schedule::Op::kSpmv, 4);
  make_index(bench.users_model(), bench.users_model() + "/index", 300);
  const std::string others = bench.users_model() + "-2";
  fs::copy(bench.model, others, fs::copy_options::recursive);
  const std::string matrix = bench.work.matrix();
  CHECK_THAT(bench.tuned(matrix, bench.model)["warnings"].dump(), Catch::Contains("--calibrate --op spmv"));
  const json before = bench.tuned(matrix);
  CHECK(before["warnings"].empty());
  const json own = parse_file(bench.users_model() + "/model.json");

  // An array task calibrates by all matrices, too.
  const RunResult run = bench.calibrate()
                            .environment("SLURM_ARRAY_TASK_ID", "1")
                            .environment("SLURM_ARRAY_TASK_COUNT", "2")
                            .run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK(run.err.find("% of the pairs right") != std::string::npos);
  // The model that was there does not say what it was judged by: it may have learned from that.
  CHECK(run.err.find("may have learned") != std::string::npos);
  REQUIRE(run.err.find("wrote " + bench.users_model()) !=
          std::string::npos);  // these random weights are easily beaten
  const json manifest = parse_file(bench.users_model() + "/model.json");
  const json start = parse_file(bench.model + "/model.json");
  CHECK(manifest["machine"]["cpu"] != start["machine"]["cpu"]);
  CHECK(parse_file(others + "/model.json") == start);
  CHECK(manifest["weights_hash"] != start["weights_hash"]);
  CHECK(manifest["dataset"]["validation"]["groups"] == 3);
  const std::string old = bench.users_model() + ".old-1";
  CHECK(parse_file(old + "/model.json") == own);
  CHECK(fs::exists(old + "/index/index.json"));
  CHECK(run.err.find("the model that was there is now " + old) != std::string::npos);

  const json after = bench.tuned(matrix);
  CHECK(after["warnings"].empty());
  CHECK(after["cost_model"] != before["cost_model"]);
  CHECK(after["search"] == "exact");  // with the vertices of the model it came from

  // Everything is measured already: again it only learns.
  const RunResult again = bench.calibrate("0.001").run();
  INFO(again.err);
  CHECK(again.ok());
  CHECK(again.err.find(" 0 of them new") != std::string::npos);
  CHECK(again.err.find("may have learned") == std::string::npos);  // not from what judges it
  // A model of the user's that ranks as well stays.
  CHECK(again.err.find("no better") != std::string::npos);
  CHECK(parse_file(bench.users_model() + "/model.json") == manifest);
}

TEST_CASE("cli: a model is calibrated for the type that is named, with what was measured of others",
          "[cli]") {
  const Bench bench;
  run_well(bench.calibrate().with("--type", "f64"));
  const json first = parse_file(bench.users_model() + "/model.json");
  CHECK(first["types"] == json{"f64"});
  fs::remove_all(bench.users_model());  // which the next one would have to beat
  const RunResult floats = run_well(bench.calibrate().with("--type", "f32"));
  const fs::path work = bench.measured();
  CHECK(fs::exists(work / "f32-1.jsonl"));
  CHECK(fs::exists(work / "f64-1.jsonl"));
  CHECK(floats.err.find(" 0 of them new") == std::string::npos);
  REQUIRE(floats.err.find("wrote " + bench.users_model()) != std::string::npos);
  CHECK(parse_file(bench.users_model() + "/model.json")["types"] == json({"f32", "f64"}));
}

TEST_CASE("cli: a calibration that is ended leaves the user's model and goes on", "[cli]") {
  const Bench bench;
  fs::create_directories(bench.users_model());
  bench.work.write("home/waco/models/spmv/model.json", "the user's own");
  RunOptions options;
  int num_ended = 0;
  for (const double seconds : {0.5, 3.0}) {
    const auto start = std::chrono::steady_clock::now();
    options.environment = bench.calibrate().environment();
    options.stop = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds;
    };
    const RunResult killed = run_process(bench.calibrate("0.1").arguments(), options);
    INFO(killed.err);
    // A fast machine was done, or about to end.
    if (!killed.stopped || fs::exists(bench.users_model() + ".old-1")) break;
    ++num_ended;
    CHECK(read_file(bench.users_model() + "/model.json") == "the user's own");
  }
  CHECK(num_ended > 0);
  run_well(bench.calibrate());
  CHECK(parse_file(bench.users_model() + "/model.json")["format"] == "waco-model");
  CHECK(read_file(bench.users_model() + ".old-1/model.json") == "the user's own");
}

TEST_CASE("cli: calibration says what it lacks", "[cli]") {
  const Bench bench;
  const auto home = [&](Program program) {
    return program.environment("XDG_DATA_HOME", bench.work.path("home"));
  };
  const std::string one = bench.work.write("one", "synthetic: stencil2d n=20\n");
  check_refused(home(waco_tune().with("--calibrate", "--model", bench.model, "--list", one)), 1, "too few");
  // A job with fewer CPUs, told the same number of threads, goes on with the same measurements.
  check_refused(home(waco_tune().with("--calibrate", "--model", bench.model, "--list", one))
                    .environment("OMP_NUM_THREADS", "1"),
                1, "too few");
  const fs::path work = bench.measured();
  {
    const LockFile running(work.parent_path() / "spmv.lock", "another test has it");
    check_refused(home(waco_tune().with("--calibrate", "--model", bench.model, "--list", one)), 1,
                  "another calibration of spmv is running");
  }
  const fs::path dataset = work / "f32-1.jsonl";
  const std::string measured = read_file(dataset);
  bench.pretend(dataset, 1, 3);
  check_refused(bench.calibrate("0.0001"), 1, "0 matrices measured");
  write_file_atomically(dataset, measured);
  bench.pretend(dataset, 2, 0);
  check_refused(bench.calibrate("0.0001"), 1, "5 matrices measured");
  write_file_atomically(dataset, measured);
  bench.pretend(dataset, 2, 3);
  check_refused(bench.calibrate("0.0001"), 1, "no two points");
  // Runs that were ended before they had written a header.
  std::ofstream(work / "f32-2.jsonl").flush();
  std::ofstream(work / "f32-3.jsonl") << "{\"format\":\"waco-dataset\",\"vers";
  CHECK_THAT(bench.calibrate("0.0001").run().err, Catch::Contains("f32-2.jsonl: is left out") &&
                                                      Catch::Contains("f32-3.jsonl: is left out") &&
                                                      Catch::Contains("no two points"));
  check_refused(home(waco_tune().with("--calibrate", "--op", "spmm", "--model", bench.model)), 2,
                "is a model of spmv");
  check_refused(home(waco_tune().with("--calibrate", "--model", bench.work.path("nowhere"))), 3, "nowhere");
  check_refused(waco_tune().with("--minutes", "3", "x.mtx", "--op", "spmv"), 2, "--calibrate");
  check_refused(waco_tune().with("--calibrate", "--list", one), 2, "--op");
  check_refused(waco_tune().with("--calibrate", "--op", "spmv", "-"), 2, "stdin");
  check_refused(waco_tune().with("--calibrate", "--op", "spmv", "--list", one, "--list", "-"), 2, "stdin");
  check_refused(waco_tune().with("--calibrate", "--op", "spmv", "/dev/stdin"), 2, "stdin");
  for (const char* flag : {"--json", "--check"})
    check_refused(waco_tune().with("--calibrate", "--op", "spmv", flag), 2, "excludes");
  check_refused(waco_tune().with("--calibrate", "--rhs", "64"), 2, "dense index");
  check_refused(waco_tune().with("--calibrate", "--op", "spmv", "--rhs", "64"), 2, "dense index");

  Program alone = home(waco_tune().with("--calibrate")).copied_to(bench.work.path("alone"));
  alone.environment("WACO_BIN", "");
  check_refused(Program(alone).with("--model", bench.model), 1, "--calibrate needs waco-collect");
  const std::string elsewhere = fs::canonical(bench.work.path("")).string();
  check_refused(Program(alone).with("--model", bench.model).environment("WACO_BIN", elsewhere), 1,
                "or " + elsewhere + "; name the folder");
  check_refused(alone, 2, "there is no built-in model to calibrate");
}

TEST_CASE("cli: calibration takes matrices whatever their names are", "[cli]") {
  const Bench bench;
  for (const char* name : {"merge", "-dash.mtx"})
    fs::copy_file(bench.work.matrix(20, 20, 0.2), bench.work.path(name));
  Program program =
      waco_tune().with("--calibrate", "--op", "spmv", "--model", bench.model, "merge", "--", "-dash.mtx");
  program.environment("XDG_DATA_HOME", bench.work.path("home"));
  const RunResult run = run_by_shell(program, fmt::format("cd '{}' && exec \"$@\"", bench.work.path("")));
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("measured so far, too few to learn") != std::string::npos);
}

TEST_CASE("cli: an op that can't be calibrated leaves the others alone", "[cli]") {
  const Workspace work;
  // Too short to measure anything.
  const RunResult run = waco_tune()
                            .with("--calibrate", "--minutes", "0.0001")
                            .environment("XDG_DATA_HOME", work.path("home"))
                            .run();
  INFO(run.err);
  CHECK(run.end.code == 6);
  for (const char* op : {"spmv", "spmm", "sddmm", "mttkrp"})
    CHECK(run.err.find(fmt::format("error: {}: 0 matrices measured", op)) != std::string::npos);
}

TEST_CASE("cli: a compiler that is of no use ends the calibration of all ops", "[cli]") {
  const Workspace work;
  // Tells its target and compiles nothing.
  const RunResult run = waco_tune()
                            .with("--calibrate", "--minutes", "5")
                            .use_compiler(work.path(""), "is_kernel && { echo 'error: no' >&2; exit 1; }")
                            .environment("XDG_DATA_HOME", work.path("home"))
                            .run();
  INFO(run.err);
  CHECK(run.end.code == 5);
  const std::string fault = "error: waco-collect failed";
  CHECK(run.err.find(fault) != std::string::npos);
  CHECK(run.err.find(fault) == run.err.rfind(fault));
}
