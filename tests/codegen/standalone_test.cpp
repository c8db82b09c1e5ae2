// Emitted files are compiled alone by the system's compiler and judged by their own self-test.
#include "waco/codegen/standalone.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/process.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;

namespace {

/// A small matrix whose rows and columns no split divides, in a Matrix Market file.
void write_matrix(const std::filesystem::path& file, int rows, int cols, double density) {
  Random random(7);
  std::vector<std::string> entries;
  for (int r = 1; r <= rows; ++r)
    for (int c = 1; c <= cols; ++c)
      if (random.chance(density)) entries.push_back(fmt::format("{} {} {}\n", r, c, random.uniform() - 0.5));
  std::ofstream out(file);
  out << "%%MatrixMarket matrix coordinate real general\n"
      << rows << ' ' << cols << ' ' << entries.size() << '\n';
  for (const std::string& entry : entries) out << entry;
}

void write_tensor(const std::filesystem::path& file) {
  Random random(8);
  std::ofstream out(file);
  for (int i = 1; i <= 19; ++i)
    for (int k = 1; k <= 13; ++k)
      for (int l = 1; l <= 7; ++l)
        if (random.chance(0.1)) out << i << ' ' << k << ' ' << l << ' ' << random.uniform() << '\n';
}

struct Folder {
  TemporaryFolder temporary{"waco-standalone-"};
  std::filesystem::path file(const std::string& name) const { return temporary.path() / name; }

  RunResult compile(const std::string& source, const std::vector<std::string>& flags,
                    const std::string& output, const std::string& compiler = "g++") {
    std::ofstream(file("kernel.cpp")) << source;
    std::vector<std::string> arguments{compiler,           "-std=c++17", "-O1",
                                       "-march=native",    "-Wall",      "-Wextra",
                                       "-Werror",          "-Wno-psabi", "-Wno-unknown-pragmas",
                                       file("kernel.cpp"), "-o",         file(output)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_process(arguments);
  }
};

void check_self_test(const std::string& text, const codegen::OperandShape& shape, int rows, int cols) {
  const schedule::SuperSchedule point = schedule::parse(text);
  Folder folder;
  const RunResult compiled = folder.compile(codegen::emit_standalone(point, shape, 32, {}),
                                            {"-fopenmp", "-DWACO_SELF_TEST"}, "self_test");
  INFO(text << "\n" << compiled.err);
  REQUIRE(compiled.ok());
  const bool is_tensor = point.problem.op == schedule::Op::kMttkrp;
  const std::filesystem::path input = folder.file(is_tensor ? "input.tns" : "input.mtx");
  if (is_tensor)
    write_tensor(input);
  else
    write_matrix(input, rows, cols, 0.1);
  const RunResult run = run_process({folder.file("self_test"), input});
  INFO(run.out << run.err);
  CHECK(run.ok());
  CHECK(run.out.find("passed") != std::string::npos);
}

/// A program that prints the operand as the self-test of a kernel reads it.
std::string input_printer(const std::string& kernel) {
  return "#define WACO_SELF_TEST\n#define main self_test_main\n" + kernel + R"(
#undef main
int main(int, char** argv) {
  const waco_self_test::Input in = waco_self_test::read(argv[1]);
  for (int m = 0; m < 3; ++m) printf("%lld ", (long long)in.dim[m]);
  for (int64_t n = 0; n < in.size(); ++n) {
    for (int m = 0; m < 3; ++m) printf("%lld ", (long long)in.coord[m][n]);
    printf("%.17g ", (double)in.value[n]);
  }
  return 0;
}
)";
}

/// The same of what this library reads.
std::string printed(const matrix::SparseTensor& tensor) {
  std::string text;
  for (size_t m = 0; m < 3; ++m) text += fmt::format("{} ", m < tensor.dims.size() ? tensor.dims[m] : 1);
  for (size_t n = 0; n < tensor.values.size(); ++n) {
    for (size_t m = 0; m < 3; ++m)
      text += fmt::format("{} ", m < tensor.dims.size() ? tensor.coords[m][n] : 0);
    text += fmt::format("{:.17g} ", tensor.values[n]);
  }
  return text;
}

}  // namespace

TEST_CASE("standalone: kernels emitted without a matrix pass their self-test on one", "[codegen]") {
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,16 x2",
           "spmv f64 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: i1 static x2",
           "spmm f32 J=40 | A: i1:U k:C i0:U [i/4] | loop: i1 j1 k i0 j0 [j/32] | par: i1 dynamic,4 x2",
           "spmm f64 J=24 | A: i:U k:C | loop: i k j | par: i balanced x2",
           "sddmm f32 K=20 | A: i:U j1:C j0:U [j/3] | loop: i j1 j0 k | par: i static x2",
           "mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2",
       })
    check_self_test(text, codegen::any_shape(), 301, 207);
  check_self_test("spmv f32 | A: i1:U k:C i0:U [i/12 skewed] | loop: i1 k i0 | par: i1 dynamic,16 x2",
                  codegen::any_shape(true), 301, 207);
}

TEST_CASE("standalone: up to 2^31 diagonals have coordinates of four bytes", "[codegen]") {
  const auto point =
      schedule::parse("spmv f32 | A: i1:U k:C i0:U [i/16 skewed] | loop: i1 k i0 | par: i1 static x2");
  const std::string kernel = codegen::emit_standalone(point, codegen::any_shape(true), 32, {});
  CHECK_THAT(kernel, Catch::Contains("up to 2^31 diagonals"));
  CHECK_THAT(kernel, Catch::Contains("(const int32_t*)a->level[1].crd"));
}

TEST_CASE("standalone: every way of packing compiles without a warning by clang, too", "[codegen]") {
  const std::string clang = "clang++";
  const Folder probe;
  std::ofstream(probe.file("probe.cpp")) << "#include <omp.h>\n";
  const std::string compile =
      fmt::format("{} -fopenmp -c {} -o {}", clang, std::string(probe.file("probe.cpp")),
                  std::string(probe.file("probe.o")));
  if (!run_process({"sh", "-c", compile}).ok()) {  // says so where there is no such program
    SUCCEED("left out: there is no clang++ with OpenMP");
    return;
  }
  for (const char* text : {
           "spmv f32 | A: i:U k:C | loop: i k | par: i balanced x2",
           "spmv f32 | A: i1:U i0:U k:L [i/8 sort:64] | loop: i1 k i0 | par: serial",
           "spmv f64 | A: k:U i:C | loop: k i | par: k static x2",
           "spmm f32 J=32 | A: i1:U k1:C i0:U k0:U [i/4 k/4] | loop: i1 k1 i0 k0 j | par: i1 static x2",
           "sddmm f32 K=64 | A: i1:U j1:U j0:C i0:C [i/8 j/16] | loop: i1 j1 j0 i0 k | par: i1 static x2",
           "spmm f32 J=32 | A: i:U k:C [clustered] | loop: i k j | par: i static x2",
           "spmv f32 | A: i1:U i0:U k:E [i/8 clustered:64 sort:64] | loop: i1 k i0 | par: i1 static x2",
           "spmv f32 | A: i1:U k:C i0:U [i/16 skewed] | loop: i1 k i0 | par: i1 static x2 | unroll 2",
           "mttkrp f32 J=16 | A: i:C k:S l:S | loop: i k l j | par: i balanced x2",
       }) {
    Folder folder;
    const RunResult compiled =
        folder.compile(codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {}),
                       {"-c", "-fopenmp"}, "kernel.o", clang);
    INFO(text << "\n" << compiled.err);
    CHECK(compiled.ok());
  }
}

TEST_CASE("standalone: a kernel emitted for one matrix passes on it", "[codegen]") {
  check_self_test(
      "spmm f32 J=32 | A: i1:U k1:C i0:U k0:U [i/3 k/4] | loop: i1 k1 i0 k0 j | par: i1 dynamic,1 x2",
      {{360, 240, 1}, 360 * 240}, 360, 240);
  check_self_test("spmv f64 | A: i1:U k:C i0:U [i/8 skewed] | loop: i1 k i0 | par: i1 balanced x2 | unroll 4",
                  {{61, 300, 1}, 61 * 300}, 61, 300);
  check_self_test("spmv f32 | A: k:U i:C | loop: k i | par: k static x2", {{61, 300, 1}, 61 * 300}, 61, 300);
}

TEST_CASE("standalone: the self-test tells of what was never written, under -ffast-math too", "[codegen]") {
  const std::string text = codegen::emit_standalone(schedule::csr_point({}, 2), codegen::any_shape(), 32, {},
                                                    codegen::KernelKind::kFixedCsr);
  const std::string plan = "static const struct waco_plan", entry = "\n    waco_kernel,";
  std::string broken = text;
  broken.replace(broken.find(entry), entry.size(), "\n    no_kernel,");
  broken.insert(broken.find(plan),
                "static int no_kernel(const struct waco_storage*, const struct waco_call*) { return 0; }\n");
  Folder folder;
  write_matrix(folder.file("input.mtx"), 50, 60, 0.1);
  for (const auto& [source, code] : {std::pair{text, 0}, std::pair{broken, 4}}) {
    const RunResult compiled =
        folder.compile(source, {"-fopenmp", "-O3", "-ffast-math", "-DWACO_SELF_TEST"}, "self_test");
    INFO(compiled.err);
    REQUIRE(compiled.ok());
    CHECK(run_process({folder.file("self_test"), folder.file("input.mtx")}).end.code == code);
  }
}

TEST_CASE("standalone: the self-test sees one product less in a long row", "[codegen]") {
  const std::string text = codegen::emit_standalone(
      schedule::parse("spmv f32 | A: i:U k:C | loop: i k | par: serial"), codegen::any_shape(), 32, {});
  const std::string plan = "static const struct waco_plan", entry = "\n    waco_kernel,";
  std::string broken = text;
  broken.replace(broken.find(entry), entry.size(), "\n    losing_kernel,");
  broken.insert(broken.find(plan), R"(
static int losing_kernel(const struct waco_storage* a, const struct waco_call* call) {
  waco_kernel(a, call);
  const int64_t last = a->num_stored - 1; /* every column is met */
  *(float*)call->out -= ((const float*)a->values)[last] * ((const float*)call->dense[0])[last];
  return 0;
}
)");
  Folder folder;
  write_matrix(folder.file("input.mtx"), 1, 20'000, 1);
  for (const auto& [source, code] : {std::pair{text, 0}, std::pair{broken, 4}}) {
    const RunResult compiled = folder.compile(source, {"-fopenmp", "-DWACO_SELF_TEST"}, "self_test");
    INFO(compiled.err);
    REQUIRE(compiled.ok());
    const RunResult run = run_process({folder.file("self_test"), folder.file("input.mtx")});
    INFO(run.out);
    CHECK(run.end.code == code);
  }
}

TEST_CASE("standalone: fixed_csr is emitted as it is measured, with coordinates of 32 bits", "[codegen]") {
  const auto point = schedule::csr_point({}, 2);
  const std::string text =
      codegen::emit_standalone(point, {{50, 60, 1}, 300}, 32, {}, codegen::KernelKind::kFixedCsr);
  CHECK(text.find("#define WACO_CRD1 int32_t\n") != std::string::npos);
  // Not -ffast-math, which a shared library hands on to its process.
  CHECK(text.find(fmt::format("g++ -std=c++17 {} -fopenmp -c ", codegen::kBaselineFlagsForUsers)) !=
        std::string::npos);
  Folder folder;
  write_matrix(folder.file("input.mtx"), 50, 70'000, 0.01);  // more columns than the one it was made for
  std::vector<std::string> flags{"-fopenmp", "-DWACO_SELF_TEST"};
  for (const std::string& flag : command_words(codegen::kBaselineFlagsForUsers)) flags.push_back(flag);
  const RunResult compiled = folder.compile(text, flags, "self_test");
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  CHECK(run_process({folder.file("self_test"), folder.file("input.mtx")}).end.code == 0);
}

TEST_CASE("standalone: a kernel takes as much fill as the matrix that it was made for has", "[codegen]") {
  const auto point = schedule::parse("spmv f32 | A: i1:U i0:U k:E [i/8] | loop: i1 k i0 | par: serial");
  codegen::OperandShape shape = codegen::any_shape();
  const auto text = [&] { return codegen::emit_standalone(point, shape, 32, {}); };
  CHECK(text().find("#define WACO_MAX_FILL 100\n") != std::string::npos);
  shape.fill = 200.3;
  CHECK(text().find("#define WACO_MAX_FILL 401\n") != std::string::npos);
  CHECK(text().find("up to 401 values stored per nonzero") != std::string::npos);
}

TEST_CASE("standalone: what needs wider positions than the kernel reads is refused before it is packed",
          "[codegen]") {
  const auto point = schedule::parse("spmv f32 | A: k1:U i:U k0:C [k/16] | loop: k1 i k0 | par: serial");
  codegen::OperandShape shape = codegen::any_shape();
  shape.num_positions_bound = 1000;
  Folder folder;
  const RunResult compiled = folder.compile(codegen::emit_standalone(point, shape, 32, {}),
                                            {"-fopenmp", "-DWACO_SELF_TEST"}, "self_test");
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  // One nonzero, and more places for positions than memory has.
  std::ofstream(folder.file("input.mtx"))
      << "%%MatrixMarket matrix coordinate real general\n4000000 4000000 1\n1 1 1\n";
  const RunResult run = run_process({folder.file("self_test"), folder.file("input.mtx")});
  INFO(run.out << run.err);
  CHECK(run.end.code == 1);
  CHECK_THAT(run.err, Catch::Contains("another shape"));
}

TEST_CASE("standalone: values at the ends of the type's range pass the self-test", "[codegen]") {
  const auto point = schedule::parse("sddmm f32 K=32 | A: i:U j:C | loop: i j k | par: serial");
  Folder folder;
  const RunResult compiled = folder.compile(codegen::emit_standalone(point, codegen::any_shape(), 32, {}),
                                            {"-fopenmp", "-DWACO_SELF_TEST"}, "self_test");
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  std::ofstream(folder.file("input.mtx")) << "%%MatrixMarket matrix coordinate real general\n4 4 5\n"
                                             "1 1 1e-39\n1 2 3e-45\n2 3 1e-70\n3 3 3.3e38\n4 4 1e300\n";
  const RunResult run = run_process({folder.file("self_test"), folder.file("input.mtx")});
  INFO(run.out << run.err);
  CHECK(run.ok());
}

TEST_CASE("standalone: the self-test reads the files that waco-tune reads", "[codegen]") {
  Folder folder;
  const std::string programs[] = {"read_matrix", "read_tensor"};
  for (const auto& [program, text] :
       {std::pair{programs[0], "spmv f64 | A: i:U k:C | loop: i k | par: serial"},
        std::pair{programs[1], "mttkrp f64 J=4 | A: i:C k:S l:S | loop: i k l j | par: serial"}}) {
    const std::string kernel = codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {});
    const RunResult compiled = folder.compile(input_printer(kernel), {"-fopenmp"}, program);
    INFO(compiled.err);
    REQUIRE(compiled.ok());
  }
  std::ofstream(folder.file("long_lines.mtx"))
      << "%%MatrixMarket matrix coordinate real general" << std::string(300, ' ') << "9 9 9\n%"
      << std::string(5000, '-') << " 9 9 9\n2 2 1\n2 1 5\n";
  std::vector<std::filesystem::path> files{folder.file("long_lines.mtx")};
  for (const auto& entry : std::filesystem::directory_iterator(WACO_TEST_DATA_DIR "/valid"))
    if (entry.path().filename() != "two_gzip_members.mtx") files.push_back(entry.path());
  for (const std::filesystem::path& file : files) {
    const matrix::SparseTensor tensor = matrix::read_tensor(file).tensor;
    const std::string& program = programs[tensor.order() - 2];
    const RunResult run = run_process({folder.file(program), file});
    INFO(file << "\n" << run.err);
    CHECK(run.out == printed(tensor));
  }
}

TEST_CASE("standalone: a split that does not divide the dimension is refused, not miscomputed", "[codegen]") {
  const auto point = schedule::parse("spmv f32 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 | par: serial");
  Folder folder;
  const RunResult compiled = folder.compile(codegen::emit_standalone(point, {{64, 64, 1}, 4096}, 32, {}),
                                            {"-fopenmp", "-DWACO_SELF_TEST"}, "self_test");
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  write_matrix(folder.file("input.mtx"), 61, 64, 0.1);
  const RunResult run = run_process({folder.file("self_test"), folder.file("input.mtx")});
  CHECK(run.end.code == 1);
  CHECK(run.err.find("another shape") != std::string::npos);
}

TEST_CASE("standalone: the documented command compiles an object that other files use", "[codegen]") {
  const Folder folder;
  std::ofstream(folder.file("kernel.cpp")) << codegen::emit_standalone(
      schedule::parse("sddmm f64 K=2 | A: i1:U j:C i0:U [i/2] | loop: i1 j i0 k | par: serial"),
      codegen::any_shape(), 32, {});
  std::ofstream(folder.file("main.c")) << R"(
#define WACO_DECLARATIONS_ONLY
#include "kernel.cpp"
int main(void) {
  const int64_t dims[] = {3, 3}, rows[] = {2, 0, 1}, columns[] = {1, 2, 0};
  const int64_t* coords[] = {rows, columns};
  const double values[] = {3, 1, 2}, others[] = {6, 1, -2};
  const double b[] = {1, 2, 3, 4, 5, 6}, c[] = {1, 1, 2, 0, 0, 3}; /* rows of B and columns of C */
  double stored[16], result[3];
  waco_handle* handle;
  const int64_t* missing[] = {rows, 0};
  if (waco_create_coo(dims, 3, missing, values, 0, 0, &handle) != 1 || handle) return 8;
  if (waco_create_coo(dims, 3, coords, values, 1000000, 0, &handle) != 1 || handle) return 11;
  const int64_t wrapping[] = {0, (int64_t)1 << 62, INT64_MIN, -((int64_t)1 << 62), 3}; /* each "more" than before */
  if (waco_create_csr(4, 3, wrapping, columns, values, 0, 0, &handle) != 1 || handle) return 12;
  if (waco_create_coo(dims, 3, coords, values, 0, 3, &handle) != WACO_UNFIT || handle) return 9;
  if (waco_create_coo(dims, 3, coords, values, 0, 2, &handle)) return 10;
  waco_destroy(handle);
  if (waco_create_coo(dims, 3, coords, values, 0, 0, &handle)) return 1;
  if (waco_num_stored(handle) != 6) return 2;
  if (waco_run(handle, b, c, stored) || waco_unpack_values(handle, stored, result)) return 3;
  if (result[0] != 3 * 10 || result[1] != 1 * 6 || result[2] != 2 * 7) return 4;
  if (waco_update_values(handle, others) || waco_run(handle, b, c, stored)) return 5;
  if (waco_unpack_values(handle, stored, result)) return 6;
  if (result[0] != 6 * 10 || result[1] != 1 * 6 || result[2] != -2 * 7) return 7;
  waco_destroy(handle);
  return 0;
}
)";
  const auto run = [&](const std::string& command) {
    const RunResult result = run_process({"sh", "-c", "cd \"$0\" && " + command, folder.file("")});
    INFO(command << "\n" << result.err);
    CHECK(result.end.code == 0);
    return result.ok();
  };
  REQUIRE(
      run("g++ -O3 -march=native -fassociative-math -fno-signed-zeros -fno-trapping-math -fopenmp -c "
          "kernel.cpp"));
  REQUIRE(run("gcc -c main.c && g++ -fopenmp main.o kernel.o -o main"));
  CHECK(run("./main"));
}

TEST_CASE("standalone: kernels live in one C program under their own prefixes", "[codegen]") {
  Folder folder;
  const auto emit = [&](const std::string& name, const char* text, std::vector<std::string> flags) {
    const std::string source = codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {});
    std::ofstream(folder.file(name + ".cpp")) << source;
    flags.insert(flags.end(), {"-fopenmp", "-c"});
    const RunResult compiled = folder.compile(source, flags, name + ".o");
    INFO(compiled.err);
    REQUIRE(compiled.ok());
  };
  emit("one", "spmv f64 | A: i:U k:C | loop: i k | par: serial", {"-DWACO_PREFIX=one_"});
  emit("two", "spmv f64 | A: i:C k:S | loop: i k | par: serial", {"-DWACO_PREFIX=two_"});
  emit("three", "spmv f64 | A: i:C k:C | loop: i k | par: serial", {});
  std::ofstream(folder.file("main.c")) << R"(
#define WACO_DECLARATIONS_ONLY
#define WACO_PREFIX one_
#include "one.cpp"
#undef WACO_PREFIX
#define WACO_PREFIX two_
#include "two.cpp"
#undef WACO_PREFIX
#include "three.cpp"
int main(void) {
  const int64_t row_ptr[] = {0, 2, 3}, col_idx[] = {2, 0, 1};
  const double values[] = {3, 1, 2}, b[] = {10, 20, 30};
  double c[2] = {0, 0}, d[2] = {0, 0}, e[2] = {0, 0};
  one_handle* one;
  two_handle* two;
  waco_handle* three;
  if (one_create_csr(2, 3, row_ptr, col_idx, values, 0, 0, &one)) return 1;
  if (two_create_csr(2, 3, row_ptr, col_idx, values, 0, 0, &two)) return 2;
  if (waco_create_csr(2, 3, row_ptr, col_idx, values, 0, 0, &three)) return 3;
  if (one_run(one, b, 0, c) || two_run(two, b, 0, d) || waco_run(three, b, 0, e)) return 4;
  one_destroy(one);
  two_destroy(two);
  waco_destroy(three);
  const int64_t bad[] = {0, 2, 1};
  if (one_create_csr(2, 3, bad, col_idx, values, 0, 0, &one) != 1 || one) return 5;
  return c[0] == 100 && c[1] == 40 && d[0] == 100 && d[1] == 40 && e[0] == 100 && e[1] == 40 ? 0 : 6;
}
)";
  const RunResult linked =
      run_process({"gcc", folder.file("main.c"), folder.file("one.o"), folder.file("two.o"),
                   folder.file("three.o"), "-fopenmp", "-o", folder.file("main")});
  INFO(linked.err);
  REQUIRE(linked.ok());
  CHECK(run_process({folder.file("main")}).end.code == 0);
}

namespace {

/// What a C++ program says that includes the whole kernel: its exit code, 0 where all of its checks hold.
int code_of_user(const Folder& folder, const char* schedule, const codegen::OperandShape& shape,
                 const char* program, const std::map<std::string, std::string>& environment = {}) {
  std::ofstream(folder.file("kernel.cpp"))
      << codegen::emit_standalone(schedule::parse(schedule), shape, 32, {});
  std::ofstream(folder.file("main.cpp")) << "#include \"kernel.cpp\"\n" << program;
  const RunResult compiled = run_process({"g++", "-std=c++17", "-O1", "-march=native", "-Wno-psabi",
                                          "-fopenmp", folder.file("main.cpp"), "-o", folder.file("main")});
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  RunOptions options;
  options.environment = environment;
  return run_process({folder.file("main")}, options).end.code;
}

}  // namespace

TEST_CASE("standalone: only results apart from each other hold a kernel to its plan's threads", "[codegen]") {
  const Folder folder;
  const char* const program = R"(
int main(void) {
  const int64_t row_ptr[] = {0, 2, 3}, col_idx[] = {2, 0, 1};
  const double values[] = {3, 1, 2}, b[] = {10, 20, 30};
  double c[2] = {0, 0};
  waco_handle* handle;
  if (waco_create_csr(2, 3, row_ptr, col_idx, values, 7, 0, &handle)) return 100;
  if (waco_run(handle, b, 0, c) || c[0] != 100 || c[1] != 40) return 101;
  const int threads = handle->threads;
  waco_destroy(handle);
  return threads;
}
)";
  CHECK(code_of_user(folder, "spmv f64 | A: i:U k:C | loop: i k | par: i balanced x2", codegen::any_shape(),
                     program) == 7);
  CHECK(code_of_user(folder, "spmv f64 | A: k:U i:C | loop: k i | par: k static x2", codegen::any_shape(),
                     program) == 2);
}

TEST_CASE("standalone: a kernel that gets fewer threads than its plan has does all its work", "[codegen]") {
  const Folder folder;
  // One row is full, so that ranges cut it. Inside a parallel region of the caller's there is one thread
  // each.
  const char* const program = R"(
#include <vector>
int main(void) {
  std::vector<int64_t> ptr(1, 0), col;
  std::vector<double> val, x(150), expected(200, 0);
  for (int k = 0; k < 150; ++k) x[k] = k % 7 + 1;
  for (int r = 0; r < 200; ++r) {
    for (int k = 0; k < 150; ++k)
      if (r == 57 || (r * 31 + k * 17) % 13 == 0) col.push_back(k), val.push_back(r % 5 + 1), expected[r] += (r % 5 + 1) * x[k];
    ptr.push_back((int64_t)col.size());
  }
  int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    waco_handle* handle;
    std::vector<double> y(200, 7);
    if (waco_create_csr(200, 150, ptr.data(), col.data(), val.data(), 0, 0, &handle) ||
        waco_run(handle, x.data(), 0, y.data()))
      ++wrong;
    for (int r = 0; r < 200; ++r) wrong += y[r] != expected[r];
    waco_destroy(handle);
  }
  return wrong != 0;
}
)";
  for (const char* schedule : {"spmv f64 | A: i:U k:C | loop: i k | par: i balanced x3",
                               "spmv f64 | A: i:U k:C | loop: i k | par: i dynamic,4 x3",
                               "spmv f64 | A: i:U k:C | loop: i k | par: i static x3",
                               "spmv f64 | A: k:U i:C | loop: k i | par: k static x3",
                               "spmv f64 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: i1 balanced x3"}) {
    INFO(schedule);
    CHECK(code_of_user(folder, schedule, codegen::any_shape(), program) == 0);
    CHECK(code_of_user(folder, schedule, codegen::any_shape(), program, {{"OMP_THREAD_LIMIT", "1"}}) == 0);
  }
}

TEST_CASE("standalone: packing that runs out of memory says so, and leaves none behind", "[codegen]") {
  const Folder folder;
  // The first, second ... allocation fails until none does. All go through posix_memalign.
  const char* const program = R"(
int main(void) {
  const int64_t row_ptr[] = {0, 2, 3, 3, 4, 5}, col_idx[] = {2, 4, 1, 0, 3};
  const double values[] = {3, 1, 2, 5, 4}, b[] = {10, 20, 30, 40, 50};
  double c[5];
  waco_handle* handle;
  int n = 0;
  for (;; ++n) {
    num_left = n;
    const int status = waco_create_csr(5, 5, row_ptr, col_idx, values, 2, 0, &handle);
    num_left = -1;
    if (status == WACO_OK) break;
    if (status != WACO_OUT_OF_MEMORY || handle || num_held != 0) return 1;
  }
  if (waco_run(handle, b, 0, c) || c[0] != 140 || c[1] != 40 || c[2] != 0 || c[3] != 50 || c[4] != 160) return 2;
  waco_destroy(handle);
  return n == 0 ? 3 : num_held != 0 ? 4 : 0;
}
)";
  const char* const counting = R"(
#include <errno.h>
#include <stdlib.h>
#include <atomic>
static std::atomic<int> num_left{-1}, num_held{0};
static int counted_memalign(void** place, size_t alignment, size_t size) {
  if (num_left >= 0 && num_left-- == 0) return ENOMEM;
  *place = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!*place) return ENOMEM;
  ++num_held;
  return 0;
}
static void* counted_calloc(size_t count, size_t size) {
  void* place = calloc(count, size);
  num_held += place != 0;
  return place;
}
static void counted_free(void* place) {
  num_held -= place != 0;
  free(place);
}
#include <algorithm>
#include <vector>
#define posix_memalign counted_memalign
#define calloc counted_calloc
#define free counted_free
)";
  for (const char* schedule :
       {"spmv f64 | A: i:U k:C | loop: i k | par: i balanced x2",
        "spmv f64 | A: i:C k:S | loop: i k | par: serial",
        "spmv f64 | A: i1:U i0:U k:L [i/2 sort:4] | loop: i1 k i0 | par: i1 static x2",
        "spmv f64 | A: i1:U k1:C i0:U k0:U [i/2 k/2] | loop: i1 k1 i0 k0 | par: i1 static x2",
        "spmv f64 | A: k:U i:C | loop: k i | par: k static x2",
        "spmv f64 | A: i1:C k1:S i0:C k0:S [i/2 k/2] | loop: i1 k1 i0 k0 | par: serial",
        "spmv f64 | A: i:U k:C [clustered] | loop: i k | par: i static x2",
        "spmv f64 | A: i1:U k:C i0:U [i/2 skewed] | loop: i1 k i0 | par: i1 static x2"}) {
    INFO(schedule);
    std::ofstream(folder.file("kernel.cpp")) << codegen::emit_standalone(
        schedule::parse(schedule),
        codegen::any_shape(std::string(schedule).find("skewed") != std::string::npos), 32, {});
    std::ofstream(folder.file("main.cpp")) << counting << "#include \"kernel.cpp\"\n" << program;
    const RunResult compiled = run_process({"g++", "-std=c++17", "-O1", "-march=native", "-Wno-psabi",
                                            "-fopenmp", folder.file("main.cpp"), "-o", folder.file("main")});
    INFO(compiled.err);
    REQUIRE(compiled.ok());
    CHECK(run_process({folder.file("main")}).end.code == 0);
  }
}

TEST_CASE("standalone: operands that a kernel is not for are refused", "[codegen]") {
  const Folder folder;
  CHECK(code_of_user(folder, "spmv f64 | A: i:U k:C | loop: i k | par: serial", {{300, 200, 1}, 1000}, R"(
int main(void) {
  const int64_t dims[] = {2, 300}, row[] = {0}, column[] = {299};
  const int64_t* coords[] = {row, column};
  const double value[] = {3};
  waco_handle* handle;
  if (waco_create_coo(dims, 1, coords, value, 0, 0, &handle) != WACO_UNFIT) return 1; /* columns in a byte */
  const int32_t row_ptr[] = {0, 1}, descending[] = {0, 2, 1}, columns[] = {1, 1};
  if (waco_create_csr32(2, 2, descending, columns, value, 0, 0, &handle) != WACO_BAD_ARGUMENT) return 2;
  if (waco_create_csr32(1, 2, row_ptr, 0, value, 0, 0, &handle) != WACO_BAD_ARGUMENT) return 3;
  if (waco_create_csr32(1, 2, row_ptr, columns, value, 0, 0, &handle)) return 4;
  double x[] = {1, 2}, y = 0;
  if (waco_run(handle, x, 0, x) != WACO_BAD_ARGUMENT) return 5; /* in place */
  if (waco_run(handle, x, x, &y) || y != 6) return 6;
  waco_destroy(handle);
  return 0;
}
)") == 0);
  // One long row makes all slices as wide: 10^9 values of one nonzero each in 40,000 rows.
  CHECK(code_of_user(folder, "spmv f64 | A: i1:U i0:U k:E [i/4] | loop: i1 k i0 | par: serial",
                     codegen::any_shape(), R"(
#include <vector>
int main(void) {
  const int64_t rows = 40000;
  std::vector<int64_t> row_ptr(1, 0), columns;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < (r == 7 ? 25000 : 1); ++c) columns.push_back(c);
    row_ptr.push_back((int64_t)columns.size());
  }
  const std::vector<double> values(columns.size(), 1);
  waco_handle* handle;
  return waco_create_csr(rows, rows, row_ptr.data(), columns.data(), values.data(), 0, 0, &handle) != WACO_UNFIT;
}
)") == 0);
}

TEST_CASE("standalone: slots of operands beyond the caches are asked for ahead, with the same results",
          "[codegen]") {
  const Folder folder;
  const char* const slots = "spmv f32 | A: i1:U i0:U k:L [i/32] | loop: i1 k i0 | par: i1 static x2";
  CHECK(code_of_user(folder, slots, codegen::any_shape(), R"(
#include <vector>
int main(void) {
  const int64_t rows = 70001, width = 9; /* 5 MB of values and coordinates */
  std::vector<int64_t> row_ptr(1, 0), columns;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < width; ++k) columns.push_back((r * 7 + k * 7919) % rows);
    row_ptr.push_back((int64_t)columns.size());
  }
  const std::vector<float> values(columns.size(), 1);
  std::vector<float> x(rows), y(rows);
  for (int64_t r = 0; r < rows; ++r) x[r] = (float)(r % 11);
  waco_handle* handle;
  if (waco_create_csr(rows, rows, row_ptr.data(), columns.data(), values.data(), 0, 1, &handle)) return 1;
  if (waco_run(handle, x.data(), 0, y.data())) return 2;
  waco_destroy(handle);
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += x[columns[r * width + k]];
    if (y[r] != sum) return 3;
  }
  return 0;
}
)") == 0);
  const std::string kernel = read_file(folder.file("kernel.cpp"));
  CHECK(kernel.find("waco_body<512>") != std::string::npos);
  CHECK(kernel.find("__builtin_prefetch((const char*)(crd2 + later)") != std::string::npos);
}

TEST_CASE("standalone: a parallel kernel does not compile without OpenMP", "[codegen]") {
  Folder folder;
  const auto compile = [&](const char* text) {
    return folder.compile(codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {}),
                          {"-c"}, "kernel.o");
  };
  const RunResult refused = compile("spmv f64 | A: i:U k:C | loop: i k | par: i balanced x2");
  CHECK_FALSE(refused.ok());
  CHECK(refused.err.find("compile it with -fopenmp") != std::string::npos);
  CHECK(compile("spmv f64 | A: i:U k:C | loop: i k | par: serial").ok());
}

TEST_CASE("standalone: libraries of two kernels keep apart in one program", "[codegen]") {
  Folder folder;
  for (const auto& [name, text] :
       {std::pair("one", "spmv f64 | A: i:U k:C | loop: i k | par: serial"),
        std::pair("two", "spmv f64 | A: i1:U i0:U k:L [i/4] | loop: i1 k i0 | par: serial")}) {
    const RunResult compiled =
        folder.compile(codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {}),
                       {"-shared", "-fPIC"}, fmt::format("{}.so", name));
    INFO(compiled.err);
    REQUIRE(compiled.ok());
  }
  std::ofstream(folder.file("main.cpp")) << R"(
#define WACO_DECLARATIONS_ONLY
#include "kernel.cpp"
#include <dlfcn.h>
int main(int, char** argv) {
  const int32_t row_ptr[] = {0, 2, 3}, col_idx[] = {2, 0, 1};
  const double values[] = {3, 1, 2}, b[] = {10, 20, 30};
  for (int n = 1; n <= 2; ++n) {
    void* library = dlopen(argv[n], RTLD_NOW | RTLD_GLOBAL);
    if (!library) return 1;
    const auto create = (decltype(&waco_create_csr32))dlsym(library, "waco_create_csr32");
    const auto run = (decltype(&waco_run))dlsym(library, "waco_run");
    waco_handle* handle;
    double c[2] = {0, 0};
    if (!create || !run || create(2, 3, row_ptr, col_idx, values, 0, 0, &handle) || run(handle, b, 0, c)) return 2;
    if (c[0] != 100 || c[1] != 40) return 3;
  }
  return 0;
}
)";
  const RunResult linked =
      run_process({"g++", "-std=c++17", folder.file("main.cpp"), "-ldl", "-o", folder.file("main")});
  INFO(linked.err);
  REQUIRE(linked.ok());
  CHECK(run_process({folder.file("main"), folder.file("one.so"), folder.file("two.so")}).end.code == 0);
}

TEST_CASE("standalone: an operand without nonzeros is multiplied with null operands", "[codegen]") {
  const Folder folder;
  const auto run = [&](const std::string& command) {
    const RunResult result = run_process({"sh", "-c", "cd \"$0\" && " + command, folder.file("")});
    INFO(command << "\n" << result.err);
    CHECK(result.end.code == 0);
    return result.ok();
  };
  std::ofstream(folder.file("main.cpp")) << R"(
#include "kernel.cpp"
int main(void) {
  const int64_t dims[] = {3, 4, 5};
  const int64_t* coords[] = {0, 0, 0};
  float out[3 * 8];
  for (int x = 0; x < 24; ++x) out[x] = 7;
  waco_handle* handle;
  if (waco_create_coo(dims, 0, coords, 0, 0, 0, &handle)) return 1;
  if (waco_run(handle, 0, 0, out)) return 2;
  for (int x = 0; x < 24; ++x)
    if (out[x] != 0) return 3;
  waco_destroy(handle);
  return 0;
}
)";
  for (const char* text : {"mttkrp f32 J=8 | A: i:U k:U l:C | loop: i k l j | par: serial",
                           "mttkrp f32 J=8 | A: k:U l:U i:C | loop: k l i j | par: serial"}) {
    std::ofstream(folder.file("kernel.cpp"))
        << codegen::emit_standalone(schedule::parse(text), codegen::any_shape(), 32, {});
    INFO(text);
    REQUIRE(run("g++ -std=c++17 -O1 -march=native -Wno-psabi -fopenmp main.cpp -o main"));
    CHECK(run("./main"));
  }
}
