// Interleaved rounds, batches, and rejection of samples that the scheduler spoiled.
#include "waco/measure/timing.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace waco::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMinRounds = 3;
constexpr int kMaxBatch = 10000;
/// Kernel threads interrupt nearly every longer sample for a moment, on idle machines too.
constexpr double kLongSample_ns = 10e6;
/// Untimed calls before a sample. Last-level caches keep only what comes back more than once: after the
/// others' turns the first three calls of a kernel over some 20 MB were measured up to 2.4 times slower than
/// all later ones.
constexpr double kWarmNs = 8e6;
constexpr double kMaxWarmCalls = 4;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Involuntary context switches of all threads of this process so far.
long involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

struct Sample {
  double ns = 0;
  bool clean = true;
};

/// One contestant's samples while rounds go on.
class Series {
 public:
  Series(const std::function<void()>& call, const TimingOptions& options) : call_(call) {
    // Two calls tell the order of magnitude; fast kernels then get a better look.
    double once = time_batch(1).ns;
    if (once < options.warm_below_ns) once = std::min(once, time_batch(1).ns);
    if (once < options.min_sample_ns) once = std::min(once, time_batch(4).ns);
    const double wanted = std::ceil(options.min_sample_ns / std::max(once, 1.0));
    batch_ = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMaxBatch)));
    if (once * batch_ < options.warm_below_ns)
      warm_calls_ =
          static_cast<int>(std::clamp(std::ceil(kWarmNs / std::max(once, 1.0)), 1.0, kMaxWarmCalls));
  }

  void measure() {
    for (int n = 0; n < warm_calls_; ++n) call_();
    samples_.push_back(time_batch(batch_));
  }

  const std::vector<Sample>& samples() const { return samples_; }
  int batch() const { return batch_; }

 private:
  Sample time_batch(int calls) const {
    const long before = involuntary_switches();
    const Clock::time_point start = Clock::now();
    for (int n = 0; n < calls; ++n) call_();
    const double ns = ns_since(start) / calls;
    return {ns, involuntary_switches() == before || ns * calls > kLongSample_ns};
  }

  const std::function<void()>& call_;
  std::vector<Sample> samples_;
  int batch_ = 1;
  int warm_calls_ = 0;
};

/// Rounds that count for a pair: those in which both samples are clean, or all when too few are.
std::vector<size_t> valid_rounds(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  std::vector<size_t> rounds;
  for (size_t n = 0; n < a.size(); ++n) {
    if (a[n].clean && b[n].clean) rounds.push_back(n);
  }
  if (rounds.size() >= kMinRounds) return rounds;
  rounds.resize(a.size());
  for (size_t n = 0; n < a.size(); ++n) rounds[n] = n;
  return rounds;
}

Estimate speedup_of(const Series& baseline, const Series& own) {
  std::vector<double> ratios;
  for (const size_t n : valid_rounds(baseline.samples(), own.samples())) {
    ratios.push_back(baseline.samples()[n].ns / std::max(own.samples()[n].ns, 1e-3));
  }
  return estimate_median(std::move(ratios));
}

bool precise(const std::vector<Series>& all, double precision) {
  if (all.size() == 1) {
    std::vector<double> times;
    for (const Sample& sample : all[0].samples()) times.push_back(sample.ns);
    return estimate_median(std::move(times)).relative_width() < precision;
  }
  return std::all_of(all.begin() + 1, all.end(), [&](const Series& series) {
    return speedup_of(all[0], series).relative_width() < precision;
  });
}

ContestantTimes summarize(const Series& baseline, const Series& own) {
  ContestantTimes times;
  times.batch = own.batch();
  for (const size_t n : valid_rounds(own.samples(), own.samples()))
    times.samples_ns.push_back(own.samples()[n].ns);
  const auto spoiled = std::count_if(own.samples().begin(), own.samples().end(),
                                     [](const Sample& sample) { return !sample.clean; });
  times.rejected_share = static_cast<double>(spoiled) / static_cast<double>(own.samples().size());
  times.time_ns = estimate_median(times.samples_ns);
  times.speedup = speedup_of(baseline, own);
  return times;
}

}  // namespace

std::vector<ContestantTimes> time_contestants(const std::vector<std::function<void()>>& contestants,
                                              const TimingOptions& options) {
  if (contestants.empty()) return {};
  std::vector<Series> all;
  all.reserve(contestants.size());
  for (const std::function<void()>& contestant : contestants) all.emplace_back(contestant, options);

  const double budget_ns = options.budget_s * 1e9 * static_cast<double>(contestants.size());
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < options.max_rounds; ++round) {
    const double spent = ns_since(start);
    if (round >= kMinRounds && spent > 4 * budget_ns) break;
    if (round >= options.min_rounds && (spent > budget_ns || precise(all, options.precision))) break;
    for (size_t n = 0; n < all.size(); ++n) all[round % 2 == 0 ? n : all.size() - 1 - n].measure();
  }

  std::vector<ContestantTimes> times;
  for (const Series& series : all) times.push_back(summarize(all[0], series));
  return times;
}

}  // namespace waco::measure
