// How fast matrix files are read: MB of text a second and core, and peak memory over the expanded triplets.
// read_perf [MEGABYTES] [THREADS...]; not part of ctest.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stopwatch.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/process.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
namespace fs = std::filesystem;

namespace {

struct Case {
  const char* name;
  const char* banner;
  bool by_column;  ///< as most published files are; otherwise entries are in row order
  int digits;      ///< of the values, 0: pattern
};

constexpr Case kCases[] = {
    {"real, 6 digits, by rows", "real general", false, 6},
    {"real, 17 digits, by columns", "real general", true, 17},
    {"real, 17 digits, symmetric", "real symmetric", true, 17},
    {"pattern, by columns", "pattern general", true, 0},
};

template <typename Number>
void append(std::string& text, Number number, char separator) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  text.push_back(separator);
}

void append_value(std::string& text, int num_digits, Random& random) {
  const double value = 2 * random.uniform() - 1;
  if (num_digits >= 17) return append(text, value, '\n');
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, num_digits).ptr;
  text.append(digits, end);
  text.push_back('\n');
}

/// Lines of one row or column: about 16 entries, near the diagonal and below it.
void append_lines(std::string& text, int64_t line, int64_t n, const Case& what, Random& random,
                  int64_t& count) {
  int64_t other = line;
  while (other <= n && other < line + 4000) {
    append(text, what.by_column ? other : line, ' ');
    append(text, what.by_column ? line : other, what.digits > 0 ? ' ' : '\n');
    if (what.digits > 0) append_value(text, what.digits, random);
    other += 1 + static_cast<int64_t>(random.below(500));
    ++count;
  }
}

/// Writes a matrix of about `bytes` of text.
void write_case(const fs::path& file, const Case& what, int64_t bytes) {
  constexpr size_t kHeader = 120;
  const int64_t n = std::max<int64_t>(bytes / (what.digits == 0 ? 240 : 420), 1000);
  Random random(1);
  std::ofstream stream(file, std::ios::binary);
  stream << std::string(kHeader - 1, ' ') << '\n';
  int64_t count = 0;
  int64_t written = 0;
  std::string text;
  for (int64_t line = 1; line <= n && written < bytes; ++line) {
    append_lines(text, line, n, what, random, count);
    if (text.size() < (size_t{1} << 20) && line < n) continue;
    stream << text;
    written += static_cast<int64_t>(text.size());
    text.clear();
  }
  stream << text;
  stream.seekp(0);
  const std::string header =
      fmt::format("%%MatrixMarket matrix coordinate {}\n{} {} {}", what.banner, n, n, count);
  stream << header;
  if (!stream) throw EnvironmentError(fmt::format("{}: can't be written", file.string()));
}

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Reads a file in this process and prints one line.
void measure_here(const std::string& file, int threads) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  matrix::ReadResult result;
  const double seconds = perf::seconds_of([&] { result = matrix::read_tensor(file, {threads}); });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double megabytes = static_cast<double>(fs::file_size(file)) / 1e6;
  const double triplets = 24.0 * static_cast<double>(result.tensor.num_nonzeros());
  const auto peak = static_cast<double>(usage.ru_maxrss - before.ru_maxrss) * 1024;
  const double cpu_s = cpu_seconds(usage) - cpu_seconds(before);
  fmt::print(
      "  {} threads: {:.2f} s, {:.2f} s of CPU, {:.0f} MB/s, {:.0f} MB/s per core; peak memory {:.2f} x "
      "triplets ({:.0f} "
      "MB)\n",
      threads, seconds, cpu_s, megabytes / seconds, megabytes / seconds / threads, peak / triplets,
      triplets / 1e6);
}

/// A fresh process for every measurement, so that its peak memory is its own.
void measure_apart(const fs::path& file, int threads) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const RunResult run =
      run_process({self, "--one", file.string(), std::to_string(threads)}, {.timeout_s = 600});
  fmt::print("{}{}", run.out, run.err);
  if (!run.ok()) throw EnvironmentError(fmt::format("read_perf --one: {}", run.end.describe()));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string(argv[1]) == "--one") {
      measure_here(argv[2], std::atoi(argv[3]));
      return 0;
    }
    const int64_t megabytes = argc > 1 ? std::atoll(argv[1]) : 500;
    std::vector<int> threads;
    for (int i = 2; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
    if (threads.empty()) threads = {1, 2};
    const TemporaryFolder folder("waco-read-");
    for (const Case& what : kCases) {
      const fs::path file = folder.path() / "a.mtx";
      write_case(file, what, megabytes * 1000000);
      fmt::print("{}: {:.0f} MB\n", what.name, static_cast<double>(fs::file_size(file)) / 1e6);
      for (const int count : threads) measure_apart(file, count);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "read_perf: {}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
