// Emitted files in programs that call their kernels: what is documented for users, and what they may do
// wrong.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "standalone_folder.hpp"
#include "waco/base/files.hpp"
#include "waco/base/process.hpp"
#include "waco/codegen/standalone.hpp"

using namespace waco;
using codegen::testing::Folder;

namespace {

/// The compilers' command lines of README.md.
std::vector<std::string> documented_commands() {
  const std::string indent(4, ' ');
  std::istringstream readme(read_file(WACO_TEST_DATA_DIR "/../../README.md"));
  std::vector<std::string> commands;
  for (std::string line; std::getline(readme, line);)
    if (line.starts_with(indent + "g++ -std=c++17")) commands.push_back(line.substr(indent.size()));
  return commands;
}

/// Whether a shell runs the command in the folder without an error, as it should.
bool succeeds(const Folder& folder, const std::string& command) {
  const RunResult result = run_process({"sh", "-c", "cd \"$0\" && " + command, folder.file("")});
  INFO(command << "\n" << result.err);
  CHECK(result.end.code == 0);
  return result.ok();
}

struct UserOptions {
  std::vector<std::string> flags = {};                  ///< of the compiler
  std::map<std::string, std::string> environment = {};  ///< of the program
};

/// What a C++ program says that includes the whole kernel: its exit code, 0 where all of its checks hold.
int code_of_user(const Folder& folder, const char* schedule, const codegen::OperandShape& shape,
                 const char* program, const UserOptions& user = {}) {
  std::ofstream(folder.file("kernel.cpp"))
      << codegen::emit_standalone(schedule::parse(schedule), shape, 32, {});
  std::ofstream(folder.file("main.cpp")) << "#include \"kernel.cpp\"\n" << program;
  std::vector<std::string> arguments{
      "g++", "-std=c++17",       "-O1", "-march=native", "-Wno-psabi", "-fopenmp", folder.file("main.cpp"),
      "-o",  folder.file("main")};
  arguments.insert(arguments.end(), user.flags.begin(), user.flags.end());
  const RunResult compiled = run_process(arguments);
  INFO(compiled.err);
  REQUIRE(compiled.ok());
  RunOptions options;
  options.environment = user.environment;
  return run_process({folder.file("main")}, options).end.code;
}

}  // namespace

TEST_CASE("standalone: the documented commands compile what other programs use", "[codegen]") {
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
  std::ofstream(folder.file("load.cpp")) << R"(
#define WACO_DECLARATIONS_ONLY
#include "kernel.cpp"
#include <dlfcn.h>
#include <string.h>
int main(void) {
  void* library = dlopen("./libkernel.so", RTLD_NOW);
  if (!library) return 1;
  const auto create = (decltype(&waco_create_coo))dlsym(library, "waco_create_coo");
  const auto run = (decltype(&waco_run))dlsym(library, "waco_run");
  const auto unpack = (decltype(&waco_unpack_values))dlsym(library, "waco_unpack_values");
  const auto destroy = (decltype(&waco_destroy))dlsym(library, "waco_destroy");
  const auto plan_text = (decltype(&waco_plan_text))dlsym(library, "waco_plan_text");
  if (!create || !run || !unpack || !destroy || !plan_text) return 2;
  if (strncmp(plan_text(), "sddmm f64 K=2 | A: ", 19) != 0) return 6;
  const int64_t dims[] = {3, 3}, rows[] = {2, 0, 1}, columns[] = {1, 2, 0};
  const int64_t* coords[] = {rows, columns};
  const double values[] = {3, 1, 2}, b[] = {1, 2, 3, 4, 5, 6}, c[] = {1, 1, 2, 0, 0, 3};
  double stored[16], result[3];
  waco_handle* handle;
  if (create(dims, 3, coords, values, 0, 2, &handle)) return 3;
  if (run(handle, b, c, stored) || unpack(handle, stored, result)) return 4;
  if (unpack(handle, stored, stored) != 1) return 7; /* they would overlap */
  destroy(handle);
  dlclose(library);
  return result[0] == 3 * 10 && result[1] == 1 * 6 && result[2] == 2 * 7 ? 0 : 5;
}
)";
  const std::vector<std::string> commands = documented_commands();
  REQUIRE(commands.size() == 2);  // of an object and of a library
  for (const std::string& command : commands) REQUIRE(succeeds(folder, command));
  REQUIRE(succeeds(folder, "gcc -c main.c && g++ -fopenmp main.o kernel.o -o main"));
  CHECK(succeeds(folder, "./main"));
  REQUIRE(succeeds(folder, "g++ -std=c++17 load.cpp -ldl -o load"));
  CHECK(succeeds(folder, "./load"));
  const auto library = std::ranges::find_if(
      commands, [](const std::string& command) { return command.find(" -shared ") != std::string::npos; });
  REQUIRE(library != commands.end());
  REQUIRE(succeeds(folder, *library + " -fvisibility=hidden"));
  CHECK(succeeds(folder, "./load"));
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
    CHECK(code_of_user(folder, schedule, codegen::any_shape(), program,
                       {.environment = {{"OMP_THREAD_LIMIT", "1"}}}) == 0);
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
    REQUIRE(succeeds(folder, "g++ -std=c++17 -O1 -march=native -Wno-psabi -fopenmp main.cpp -o main"));
    CHECK(succeeds(folder, "./main"));
  }
}

TEST_CASE("standalone: several threads share a handle of a kernel without working memory", "[codegen]") {
  const Folder folder;
  const char* const schedule = "spmv f64 | A: i:U k:C | loop: i k | par: i dynamic,4 x2";
  CHECK(code_of_user(folder, schedule, codegen::any_shape(), R"(
#include <thread>
#include <vector>
int main(void) {
  const int64_t rows = 500, cols = 300;
  std::vector<int64_t> ptr(1, 0), col;
  std::vector<double> val;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < cols; ++k)
      if ((r * 31 + k * 17) % 13 == 0) col.push_back(k), val.push_back((double)(r % 5 + 1));
    ptr.push_back((int64_t)col.size());
  }
  waco_handle* handle;
  if (waco_create_csr(rows, cols, ptr.data(), col.data(), val.data(), 0, 0, &handle)) return 1;
  const int num_callers = 4;
  std::vector<int> wrong(num_callers, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < num_callers; ++caller)
    callers.emplace_back([&, caller] {
      std::vector<double> x(cols), y(rows);
      for (int call = 0; call < 50; ++call) {
        for (int64_t k = 0; k < cols; ++k) x[k] = (double)((k * (caller + 2) + call) % 11);
        if (waco_run(handle, x.data(), 0, y.data())) ++wrong[caller];
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0;
          for (int64_t p = ptr[r]; p < ptr[r + 1]; ++p) sum += val[p] * x[col[p]];
          wrong[caller] += y[r] != sum;
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  waco_destroy(handle);
  for (const int n : wrong)
    if (n != 0) return 2;
  return 0;
}
)") == 0);
}

TEST_CASE("standalone: the header says how many calls a handle serves, and whether zeros are stored",
          "[codegen]") {
  const auto header = [](const char* schedule) {
    const std::string kernel =
        codegen::emit_standalone(schedule::parse(schedule), codegen::any_shape(), 32, {});
    return kernel.substr(0, kernel.find("*/"));
  };
  const std::string many = "\n   calls     any number at a time", one = "\n   calls     one at a time",
                    zeros = "\n   zeros     stores some";
  const std::string rows = header("spmv f64 | A: i:U k:C | loop: i k | par: i dynamic,4 x2");
  CHECK_THAT(rows, Catch::Contains(many) && !Catch::Contains(zeros));
  // The ends of rows that ranges cut, and results of each thread.
  CHECK_THAT(header("spmv f64 | A: i:U k:C | loop: i k | par: i balanced x2"), Catch::Contains(one));
  CHECK_THAT(header("spmv f64 | A: k:U i:C | loop: k i | par: k static x2"), Catch::Contains(one));
  const std::string blocks = header("spmv f64 | A: i1:U k:C i0:U [i/4] | loop: i1 k i0 | par: serial");
  CHECK_THAT(blocks, Catch::Contains(many) && Catch::Contains(zeros));
  CHECK_THAT(header("spmv f64 | A: i1:U i0:U k:L [i/8] | loop: i1 k i0 | par: serial"),
             Catch::Contains(zeros));
}

TEST_CASE("standalone: WACO_MAX_FILL sets how much fill a kernel takes", "[codegen]") {
  const Folder folder;
  // Each column stores all rows, of 272 MB: 68 and 136 values a nonzero.
  const char* const program = R"(
#include <vector>
int status_of(int64_t rows_used) {
  const int64_t rows = 68000, cols = 1000;
  std::vector<int64_t> row_ptr(1, 0), columns;
  for (int64_t r = 0; r < rows; ++r) {
    if (r < rows_used)
      for (int64_t c = 0; c < cols; ++c) columns.push_back(c);
    row_ptr.push_back((int64_t)columns.size());
  }
  const std::vector<float> values(columns.size(), 1);
  waco_handle* handle;
  const int status = waco_create_csr(rows, cols, row_ptr.data(), columns.data(), values.data(), 0, 0, &handle);
  if (status == WACO_OK) waco_destroy(handle);
  return status;
}
int main(void) { return 10 * status_of(1000) + status_of(500); }
)";
  const char* const schedule = "spmv f32 | A: k:C i:U | loop: k i | par: serial";
  const int ok = 0, unfit = 3;
  const auto code = [&](const std::vector<std::string>& flags) {
    return code_of_user(folder, schedule, codegen::any_shape(), program, {.flags = flags});
  };
  CHECK(code({}) == 10 * ok + unfit);  // 100
  CHECK(code({"-DWACO_MAX_FILL=1"}) == 10 * unfit + unfit);
  CHECK(code({"-DWACO_MAX_FILL=1000"}) == 10 * ok + ok);
}
