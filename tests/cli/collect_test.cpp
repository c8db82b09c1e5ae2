// waco-collect as users run it: datasets, shards, merges, faults.
#include "../model/learned/random_model.hpp"
#include "collection.hpp"
#include "waco/base/file_replacement.hpp"

using namespace waco;
using namespace waco::cli;

TEST_CASE("cli: a collection has every stratum, and info describes it", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const RunResult run = spmv_collection(matrices(work), output).run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK(run.out.empty());
  const std::vector<json> records = records_of(output);
  CHECK(records.size() == 60);
  const Outline outline = outline_of(records);
  CHECK(outline.num_doubled == 0);
  for (const char* stratum : {"fixed_csr", "model", "blocked", "sliced", "sparse_blocks", "csr_like", "coo",
                              "uniform", "neighbours"})
    CHECK(outline.counts.count(std::string("kind1 ") + stratum) == 1);
  for (const json& record : records) {
    CHECK(record.at("status") == "ok");
    CHECK(record.at("time_ns") > 0);
    CHECK(record.at("fixed_csr_ns") > 0);
    CHECK(record.at("threads") == 2);
  }
  const RunResult info =
      run_well(Program("waco-collect").with("info", output, "--against", output, "--json"));
  const json summary = json::parse(info.out);
  CHECK(summary.at("records") == 60);
  CHECK(summary.at("matrices") == 3);
  CHECK(summary.at("strata").at("fixed_csr").at("records") == 3);
  CHECK(summary.at("against").at("common_records") ==
        std::ranges::count_if(records, [](const json& record) { return !record.contains("disturbed"); }));
  CHECK(summary.at("against").at("pairs") > 0);
  CHECK(summary.at("against").at("reversed_pairs") == 0);
  CHECK(info.err.empty());
  const std::string before = read_file(output);
  // Times by another compiler do not compare.
  const size_t end = before.find('\n');
  json header = json::parse(before.substr(0, end));
  header.at("machine").at("compiler") = "another";
  const std::string elsewhere = work.write("elsewhere.jsonl", header.dump() + before.substr(end));
  const RunResult apart = Program("waco-collect").with("info", output, "--against", elsewhere).run();
  CHECK(apart.ok());
  CHECK_THAT(apart.err, Catch::Contains("60 records of other machines or compilers"));
  // The same command finds nothing left to do.
  REQUIRE(spmv_collection(matrices(work), output).run().ok());
  CHECK(read_file(output) == before);
}

TEST_CASE("cli: a collection by a learned model measures what it and the closed-form model rank first",
          "[cli]") {
  Workspace work;
  const std::string model = work.path("models/spmv"), output = work.path("data.jsonl");
  test::write_random_model(model, schedule::Op::kSpmv);
  const auto command = [&](const std::string& by) {
    return spmv_collection(matrices(work), output).with("--model", by).run();
  };
  const RunResult run = command(model);
  INFO(run.err);
  REQUIRE(run.ok());
  const Outline outline = outline_of(records_of(output));
  CHECK(outline.counts.at("kind1 learned") == 8);
  CHECK(outline.counts.at("kind1 model") == 5);
  CHECK(outline.counts.at("kind1 neighbours") == 6);
  const std::string before = read_file(output);
  REQUIRE(command(model).ok());
  REQUIRE(command(work.path("models")).ok());
  CHECK(read_file(output) == before);
  // Points that an index found do not belong into the same file.
  make_index(model, model + "/index", 50);
  check_refused(spmv_collection(matrices(work), output).with("--model", model), 2, "index \"none\"");
  // Nor do those of another model, or of none, nor a model of another op.
  CHECK(spmv_collection(matrices(work), output).run().end.code == 2);
  test::write_random_model(work.path("other"), schedule::Op::kSpmv, 2);
  CHECK(command(work.path("other")).end.code == 2);
  test::write_random_model(work.path("spmm"), schedule::Op::kSpmm);
  CHECK(command(work.path("spmm")).end.code == 2);
  CHECK(command(work.path("nothing")).end.code == 3);
  CHECK(read_file(output) == before);
  // Where none of a folder is fit nothing ranks, and no line says that something does.
  write_file_atomically(model + "/model.json", "{}");
  const RunResult unfit = command(work.path("models"));
  INFO(unfit.err);
  CHECK(unfit.end.code == 3);
  CHECK(unfit.err.find("holds no model for this op") != std::string::npos);
  CHECK(unfit.err.find("ranks") == std::string::npos);
}

TEST_CASE("cli: every op is collected on synthetic inputs", "[cli]") {
  Workspace work;
  const std::string op = GENERATE("spmv", "spmm", "sddmm", "mttkrp");
  const std::string list = work.write(
      "list", op == "mttkrp" ? "synthetic: tensor i=90 k=80 l=30 nnz=2000\n" : "synthetic: stencil2d n=24\n");
  const std::string output = work.path("data.jsonl");
  Program program = collect().with("--list", list, "--op", op, "--per-matrix", "12", "-o", output);
  if (op != "spmv") program.with("--rhs", "16", "--type", "f64");
  const RunResult run = program.run();
  INFO(op << run.err);
  REQUIRE(run.ok());
  const std::vector<json> records = records_of(output);
  CHECK(records.size() == 12);
  for (const json& record : records) {
    INFO(record.dump());
    CHECK(record.at("status") == "ok");
    CHECK(record.at("op") == op);
  }
}

TEST_CASE("cli: merged shards are the dataset of one run", "[cli]") {
  Workspace work;
  const std::vector<std::string> files = matrices(work);
  const std::string whole = work.path("whole.jsonl");
  REQUIRE(spmv_collection(files, whole).run().ok());
  const std::string output = work.path("data.jsonl");
  REQUIRE(spmv_collection(files, output).with("--shard", "0/2").run().ok());
  REQUIRE(spmv_collection(files, output)
              .environment("SLURM_ARRAY_TASK_ID", "6")
              .environment("SLURM_ARRAY_TASK_COUNT", "2")
              .environment("SLURM_ARRAY_TASK_MIN", "5")
              .run()
              .ok());
  // Of a step's two tasks the first goes on with its part, where all is done.
  const std::string part = read_file(work.path("data.0-of-2.jsonl"));
  const RunResult task = spmv_collection(files, output)
                             .environment("SLURM_STEP_NUM_TASKS", "2")
                             .environment("SLURM_PROCID", "0")
                             .run();
  INFO(task.err);
  CHECK(task.ok());
  CHECK(task.err.find("only shard 0/2 of the inputs, as this is a task of a Slurm step") !=
        std::string::npos);
  CHECK(read_file(work.path("data.0-of-2.jsonl")) == part);
  CHECK_FALSE(std::filesystem::exists(output));
  run_well(Program("waco-collect")
               .with("merge", work.path("data.0-of-2.jsonl"), work.path("data.1-of-2.jsonl"), "-o", output));
  CHECK(outline_of(records_of(output)) == outline_of(records_of(whole)));

  const RunResult quiet = Program("waco-collect").with("merge", output, "-o", output + ".gz", "-q").run();
  CHECK(quiet.ok());
  CHECK(quiet.err.empty());
  CHECK(Program("waco-collect").with("info", output + ".gz", "--quiet").run().ok());
  const RunResult printed = Program("waco-collect").with("merge", output, "-o", "-").run();
  CHECK(outline_of(records_of(work.write("printed.jsonl", printed.out))) == outline_of(records_of(output)));
  check_refused(Program("waco-collect").with("info", output, "--op", "spmv"), 2, "--op");
  check_refused(Program("waco-collect").with("--op", "spmv", "info", output), 2, "info takes no --op");
  check_refused(Program("waco-collect")
                    .with("--synthetic", "1", "--op", "spmv", "-o", output)
                    .with("--schedule", "spmv f32 | A: i:U k:C [clustered] | loop: i k | par: serial"),
                2, "which all points do (--clustered) or none");
  check_refused(collect()
                    .with("--synthetic", "1", "--op", "spmv", "--clustered", "-o", output)
                    .with("--schedule", "spmv f32 | A: i:U k:C [clustered:64] | loop: i k | par: serial"),
                2, "has a window of clustered rows");
  check_refused(
      Program("waco-collect")
          .with("--synthetic", "1", "--op", "spmv", "-o", output)
          .with("--schedule", "spmv f32 | A: i1:U k:C i0:U [i/8 skewed] | loop: i1 k i0 | par: serial"),
      2, "is skewed, which no model learns from");
  check_refused(Program("waco-collect").with(output, "info", output), 2, "info takes no INPUT");
  CHECK(Program("waco-collect").with("--seed", "3", "info", output).run().ok());
}

TEST_CASE("cli: matrices whose rows need no clustering are left out of a collection of clustered points",
          "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const std::string list = work.write("list.txt", "synthetic: stencil2d n=8 points=5\n");
  const RunResult run = collect()
                            .with("--list", list, "--op", "spmm", "--rhs", "8", "--per-matrix", "4")
                            .with("--augment", "1", "--clustered", "-o", output)
                            .run();
  INFO(run.err);
  CHECK(run.ok());
  CHECK(run.err.find("0 matrices complete, 2 left out for rows in a good order") != std::string::npos);
  CHECK(run.err.find("the rows of no matrix are worth clustering") != std::string::npos);
  CHECK(records_of(output).empty());
}

TEST_CASE(
    "cli: of matrices whose rows lie badly clustered points are measured, and no fewer by a run that "
    "continues",
    "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const std::string list = work.write("list.txt", "synthetic: stencil2d n=40 points=5 | shuffle seed=3\n");
  const auto run = [&] {
    return collect()
        .with("--list", list, "--op", "spmm", "--rhs", "1024", "--per-matrix", "5")
        .with("--clustered", "-o", output)
        .run();
  };
  const RunResult first = run();
  INFO(first.err);
  REQUIRE(first.ok());
  const std::vector<json> records = records_of(output);
  REQUIRE(records.size() == 5);
  for (const json& record : records) {
    const auto plan = record.at("plan").get<std::string>();
    CHECK((plan.find("clustered") != std::string::npos) == (record.at("stratum") != "fixed_csr"));
    CHECK(record.at("status") == "ok");
  }
  const std::string all = read_file(output);
  size_t end = 0;
  for (int line = 0; line < 3; ++line) end = all.find('\n', end) + 1;  // the header and two records
  write_file_atomically(output, all.substr(0, end));
  REQUIRE(run().ok());
  CHECK(outline_of(records_of(output)).counts == outline_of(records).counts);
}

TEST_CASE("cli: matrices that need no clustering are told from those of the same pattern", "[cli]") {
  Workspace work;
  const std::string matrix = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n";
  const std::string first = work.write("first.mtx", matrix), twin = work.write("twin.mtx", matrix);
  const RunResult run = collect()
                            .with(first, twin, "--op", "spmm", "--rhs", "8", "--per-matrix", "4")
                            .with("--clustered", "-o", work.path("data.jsonl"))
                            .run();
  INFO(run.err);
  CHECK(run.ok());
  CHECK_THAT(run.err, Catch::Contains("twin: left out, has the pattern of first"));
}

TEST_CASE("cli: copies of a matrix stay on its side of the split", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  run_well(spmv_collection(matrices(work), output).with("--augment", "2", "--validation-share", "0.5"));
  std::map<std::string, std::set<std::string>> sides;
  std::map<std::string, std::set<std::string>> copies;
  for (const json& record : records_of(output)) {
    sides[record.at("original")].insert(record.at("split").get<std::string>());
    copies[record.at("original")].insert(record.at("matrix").get<std::string>());
  }
  CHECK(sides.size() == 3);
  for (const auto& [original, split] : sides) CHECK(split.size() == 1);
  for (const auto& [original, names] : copies) CHECK(names.size() == 3);
}

TEST_CASE("cli: a matrix that is there under another name is left out with its copies", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix(), twin = work.path("twin.mtx"), output = work.path("data.jsonl");
  std::filesystem::copy_file(matrix, twin);
  const Program program =
      collect().with(matrix, twin, "--op", "spmv", "--per-matrix", "3", "--augment", "1", "-o", output);
  run_well(program);
  for (const json& record : records_of(output)) CHECK(record.at("original") == "matrix");
  CHECK(records_of(output).size() == 6);
}

TEST_CASE("cli: matrices of one name, and their copies, are told apart", "[cli]") {
  Workspace work;
  Program program = collect().with("--op", "spmv", "--per-matrix", "3", "--augment", "1");
  for (const int stride : {3, 11}) {  // as many nonzeros, so that copies have one name as well
    const std::string folder = fmt::format("stride{}", stride);
    std::filesystem::create_directories(work.path(folder));
    std::string entries;
    for (int r = 1; r <= 100; ++r)
      for (int c = 1; c <= 100; ++c)
        if ((7 * r + stride * c) % 20 == 0) entries += fmt::format("{} {} 1\n", r, c);
    program.with(work.write(folder + "/same.mtx",
                            "%%MatrixMarket matrix coordinate real general\n100 100 500\n" + entries));
  }
  const std::string output = work.path("data.jsonl");
  run_well(program.with("-o", output));
  std::set<std::string> names, patterns;
  for (const json& record : records_of(output)) {
    names.insert(record.at("matrix").get<std::string>());
    patterns.insert(record.at("matrix_hash").get<std::string>());
  }
  CHECK(names.size() == 2);
  CHECK(patterns.size() == 4);
}

TEST_CASE("cli: a matrix whose name is no UTF-8 is continued like any other", "[cli]") {
  Workspace work;
  const std::string file = work.path("m\xff.mtx"), output = work.path("data.jsonl");
  std::filesystem::rename(work.matrix(), file);
  const Program program = collect().with(file, "--op", "spmv", "--per-matrix", "3", "-o", output);
  REQUIRE(program.run().ok());
  const std::string whole = read_file(output);
  const size_t third = whole.rfind('\n', whole.size() - 2) + 1;
  std::filesystem::resize_file(output, third);
  REQUIRE(program.run().ok());
  CHECK(records_of(output).size() == 3);
}

TEST_CASE("cli: a file is not taken for another of its name that is in the dataset", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const Program program = collect().with(work.matrix(), "--op", "spmv", "--per-matrix", "3", "--augment", "1",
                                         "--seed", "7", "-o", output);
  REQUIRE(program.run().ok());
  CHECK(records_of(output).size() == 6);
  work.matrix(200, 160, 0.05);  // another one, as if from another folder
  run_well(program);
  std::set<std::string> patterns;
  for (const json& record : records_of(output)) patterns.insert(record.at("matrix_hash").get<std::string>());
  CHECK(records_of(output).size() == 12);
  CHECK(patterns.size() == 4);
  // Both are complete.
  const std::string whole = read_file(output);
  REQUIRE(program.run().ok());
  CHECK(read_file(output) == whole);
}

TEST_CASE("cli: a collection keeps to the memory that it was begun with", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const std::string list = work.write("list", "synthetic: stencil2d n=200\n");  // CSR of 1.7 MB
  const Program program = collect().with("--list", list, "--op", "spmv", "--per-matrix", "6", "-o", output);
  const auto num_large = [&] {
    int count = 0;
    for (const json& record : records_of(output))
      count += record.at("stratum") != "fixed_csr" && record.at("stored_bytes") > (1 << 20) ? 1 : 0;
    return count;
  };
  REQUIRE(program.run().ok());
  CHECK(num_large() > 0);
  // As if a machine with little memory had begun it.
  const std::string text = read_file(output);
  json header = json::parse(text.substr(0, text.find('\n')));
  header.at("machine").at("memory_bytes") = 1;
  write_file_atomically(output, header.dump() + "\n");
  run_well(program);
  CHECK(num_large() == 0);
}

TEST_CASE("cli: a matrix that can't be used is left out, and the code says so", "[cli]") {
  Workspace work;
  std::vector<std::string> files = {matrices(work)[0], work.write("bad.mtx", "nonsense\n"), work.tensor()};
  const std::string output = work.path("data.jsonl");
  const RunResult run = spmv_collection(files, output).run();
  CHECK(run.end.code == 6);
  CHECK(run.err.find("bad") != std::string::npos);
  CHECK(run.err.find("needs a matrix") != std::string::npos);
  CHECK(records_of(output).size() == 20);
  files.erase(files.begin());
  CHECK(spmv_collection(files, work.path("none.jsonl")).run().end.code == 3);
  CHECK(spmv_collection(files, work.path("none.jsonl")).with("--shard", "1/2").run().end.code == 6);
}

TEST_CASE("cli: a copy that came out empty is no fault", "[cli]") {
  Workspace work;
  // Its nonzeros fill the last rows. The copy that its name draws is a window above them.
  std::string entries;
  for (int r = 1901; r <= 2000; ++r)
    for (int c = 1; c <= 101; ++c) entries += fmt::format("{} {}\n", r, c);
  const std::string file = work.write(
      "low12.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000 2001 10100\n" + entries);
  const std::string output = work.path("data.jsonl");
  const RunResult run =
      collect().with(file, "--op", "spmv", "--per-matrix", "1", "--augment", "1", "-o", output).run();
  INFO(run.err);
  CHECK(run.ok());
  CHECK(run.err.find("left out, has no nonzeros") != std::string::npos);
  // What reading did is told once.
  const size_t told = run.err.find("low12: pattern: every value is 1");
  CHECK(told != std::string::npos);
  CHECK(run.err.find("every value is 1", told + 20) == std::string::npos);
}

TEST_CASE("cli: a collection without its worker fails before it touches anything", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  check_refused(collect().copied_to(work.path("bin")).with(work.matrix(), "--op", "spmv", "-o", output), 1,
                "waco-worker is missing");
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("cli: a full disk ends a collection, and records nothing of it", "[cli]") {
  Workspace work;
  const std::string output = work.path("data.jsonl");
  const RunResult run = spmv_collection(matrices(work), output)
                            .use_compiler(work.path(""), R"(is_kernel && ! is_openmp_check &&
                              { echo 'as: No space left on device' >&2; exit 1; })")
                            .run();
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("free disk space") != std::string::npos);
  CHECK(run.err.find("kind0: ") != std::string::npos);
  const std::string content = read_file(output);
  CHECK(std::count(content.begin(), content.end(), '\n') == 1);
}

TEST_CASE("cli: wrong uses of waco-collect end with code 2 or 3, touch nothing and say why", "[cli]") {
  Workspace work;
  const std::string matrix = work.matrix();
  const std::string output = work.path("data.jsonl");
  const auto complains = [](const Program& program, int code, const std::string& text) {
    const RunResult run = program.run();
    INFO(run.err);
    CHECK(run.end.code == code);
    CHECK(run.err.find(text) != std::string::npos);
  };
  complains(collect().with(matrix, "--op", "spmv"), 2, "-o is required");
  complains(collect().with(matrix, "-o", output), 2, "--op is required");
  complains(collect().with("-", "--op", "spmv", "-o", output), 2, "stdin");
  complains(collect().with("--list", work.write("list", "-\n"), "--op", "spmv", "-o", output), 2, "stdin");
  complains(collect().with("/dev/stdin", "--op", "spmv", "-o", output), 2,
            "/dev/stdin: matrices are read again");
  complains(collect().with("--op", "spmv", "-o", output), 2, "nothing to do");
  complains(collect().with(matrix, "--op", "spmv", "-o", output + ".gz"), 2, "merge");
  complains(collect().with(matrix, "--op", "spmv", "-o", output, "--shard", "4/4"), 2, "4/4");
  complains(collect().with(matrix, "--op", "spmv", "-o", output, "--per-matrix", "0"), 2, "per-matrix");
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: serial";
  complains(collect().with(matrix, "--schedule", csr, "-o", output, "--per-matrix", "1"), 2, "no room");
  complains(collect().with(matrix, "--schedule", csr, "--op", "spmm", "-o", output), 2, "contradicts");
  complains(collect().with(work.path("missing.mtx"), "--op", "spmv", "-o", output), 3, "missing.mtx");
  complains(collect().with(matrix, "--op", "spmv", "-o", matrix), 3, "waco-dataset");
  complains(Program("waco-collect").with("info", matrix), 3, "waco-dataset");
  complains(Program("waco-collect").with("merge", matrix, "-o", output), 3, "waco-dataset");
  CHECK_FALSE(std::filesystem::exists(output));
  REQUIRE(collect().with(matrix, "--op", "spmv", "--per-matrix", "3", "-o", output).run().ok());
  complains(collect().with(matrix, "--op", "spmv", "--per-matrix", "4", "-o", output), 2, "per_matrix");
  CHECK(records_of(output).size() == 3);
}
