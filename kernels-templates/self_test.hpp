// The self-test of an emitted kernel (-DWACO_SELF_TEST): reads a matrix or tensor, packs it from coordinates
// and, as a matrix, from CSR, runs the kernel, compares every result with a double-precision reference,
// replaces the values and compares again, and prints the time.
#ifndef WACO_SELF_TEST_HPP
#define WACO_SELF_TEST_HPP

#include <algorithm>
#include <cctype>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "standalone.hpp"

namespace waco_self_test {

/* Sorted by row, column (, third mode); no coordinate twice. */
struct Input {
  int64_t dim[3] = {0, 0, 1};
  std::vector<int64_t> coord[3];
  std::vector<waco_value> value;
  int64_t size() const { return (int64_t)value.size(); }
};

struct Entry {
  int64_t at[3];
  double value;
};

[[noreturn]] inline void fail(int code, const std::string& message) {
  fprintf(stderr, "self-test: %s\n", message.c_str());
  exit(code);
}

constexpr char blanks[] = " \t\r";

/* The next line, however long, that is neither blank nor a comment, or false at the end. */
inline bool next_line(std::istream& file, std::string& line, const char* comments = "%#") {
  while (std::getline(file, line)) {
    const size_t first = line.find_first_not_of(blanks);
    if (first != std::string::npos && !strchr(comments, line[first])) return true;
  }
  return false;
}

/* The value at `text`, as C or Fortran writes it (1e3, 1D3, 1.0-100); `text` moves behind it. */
inline bool read_value(const char*& text, double& value) {
  text += strspn(text, blanks);
  std::string word(text, strcspn(text, blanks));
  text += word.size();
  char* end = nullptr;
  value = strtod(word.c_str(), &end);
  if (*end) {
    std::replace_if(
        word.begin(), word.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
    const size_t sign = word.find_first_of("+-", word.find('.'));
    if (sign != std::string::npos && strchr("0123456789.", word[sign - 1])) word.insert(sign, 1, 'e');
    value = strtod(word.c_str(), &end);
  }
  return !word.empty() && !*end;
}

inline Entry read_entry(const std::string& line, int order, bool has_value) {
  Entry e = {};
  const char* text = line.c_str();
  bool ok = true;
  for (int m = 0; m < order; ++m) {
    char* end = nullptr;
    e.at[m] = strtoll(text, &end, 10) - 1;
    ok = ok && end != text && strchr(blanks, *end) && e.at[m] >= 0;
    text = end;
  }
  e.value = 1.0;
  if (has_value) ok = ok && read_value(text, e.value);
  if (!ok || text[strspn(text, blanks)]) fail(3, "this line is no entry of the operand: " + line);
  return e;
}

/* Matrix Market, after its banner: size line, then entries; symmetric halves are expanded. */
inline std::vector<Entry> read_matrix_market(std::istream& file, const std::string& banner, Input& input) {
  const auto has = [&](const char* word) { return banner.find(word) != std::string::npos; };
  if (!has("coordinate") || has("complex") || has("hermitian"))
    fail(3, "only real coordinate matrices are read");
  const bool skew = has("skew-symmetric"), mirrored = has("symmetric"), has_value = !has("pattern");
  std::string line;
  long long rows = 0, cols = 0, count = 0;
  if (!next_line(file, line) || sscanf(line.c_str(), "%lld %lld %lld", &rows, &cols, &count) != 3)
    fail(3, "the size line is missing");
  if (rows < 0 || cols < 0 || count < 0) fail(3, "the size line holds a negative number");
  input.dim[0] = rows;
  input.dim[1] = cols;
  std::vector<Entry> entries;
  for (long long n = 0; n < count; ++n) {
    if (!next_line(file, line)) fail(3, "the file ends too early");
    const Entry e = read_entry(line, 2, has_value);
    if (e.at[0] >= rows || e.at[1] >= cols) fail(3, "index out of range: " + line);
    entries.push_back(e);
    if (mirrored && e.at[0] != e.at[1]) entries.push_back({{e.at[1], e.at[0], 0}, skew ? -e.value : e.value});
  }
  return entries;
}

/* FROSTT: every line the 1-based coordinates and a value; a dimension is its largest coordinate. */
inline std::vector<Entry> read_frostt(std::istream& file, std::string line, Input& input) {
  std::vector<Entry> entries;
  do {
    const Entry e = read_entry(line, WACO_PLAN_OP == WACO_MTTKRP ? 3 : 2, true);
    for (int m = 0; m < 3; ++m) input.dim[m] = std::max(input.dim[m], e.at[m] + 1);
    entries.push_back(e);
  } while (next_line(file, line));
  return entries;
}

inline void sort_and_merge(std::vector<Entry>& entries, Input& input) {
  const auto before = [](const Entry& a, const Entry& b) {
    return std::lexicographical_compare(a.at, a.at + 3, b.at, b.at + 3);
  };
  std::stable_sort(entries.begin(), entries.end(), before);
  for (size_t n = 0; n < entries.size(); ++n) {
    if (n > 0 && !before(entries[n - 1], entries[n])) {
      input.value.back() += (waco_value)entries[n].value;
      continue;
    }
    for (int m = 0; m < 3; ++m) input.coord[m].push_back(entries[n].at[m]);
    input.value.push_back((waco_value)entries[n].value);
  }
}

inline Input read(const char* path) {
  std::ifstream file(path);
  if (!file) fail(3, std::string(path) + ": cannot be opened");
  if (file.peek() == 0xef) file.ignore(3); /* a byte order mark */
  std::string line;
  if (!next_line(file, line, "#")) fail(3, std::string(path) + ": has no entries");
  for (char& c : line) c = (char)tolower((unsigned char)c);
  const bool is_banner = line.compare(0, 14, "%%matrixmarket") == 0;
  const bool is_entry = isdigit((unsigned char)line[line.find_first_not_of(blanks)]);
  if (is_banner ? WACO_PLAN_OP == WACO_MTTKRP : !is_entry)
    fail(3, std::string(path) + ": wrong kind of file for this operation");
  Input input;
  std::vector<Entry> entries =
      is_banner ? read_matrix_market(file, line, input) : read_frostt(file, line, input);
  sort_and_merge(entries, input);
  return input;
}

/* Values in [-1, 1], the same at every run. */
inline std::vector<waco_value> random_values(int64_t count, uint64_t seed) {
  std::vector<waco_value> values((size_t)count);
  for (waco_value& v : values) {
    uint64_t z = (seed += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    v = (waco_value)((double)((z ^ (z >> 31)) >> 11) * 0x1.0p-52 - 1.0);
  }
  return values;
}

struct Dense {
  std::vector<waco_value> b, c;
};

inline Dense dense_operands(const Input& in, int64_t rhs) {
  const int b_mode = WACO_PLAN_OP == WACO_SDDMM ? 0 : 1, c_mode = WACO_PLAN_OP == WACO_SDDMM ? 1 : 2;
  const bool two = WACO_PLAN_OP == WACO_SDDMM || WACO_PLAN_OP == WACO_MTTKRP;
  return {random_values(in.dim[b_mode] * rhs, 1), random_values(two ? in.dim[c_mode] * rhs : 0, 2)};
}

/* By its bits: some kernels are compiled with -ffast-math, under which no comparison knows of NaN. */
inline bool is_finite(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits >> 52 & 0x7ff) != 0x7ff;
}

/* A sum with what its error is measured against. */
struct Sum {
  double value = 0, magnitude = 0, largest = 0;
  int64_t terms = 0;
  void add(double x) {
    value += x;
    magnitude += std::fabs(x);
    largest = std::max(largest, std::fabs(x));
    ++terms;
  }
  /* Error in units of what rounding, whose errors mostly cancel, and products too small for the type allow:
     at most 1 is right; not a number is wrong, unless what is added up is too large for the type. */
  double excess(double got) const {
    constexpr bool is_float = sizeof(waco_value) == 4;
    constexpr double epsilon = is_float ? FLT_EPSILON : DBL_EPSILON, smallest = is_float ? FLT_MIN : DBL_MIN;
    if (!is_finite(magnitude) || magnitude > (is_float ? FLT_MAX : DBL_MAX) / 4) return 0;
    const double norm = std::sqrt(largest) * std::sqrt(magnitude); /* at least the products' 2-norm */
    const double bound =
        (double)terms * smallest + 4 * epsilon * (std::sqrt((double)terms) + 8) * (std::fabs(value) + norm);
    const double error = std::fabs(got - value);
    if (!is_finite(error)) return DBL_MAX;
    return error == 0 ? 0 : bound > 0 ? error / bound : DBL_MAX;
  }
};

inline double excess_of_nonzero(const Input& in, const Dense& d, int64_t rhs, int64_t n, double got) {
  Sum sum;
  for (int64_t k = 0; k < rhs; ++k)
    sum.add((double)in.value[n] * d.b[in.coord[0][n] * rhs + k] * d.c[in.coord[1][n] * rhs + k]);
  return sum.excess(got);
}

/* One row of a dense result: nonzeros [begin, end). */
inline double excess_of_row(const Input& in, const Dense& d, int64_t rhs, int64_t begin, int64_t end,
                            const waco_value* got) {
  double worst = 0;
  for (int64_t j = 0; j < rhs; ++j) {
    Sum sum;
    for (int64_t n = begin; n < end; ++n) {
      double x = (double)in.value[n] * d.b[in.coord[1][n] * rhs + j];
      if (WACO_PLAN_OP == WACO_MTTKRP) x *= d.c[in.coord[2][n] * rhs + j];
      sum.add(x);
    }
    worst = std::max(worst, sum.excess((double)got[j]));
  }
  return worst;
}

/* [rows + 1] first nonzeros of the rows. */
inline std::vector<int64_t> row_pointers(const Input& in) {
  std::vector<int64_t> row_ptr((size_t)in.dim[0] + 1, 0);
  for (int64_t n = 0; n < in.size(); ++n) ++row_ptr[in.coord[0][n] + 1];
  for (int64_t r = 0; r < in.dim[0]; ++r) row_ptr[r + 1] += row_ptr[r];
  return row_ptr;
}

inline bool fits_32_bits(const Input& in) {
  return in.size() <= INT32_MAX && in.dim[1] <= INT32_MAX;
}

/* Worst error over the whole result, in units of the bound; `out` in the order of the input for sddmm. */
inline double check(const Input& in, const Dense& d, int64_t rhs, const waco_value* out) {
  double worst = 0;
  if (WACO_PLAN_OP == WACO_SDDMM) {
#pragma omp parallel for reduction(max : worst)
    for (int64_t n = 0; n < in.size(); ++n)
      worst = std::max(worst, excess_of_nonzero(in, d, rhs, n, (double)out[n]));
    return worst;
  }
  const std::vector<int64_t> row_ptr = row_pointers(in);
#pragma omp parallel for schedule(dynamic, 64) reduction(max : worst)
  for (int64_t r = 0; r < in.dim[0]; ++r)
    worst = std::max(worst, excess_of_row(in, d, rhs, row_ptr[r], row_ptr[r + 1], &out[r * rhs]));
  return worst;
}

/* All bits set is not a number: what is never written shows. */
inline void poison(waco_value* values, size_t count) {
  if (count > 0) memset(values, 0xff, count * sizeof(waco_value));
}

constexpr size_t alignment = 64, shifts = alignment / sizeof(waco_value);

struct Run {
  waco_handle* handle = nullptr;
  std::vector<waco_value> space, unpacked;
  size_t size = 0; /* of a result */

  /* Where a result goes, `shift` values behind an aligned place: others store it otherwise. */
  waco_value* out(size_t shift = 0) {
    const size_t begin = alignment - (uintptr_t)space.data() % alignment;
    return space.data() + begin / sizeof(waco_value) + shift;
  }
  void once(const Dense& d, size_t shift = 0) {
    const int status = waco_run(handle, d.b.data(), d.c.data(), out(shift));
    if (status != WACO_OK) fail(1, "waco_run returned " + std::to_string(status));
  }
  const waco_value* result(const Input& in, size_t shift) {
    if (WACO_PLAN_OP != WACO_SDDMM) return out(shift);
    unpacked.resize((size_t)in.size());
    poison(unpacked.data(), unpacked.size());
    waco_unpack_values(handle, out(shift), unpacked.data());
    return unpacked.data();
  }
};

inline double median_ns(Run& run, const Dense& dense) {
  using clock = std::chrono::steady_clock;
  std::vector<double> samples;
  const clock::time_point begin = clock::now();
  while (samples.size() < 7 ||
         (samples.size() < 101 && clock::now() - begin < std::chrono::milliseconds(500))) {
    const clock::time_point start = clock::now();
    run.once(dense);
    samples.push_back(
        (double)std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now() - start).count());
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

inline void compare(const char* what, const Input& in, const Dense& dense, int64_t rhs, Run& run) {
  double worst = 0;
  for (const size_t shift : {size_t(0), size_t(1)}) {
    poison(run.out(shift), run.size);
    run.once(dense, shift);
    worst = std::max(worst, check(in, dense, rhs, run.result(in, shift)));
  }
  printf("self-test: %s: worst error %.3g of what rounding allows\n", what, worst);
  if (!(worst <= 1.0)) fail(4, std::string(what) + ": the result is wrong");
}

inline int number_of_threads(const char* text) {
  char* end = nullptr;
  const long number = strtol(text, &end, 10);
  if (end == text || *end != 0 || number < 1 || number > WACO_MAX_THREADS)
    fail(2, std::string(text) + " is no number of threads, from 1 to " + std::to_string(WACO_MAX_THREADS));
  return (int)number;
}

enum class Way { coordinates, csr, csr32 };

/* Packs the input as it is given in one of these ways; tensors are in coordinates. */
inline Run packed(const Input& in, Way way, int threads, int64_t rhs) {
  Run run;
  int status = WACO_OK;
  if (way == Way::csr) {
    const std::vector<int64_t> row_ptr = row_pointers(in);
    status = waco_create_csr(in.dim[0], in.dim[1], row_ptr.data(), in.coord[1].data(), in.value.data(),
                             threads, rhs, &run.handle);
  } else if (way == Way::csr32) {
    const std::vector<int64_t> wide = row_pointers(in);
    const std::vector<int32_t> row_ptr(wide.begin(), wide.end()),
        col_idx(in.coord[1].begin(), in.coord[1].end());
    status = waco_create_csr32(in.dim[0], in.dim[1], row_ptr.data(), col_idx.data(), in.value.data(), threads,
                               rhs, &run.handle);
  } else {
    const int64_t* const coords[3] = {in.coord[0].data(), in.coord[1].data(), in.coord[2].data()};
    status = waco_create_coo(in.dim, in.size(), coords, in.value.data(), threads, rhs, &run.handle);
  }
  if (status == WACO_UNFIT)
    fail(1, "this kernel was made for operands of another shape: emit one for this matrix");
  if (status != WACO_OK) fail(1, "packing failed with status " + std::to_string(status));
  run.size = (size_t)(WACO_PLAN_OP == WACO_SDDMM ? waco_num_stored(run.handle) : in.dim[0] * rhs);
  run.space.resize(run.size + 2 * shifts);
  return run;
}

inline int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) fail(2, std::string("usage: ") + argv[0] + " MATRIX.mtx|TENSOR.tns [THREADS]");
  const int threads = argc == 3 ? number_of_threads(argv[2]) : 0;
  const int64_t rhs = WACO_PLAN_RHS;
  Input in = read(argv[1]);
  const Dense dense = dense_operands(in, rhs);
  Run run = packed(in, Way::coordinates, threads, rhs);

  printf("self-test: %s\n", WACO_PLAN_TEXT);
  printf("self-test: %lld x %lld", (long long)in.dim[0], (long long)in.dim[1]);
  if (WACO_PLAN_OP == WACO_MTTKRP) printf(" x %lld", (long long)in.dim[2]);
  printf(", %lld nonzeros, %lld stored\n", (long long)in.size(), (long long)waco_num_stored(run.handle));
  compare("result", in, dense, rhs, run);
  for (const Way way : {Way::csr, Way::csr32}) {
    if (WACO_PLAN_OP == WACO_MTTKRP || (way == Way::csr32 && !fits_32_bits(in))) continue;
    waco_destroy(run.handle);
    run = packed(in, way, threads, rhs);
    compare(way == Way::csr ? "result of the matrix as CSR" : "result of CSR with 32-bit indices", in, dense,
            rhs, run);
  }
  in.value = random_values(in.size(), 3);
  waco_update_values(run.handle, in.value.data());
  compare("result after replacing the values", in, dense, rhs, run);
  printf("self-test: passed, median %.3f us a call\n", median_ns(run, dense) * 1e-3);
  waco_destroy(run.handle);
  return 0;
}

}  // namespace waco_self_test

int main(int argc, char** argv) {
  try {
    return waco_self_test::main(argc, argv);
  } catch (const std::bad_alloc&) {
    waco_self_test::fail(1, "out of memory");
  } catch (const std::length_error&) {
    waco_self_test::fail(1, "out of memory");
  }
}

#endif
