// Ceilings: interpolation, the cache file, and that numbers are measured.
#include "waco/model/ceilings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "../scoped_variable.hpp"
#include "waco/base/buffer.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/model/probe.hpp"

namespace fs = std::filesystem;
using namespace waco::model;

namespace {

fs::path only_file(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  return files[0];
}

}  // namespace

TEST_CASE("ceilings: a rate between two points is interpolated on a logarithmic scale", "[model]") {
  const RateCurve curve{{{1e3, 4.0}, {1e5, 1.0}}};
  CHECK(curve.at(10) == 4.0);
  CHECK(curve.at(1e4) == Approx(2.0));
  CHECK(curve.at(1e9) == 1.0);
}

TEST_CASE("ceilings: JSON gives back the same numbers", "[model]") {
  const Ceilings c = default_ceilings(4);
  const Ceilings back = ceilings_from_json(to_json(c));
  CHECK(to_json(back) == to_json(c));
  CHECK(back.threads == 4);
  // No limit is null, and was a number of 64 bits, which tools that count in double precision round up.
  nlohmann::json old = to_json(c);
  CHECK(old["levels"][3]["capacity_bytes"].is_null());
  for (const char* limit : {"9223372036854775807", "9223372036854776000", "9.223372036854776e18"}) {
    old["levels"][3]["capacity_bytes"] = nlohmann::json::parse(limit);
    CHECK(to_json(ceilings_from_json(old)) == to_json(c));
  }
  const auto refuses = [&](const std::function<void(nlohmann::json&)>& edit) {
    nlohmann::json json = to_json(c);
    edit(json);
    INFO(json);
    CHECK_THROWS_AS(ceilings_from_json(json), waco::UsageError);
  };
  refuses([](auto& json) { json["vector_bytes"] = -64; });
  refuses([](auto& json) { json["threads"] = 0; });
  refuses([](auto& json) { json["fma_f32_gflops"] = {0, 0}; });
  refuses([](auto& json) { json["levels"][2]["read_all_gb_per_s"] = -1; });
  refuses([](auto& json) { json["gather_all"] = nlohmann::json::array(); });
}

TEST_CASE("ceilings: the second run reads what the first one measured", "[model]") {
  const waco::TemporaryFolder folder;
  const Ceilings first = load_or_measure_ceilings(2, folder.path());
  REQUIRE(first.measured);
  auto json = nlohmann::json::parse(waco::read_file(only_file(folder.path())));
  json["region_ns"] = 12345.0;
  std::ofstream(only_file(folder.path())) << json.dump();
  CHECK(load_or_measure_ceilings(2, folder.path()).region_ns == 12345.0);
}

TEST_CASE("ceilings: those of threads that shared CPUs are not those of as many with a CPU each", "[model]") {
  const waco::TemporaryFolder folder;
  const int threads = waco::usable_threads();
  if (threads < 2) {
    SUCCEED("left out: there is only one CPU");
    return;
  }
  load_or_measure_ceilings(threads, folder.path());
  {
    const waco::ScopedVariable fewer("OMP_NUM_THREADS", "1");
    CHECK_FALSE(load_ceilings(threads, folder.path()).measured);
  }
  CHECK(load_ceilings(threads, folder.path()).measured);
}

TEST_CASE("ceilings: what was disturbed is measured again after ten minutes, and waits are told apart",
          "[model]") {
  const waco::TemporaryFolder folder;
  Ceilings c = load_or_measure_ceilings(2, folder.path());
  const fs::path file = only_file(folder.path());
  auto json = nlohmann::json::parse(waco::read_file(file));
  json["disturbed"] = true;
  json["region_ns"] = 12345.0;
  std::ofstream(file) << json.dump();
  CHECK(load_ceilings(2, folder.path()).region_ns == 12345.0);
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(load_ceilings(2, folder.path()).region_ns != 12345.0);
  json.erase("disturbed");
  std::ofstream(file) << json.dump();
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(load_ceilings(2, folder.path()).region_ns == 12345.0);

  const waco::ScopedVariable waiting("OMP_WAIT_POLICY", "passive");
  CHECK_FALSE(load_ceilings(2, folder.path()).measured);
}

TEST_CASE("ceilings: a torn or foreign file is measured again and replaced", "[model]") {
  const waco::TemporaryFolder folder;
  load_or_measure_ceilings(1, folder.path());
  const fs::path file = only_file(folder.path());
  for (const char* text : {"{\"format\": \"waco-cei", "{\"format\": \"other\", \"version\": 1}"}) {
    std::ofstream(file) << text;
    CHECK(load_or_measure_ceilings(1, folder.path()).measured);
    std::ifstream replaced(file);
    CHECK(nlohmann::json::parse(replaced).at("format") == "waco-ceilings");
  }
}

TEST_CASE("ceilings: an unwritable cache folder, or none, only means no cache", "[model]") {
  CHECK(load_or_measure_ceilings(1, {}).measured);
  CHECK(load_or_measure_ceilings(1, "/proc/no-such-folder").measured);
}

TEST_CASE("ceilings: what is measured takes the place of the defaults, and is plausible", "[model][timing]") {
  const Ceilings c = measure_ceilings(2), defaults = default_ceilings(2);
  REQUIRE(c.measured);
  CHECK_FALSE(defaults.measured);
  for (const size_t level : {size_t{0}, size_t{1}}) {  // small enough for every machine's memory
    CHECK(c.levels[level].read_one != defaults.levels[level].read_one);
    CHECK(c.levels[level].read_all != defaults.levels[level].read_all);
  }
  for (const bool f64 : {false, true})
    for (const int threads : {1, 2}) CHECK(c.fma(f64, threads) != defaults.fma(f64, threads));
  CHECK(c.gather(1e4, 1) != defaults.gather(1e4, 1));
  CHECK(c.region_ns != defaults.region_ns);
  CHECK(c.grab_ns != defaults.grab_ns);
  CHECK(c.short_loop_ns != defaults.short_loop_ns);
  for (size_t level = 1; level < kNumMemoryLevels; level++)
    CHECK(c.levels[level].capacity_bytes > c.levels[level - 1].capacity_bytes);
  // Cores have their arithmetic to themselves, whatever else the machine did meanwhile.
  for (const bool f64 : {false, true}) CHECK(c.fma(f64, 2) >= 0.89 * waco::num_cores(2) * c.fma(f64, 1));
  // What any processor of these years does, with sanitizers, too.
  const auto is_plausible = [](double rate, double least, double most) {
    return rate > least && rate < most;
  };
  CHECK(is_plausible(c.levels[0].read_one, 1, 2000));
  CHECK(is_plausible(c.levels[kNumMemoryLevels - 1].read_one, 0.1, 500));
  CHECK(is_plausible(c.fma(false, 1), 0.2, 2000));
  CHECK(is_plausible(c.stream(1), 0.1, 500));
  CHECK(is_plausible(c.gather(1e4, 1), 0.01, 50));
  CHECK(is_plausible(c.region_ns, 1, 1e5));
}

// Unlike the ceilings, of which an inner level is never slower than an outer one, whatever was found.
TEST_CASE("ceilings: the probes tell the nearest cache from memory", "[model][timing]") {
  const int64_t near = 16 << 10, far = 256 << 20;
  if (waco::available_memory_bytes() < 4 * far) {
    SUCCEED("left out: there is too little memory");
    return;
  }
#if defined(__SANITIZE_ADDRESS__)  // whose checks take longer than what a cache does
  const double times = 1;
#else
  const double times = 2;
#endif
  CHECK(probe_read(near, 1) > times * probe_read(far, 1));
  const waco::Buffer array(static_cast<size_t>(far));
  std::fill_n(array.as<char>(), far, 0);
  CHECK(probe_gather(array.as<const float>(), near, 1) >
        times * probe_gather(array.as<const float>(), far, 1));
}

TEST_CASE("ceilings: probes stay in their level and out of the one before it", "[model]") {
  struct Server {
    int64_t l2, l3;
    int cores;
  };
  const int64_t kKb = 1024, kMb = 1024 * kKb;
  Ceilings c = default_ceilings(1);
  for (const Server& server :
       {Server{2 * kMb, 105 * kMb, 56}, Server{2 * kMb, 320 * kMb, 64}, Server{1280 * kKb, 60 * kMb, 40},
        Server{kMb, 39424 * kKb, 28}, Server{256 * kKb, 55 * kMb, 22}, Server{kMb, 32 * kMb, 8}})
    for (const int threads_a_core : {1, 2}) {
      c.threads = threads_a_core * server.cores;
      c.levels[1].capacity_bytes = server.l2;
      c.levels[2].capacity_bytes = server.l3;
      CAPTURE(server.l2, server.l3, c.threads);
      const int64_t bytes = read_probe_bytes(c, 2, c.threads, server.cores) * threads_a_core;
      CHECK(bytes >= server.l2 * 5 / 4);
      CHECK(bytes <= server.l2 + server.l3 / server.cores);
    }
  // Where a thread has plenty, the bytes are those that the built-in models' machines were measured with.
  for (const int threads : {1, 2}) {
    c.levels[1].capacity_bytes = 2 * kMb;
    c.levels[2].capacity_bytes = 32 * kMb * threads;
    CHECK(read_probe_bytes(c, 2, threads, threads) == 12 * kMb);
    c.levels[1].capacity_bytes = kMb;
    c.levels[2].capacity_bytes = 16 * kMb * threads;
    CHECK(read_probe_bytes(c, 2, threads, threads) == 6 * kMb);
  }
}

TEST_CASE("ceilings: narrower vectors lower the peak and nothing beyond the first cache", "[model]") {
  Ceilings wide = default_ceilings(2);
  wide.vector_bytes = 64;
  const Ceilings narrow = wide.with_vectors_of(32);
  CHECK(narrow.vector_bytes == 32);
  CHECK(narrow.fma(false, 2) == wide.fma(false, 2) / 2);
  CHECK(narrow.read(0, 1) == wide.read(0, 1) / 2);
  CHECK(narrow.read(1, 1) == wide.read(1, 1));
  CHECK(wide.with_vectors_of(64).fma(true, 1) == wide.fma(true, 1));
}
