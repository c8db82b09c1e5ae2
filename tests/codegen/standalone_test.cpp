// Emitted files are compiled alone by the system's compiler and judged by their own self-test.
#include "waco/codegen/standalone.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "../matrix/write.hpp"
#include "standalone_folder.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/process.hpp"
#include "waco/base/random.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using codegen::testing::Folder;

namespace {

/// A small matrix in a Matrix Market file.
void write_matrix(const std::filesystem::path& file, int rows, int cols, double density) {
  Random random(7);
  matrix::SparseTensor tensor;
  tensor.dims = {rows, cols};
  tensor.coords.resize(2);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) {
      if (!random.chance(density)) continue;
      tensor.coords[0].push_back(r);
      tensor.coords[1].push_back(c);
      tensor.values.push_back(random.uniform() - 0.5);
    }
  matrix::write_matrix_market(tensor, file);
}

void write_tensor(const std::filesystem::path& file) {
  Random random(8);
  matrix::SparseTensor tensor;
  tensor.dims = {19, 13, 7};
  tensor.coords.resize(3);
  for (int i = 0; i < 19; ++i)
    for (int k = 0; k < 13; ++k)
      for (int l = 0; l < 7; ++l) {
        if (!random.chance(0.1)) continue;
        tensor.coords[0].push_back(i);
        tensor.coords[1].push_back(k);
        tensor.coords[2].push_back(l);
        tensor.values.push_back(random.uniform());
      }
  matrix::write_frostt(tensor, file);
}

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
