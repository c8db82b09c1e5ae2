// The ceilings as a versioned JSON file in the cache folder, one per CPU model and thread count.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/note.hpp"
#include "waco/model/ceilings.hpp"

namespace waco::model {

namespace {

constexpr const char* kFormat = "waco-ceilings";
constexpr int kVersion = 6;

nlohmann::json curve_to_json(const RateCurve& curve) {
  auto points = nlohmann::json::array();
  for (const auto& point : curve.points)
    points.push_back({{"bytes", point.bytes}, {"loads_per_ns", point.rate}});
  return points;
}

RateCurve curve_from_json(const nlohmann::json& json) {
  RateCurve curve;
  for (const auto& point : json) {
    const RateCurve::Point read{point.at("bytes").get<double>(), point.at("loads_per_ns").get<double>()};
    if (!(read.rate > 0) || (!curve.points.empty() && read.bytes <= curve.points.back().bytes)) continue;
    curve.points.push_back(read);
  }
  return curve;
}

/// Without a limit it is null.
nlohmann::json capacity_to_json(int64_t bytes) {
  return bytes == INT64_MAX ? nlohmann::json(nullptr) : nlohmann::json(bytes);
}

/// Files of before version 6 hold INT64_MAX, which tools that count in double precision write as 2^63.
int64_t capacity_from_json(const nlohmann::json& json) {
  const double bytes = json.is_null() ? HUGE_VAL : json.get<double>();
  return bytes < 0x1p62 ? static_cast<int64_t>(bytes) : INT64_MAX;
}

std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char ch : text) {
    if (std::isalnum(static_cast<unsigned char>(ch)) != 0)
      slug += static_cast<char>(std::tolower(static_cast<unsigned char>(ch)));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  return slug;
}

/// What tells machines apart whose processors have the same name, as those of virtual machines do: caches and
/// cores, the L3 and the cores behind the threads, how many CPUs the threads share where they are more than
/// those, and what binds them.
std::string hash_of_hardware(const Ceilings& c) {
  const nlohmann::json machine = describe_machine();
  nlohmann::json hardware = {machine.at("caches"), machine.at("cores"), c.levels[2].capacity_bytes,
                             num_cores(c.threads), std::min(c.threads, usable_threads())};
  const bool is_bound_by_user = std::getenv(kUsableThreadsVariable) == nullptr;
  for (const char* binding : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (const char* value = std::getenv(binding); value != nullptr && is_bound_by_user)
      hardware.push_back({binding, value});
  return content_hash(hardware.dump()).substr(0, 8);
}

std::filesystem::path file_of(const Ceilings& c, const std::filesystem::path& folder) {
  std::string name =
      fmt::format("ceilings-{}-{}v-{}t-{}", slug_of(c.cpu), c.vector_bytes, c.threads, hash_of_hardware(c));
  for (const char* how_to_wait : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})  // which regions and barriers take
    if (const char* value = std::getenv(how_to_wait)) name += '-' + slug_of(value).substr(0, 20);
  return folder / (name + ".json");
}

/// Whether a file was written so long ago that the machine may be idle again.
bool is_old(const std::filesystem::path& path) {
  constexpr std::chrono::minutes kBusy(10);
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  return !error && std::filesystem::file_time_type::clock::now() - written > kBusy;
}

/// Rates and costs of a file that was edited or torn must not become divisions by zero.
bool plausible(const Ceilings& c) {
  if (c.threads < 1 || (c.vector_bytes != 16 && c.vector_bytes != 32 && c.vector_bytes != 64)) return false;
  for (const auto& level : c.levels)
    if (!(level.read_one > 0) || !(level.read_all > 0) || level.capacity_bytes <= 0) return false;
  return c.fma_f32_one > 0 && c.fma_f32_all > 0 && c.fma_f64_one > 0 && c.fma_f64_all > 0 &&
         c.stream_one > 0 && c.stream_all > 0 && c.region_ns > 0 && c.grab_ns > 0 && c.short_loop_ns > 0 &&
         !c.gather_one.points.empty() && !c.gather_all.points.empty();
}

bool load(const std::filesystem::path& path, Ceilings& wanted) {
  return read_note(path, kFormat, kVersion, [&](const nlohmann::json& json) {
    Ceilings found = ceilings_from_json(json);
    if (found.cpu != wanted.cpu || found.threads != wanted.threads) return false;
    if (found.disturbed && is_old(path)) return false;
    wanted = std::move(found);
    return true;
  });
}

/// Whether they are kept.
bool store(const std::filesystem::path& path, const Ceilings& c) {
  try {
    write_file_atomically(path, to_json(c).dump(2) + '\n');
    return true;
  } catch (const EnvironmentError& error) {
    spdlog::debug("{}; the machine is measured again by the next run", error.what());
    return false;
  }
}

/// By threads: what could not be kept in a file serves this process, so that all that it ranks are ranked
/// alike.
std::map<int, Ceilings> unstored;
std::mutex unstored_mutex;

}  // namespace

nlohmann::json to_json(const Ceilings& c) {
  auto levels = nlohmann::json::array();
  for (int l = 0; l < kNumMemoryLevels; l++) {
    const auto& level = c.levels[l];
    levels.push_back({{"name", kMemoryLevelNames[l]},
                      {"capacity_bytes", capacity_to_json(level.capacity_bytes)},
                      {"shared", level.shared},
                      {"read_one_gb_per_s", level.read_one},
                      {"read_all_gb_per_s", level.read_all}});
  }
  nlohmann::json json = {{"format", kFormat},
                         {"version", kVersion},
                         {"cpu", c.cpu},
                         {"threads", c.threads},
                         {"vector_bytes", c.vector_bytes},
                         {"measured", c.measured},
                         {"levels", std::move(levels)},
                         {"fma_f32_gflops", {c.fma_f32_one, c.fma_f32_all}},
                         {"fma_f64_gflops", {c.fma_f64_one, c.fma_f64_all}},
                         {"stream_gb_per_s", {c.stream_one, c.stream_all}},
                         {"gather_one", curve_to_json(c.gather_one)},
                         {"gather_all", curve_to_json(c.gather_all)},
                         {"region_ns", c.region_ns},
                         {"grab_ns", c.grab_ns},
                         {"short_loop_ns", c.short_loop_ns}};
  if (c.disturbed) json["disturbed"] = true;
  return json;
}

namespace {

Ceilings parse(const nlohmann::json& json) {
  Ceilings c;
  c.cpu = json.at("cpu").get<std::string>();
  c.threads = json.at("threads").get<int>();
  c.vector_bytes = json.at("vector_bytes").get<int>();
  c.measured = json.at("measured").get<bool>();
  c.disturbed = json.value("disturbed", false);
  for (int l = 0; l < kNumMemoryLevels; l++) {
    const auto& level = json.at("levels").at(static_cast<size_t>(l));
    c.levels[l] = {capacity_from_json(level.at("capacity_bytes")), level.at("shared").get<bool>(),
                   level.at("read_one_gb_per_s").get<double>(), level.at("read_all_gb_per_s").get<double>()};
  }
  c.fma_f32_one = json.at("fma_f32_gflops").at(0).get<double>();
  c.fma_f32_all = json.at("fma_f32_gflops").at(1).get<double>();
  c.fma_f64_one = json.at("fma_f64_gflops").at(0).get<double>();
  c.fma_f64_all = json.at("fma_f64_gflops").at(1).get<double>();
  c.stream_one = json.at("stream_gb_per_s").at(0).get<double>();
  c.stream_all = json.at("stream_gb_per_s").at(1).get<double>();
  c.gather_one = curve_from_json(json.at("gather_one"));
  c.gather_all = curve_from_json(json.at("gather_all"));
  c.region_ns = json.at("region_ns").get<double>();
  c.grab_ns = json.at("grab_ns").get<double>();
  c.short_loop_ns = json.at("short_loop_ns").get<double>();
  return c;
}

}  // namespace

Ceilings ceilings_from_json(const nlohmann::json& json) {
  try {
    const Ceilings c = parse(json);
    if (plausible(c)) return c;
  } catch (const nlohmann::json::exception& fault) {
    throw UsageError(fmt::format("ceilings that are damaged: {}", fault_text(fault)));
  }
  throw UsageError("ceilings that no machine has");
}

Ceilings load_ceilings(int threads, const std::filesystem::path& folder) {
  Ceilings c = default_ceilings(threads);
  if (!folder.empty()) load(file_of(c, folder), c);
  return c;
}

Ceilings load_or_measure_ceilings(int threads, const std::filesystem::path& folder) {
  Ceilings kept = default_ceilings(threads);
  const auto path = folder.empty() ? std::filesystem::path() : file_of(kept, folder);
  if (!path.empty() && load(path, kept)) return kept;
  const std::lock_guard lock(unstored_mutex);
  if (const auto found = unstored.find(threads); found != unstored.end()) return found->second;
  const Ceilings fresh = measure_ceilings(threads);
  if (fresh.disturbed)
    spdlog::info(
        "this machine is busy: what its threads can do together was not measured well, and is measured "
        "again in ten minutes");
  // What another process has stored meanwhile counts: all on a machine are to rank alike.
  if (!path.empty() && load(path, kept)) return kept;
  if (!fresh.measured) return fresh;
  if ((path.empty() || !store(path, fresh)) && !fresh.disturbed) unstored[threads] = fresh;
  return fresh;
}

}  // namespace waco::model
