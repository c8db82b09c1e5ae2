// Interleaved rounds, batches, and rejection of samples that the scheduler spoiled.
#include "waco/measure/timing.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "waco/base/clock.hpp"
#include "waco/base/random.hpp"
#include "waco/measure/waits.hpp"

namespace waco::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMinRounds = 3;
constexpr int kMaxBatch = 10000;
constexpr double kLongSample_ns = 10e6;  ///< none is taken again to have the best of several
/// The system's own threads interrupt a good part of the samples from some milliseconds on for a moment, on
/// idle machines too (of 4 ms a tenth, of 16 ms nearly half, for 0.7 % of the time where much). Beside a
/// program that computes they are not interrupted more often, but wait for its slices: milliseconds.
constexpr double kJudgedByWaiting_ns = 2e6;
constexpr double kMostWaiting = 0.02;
/// Untimed calls before a sample. Last-level caches keep only what comes back more than once: after the
/// others' turns the first three calls of a kernel over some 20 MB were measured up to 2.4 times slower than
/// all later ones.
constexpr double kWarmNs = 8e6;
constexpr double kMaxWarmCalls = 4;
/// A contestant that would take longer over them has fewer, but one: what took that long does not find its
/// operands in the caches anyway, and what the others need must not hang on it.
constexpr double kMaxWarmNs = 40e6;
/// Fewer rounds that agree may do so by chance.
constexpr size_t kMinSettled = 5;
/// A call that took this many times the shortest sample needs no trial to be called slow enough.
constexpr double kSurelyLong = 10;

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

/// What goes into one round of a contestant.
struct Care {
  int warm_calls = 0;
  int tries = 1;
};

/// One contestant's samples while rounds go on.
class Series {
 public:
  Series(const std::function<void()>& call, const TimingOptions& options, double expected_ns) : call_(call) {
    once_ns_ = expected_ns;
    if (once_ns_ < kSurelyLong * options.min_sample_ns) {
      // Two calls tell the order of magnitude; fast kernels then get a better look.
      once_ns_ = time_calls(1);
      if (once_ns_ < options.warm_below_ns) once_ns_ = std::min(once_ns_, time_calls(1));
      if (once_ns_ < options.min_sample_ns) once_ns_ = std::min(once_ns_, time_calls(4));
    }
    once_ns_ = std::max(once_ns_, 1.0);
    const double wanted = std::ceil(options.min_sample_ns / once_ns_);
    batch_ = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMaxBatch)));
  }

  void measure(const Care& care) {
    for (int n = 0; n < care.warm_calls; ++n) call_();
    Sample best = take_sample();
    for (int n = 1; n < care.tries; ++n) {
      const Sample next = take_sample();
      if (next.clean != best.clean ? next.clean : next.ns < best.ns) best = next;
    }
    samples_.push_back(best);
  }

  const std::vector<Sample>& samples() const { return samples_; }
  double once_ns() const { return once_ns_; }
  /// How long a sample is expected to take.
  double sample_ns() const { return once_ns_ * batch_; }

 private:
  double time_calls(int calls) const {
    const Clock::time_point start = Clock::now();
    for (int n = 0; n < calls; ++n) call_();
    return ns_since(start) / calls;
  }

  /// One that may become long is looked at in both ways, and judged by how long it was.
  Sample take_sample() const {
    const bool may_be_long = sample_ns() > kJudgedByWaiting_ns / 2;
    const std::optional<Waits> waits = may_be_long ? std::optional<Waits>(std::in_place) : std::nullopt;
    const long switches_before = involuntary_switches();
    const double ns = time_calls(batch_);
    if (!waits || !waits->known() || ns * batch_ < kJudgedByWaiting_ns)
      return {ns, involuntary_switches() == switches_before};
    return {ns, waits->longest_ns() <= kMostWaiting * ns * batch_};
  }

  const std::function<void()>& call_;
  std::vector<Sample> samples_;
  double once_ns_ = 0;
  int batch_ = 1;
};

/// How one is measured beside others: the fastest of them needs the warmest caches.
Care care_of(const Series& own, std::span<const Series> others, const TimingOptions& options) {
  double fastest_ns = own.once_ns();
  double shortest_ns = own.sample_ns();
  double longest_ns = own.sample_ns();
  for (const Series& other : others) {
    fastest_ns = std::min(fastest_ns, other.once_ns());
    shortest_ns = std::min(shortest_ns, other.sample_ns());
    longest_ns = std::max(longest_ns, other.sample_ns());
  }
  Care care;
  if (shortest_ns < options.warm_below_ns) {
    const double calls = std::min(std::ceil(kWarmNs / fastest_ns), std::floor(kMaxWarmNs / own.once_ns()));
    care.warm_calls = static_cast<int>(std::clamp(calls, 1.0, kMaxWarmCalls));
  }
  if (longest_ns < kLongSample_ns) care.tries = options.tries;
  return care;
}

/// All are measured alike, unless each is to be by its own speed.
std::vector<Care> all_care(const std::vector<Series>& all, const TimingOptions& options) {
  std::vector<Care> each;
  for (const Series& own : all)
    each.push_back(care_of(own, options.alike ? std::span(all) : std::span<const Series>(), options));
  return each;
}

/// Rounds in which both samples are clean.
std::vector<size_t> clean_rounds(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  std::vector<size_t> rounds;
  const size_t count = std::min(a.size(), b.size());  // one of them may have left the rounds
  for (size_t n = 0; n < count; ++n) {
    if (a[n].clean && b[n].clean) rounds.push_back(n);
  }
  return rounds;
}

/// Whether a pair has as many undisturbed rounds as a median needs.
bool has_enough(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  return std::ssize(clean_rounds(a, b)) >= kMinRounds;
}

/// Rounds that count for a pair: the clean ones, or all when too few are.
std::vector<size_t> valid_rounds(const std::vector<Sample>& a, const std::vector<Sample>& b) {
  std::vector<size_t> rounds = clean_rounds(a, b);
  if (std::ssize(rounds) >= kMinRounds) return rounds;
  const size_t count = std::min(a.size(), b.size());
  rounds.resize(count);
  for (size_t n = 0; n < count; ++n) rounds[n] = n;
  return rounds;
}

/// By round.
std::vector<double> ratios_of(const Series& baseline, const Series& own) {
  std::vector<double> ratios;
  for (const size_t n : valid_rounds(baseline.samples(), own.samples())) {
    ratios.push_back(baseline.samples()[n].ns / std::max(own.samples()[n].ns, 1e-3));
  }
  return ratios;
}

/// Whether a contestant's ratio is known well enough; the time itself when it is the only one.
bool settled(const std::vector<Series>& all, size_t n, double precision) {
  if (n > 0) return estimate_median(ratios_of(all[0], all[n])).relative_width() < precision;
  std::vector<double> times;
  for (const Sample& sample : all[0].samples()) times.push_back(sample.ns);
  return estimate_median(std::move(times)).relative_width() < precision;
}

/// Takes those that need no more rounds out of `open`; all or none of them unless settled ones may leave.
void close_settled(const std::vector<Series>& all, const TimingOptions& options, bool budget_spent,
                   std::vector<size_t>& open) {
  const auto is_done = [&](size_t n) {
    if (budget_spent && has_enough(all[0].samples(), all[n].samples())) return true;
    return all[n].samples().size() >= kMinSettled && settled(all, n, options.precision);
  };
  if (options.drop_settled) {
    std::erase_if(open, is_done);
  } else if (std::all_of(open.begin(), open.end(), is_done)) {
    open.clear();
  }
}

ContestantTimes summarize(const Series& baseline, const Series& own) {
  ContestantTimes times;
  for (const size_t n : valid_rounds(own.samples(), own.samples()))
    times.samples_ns.push_back(own.samples()[n].ns);
  const auto spoiled = std::count_if(own.samples().begin(), own.samples().end(),
                                     [](const Sample& sample) { return !sample.clean; });
  times.rejected_share = static_cast<double>(spoiled) / static_cast<double>(own.samples().size());
  times.is_disturbed = !has_enough(baseline.samples(), own.samples());
  times.time_ns = estimate_median(times.samples_ns);
  const std::vector<double> ratios = ratios_of(baseline, own);
  times.num_rounds = static_cast<int>(ratios.size());
  times.speedup = estimate_median(ratios);
  return times;
}

}  // namespace

std::vector<ContestantTimes> time_contestants(const std::vector<std::function<void()>>& contestants,
                                              const TimingOptions& options,
                                              const std::vector<double>& expected_ns, const StopToken& stop) {
  if (contestants.empty()) return {};
  std::vector<Series> all;
  all.reserve(contestants.size());
  for (size_t n = 0; n < contestants.size(); ++n)
    all.emplace_back(contestants[n], options, n < expected_ns.size() ? expected_ns[n] : 0);
  std::vector<size_t> open;  // those that others are not waiting for; the baseline only when it is alone
  for (size_t n = all.size() > 1 ? 1 : 0; n < all.size(); ++n) open.push_back(n);

  // What follows fixed_csr finds fewer of its operands in the last-level cache than what follows a kernel
  // that is as fast: of eight times the same kernel, in a fixed order, that beside it took up to 1.3 times
  // as long.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(1);

  const std::vector<Care> care = all_care(all, options);
  const double budget_ns = options.budget_s * 1e9 * static_cast<double>(contestants.size());
  const Clock::time_point start = Clock::now();
  for (int round = 0; round < options.max_rounds; ++round) {
    const double spent = ns_since(start);
    if (round >= kMinRounds && spent > 4 * budget_ns) break;
    if (round >= options.min_rounds) {
      close_settled(all, options, spent > budget_ns, open);
      if (open.empty()) break;
    }
    if (round % 2 == 0)
      shuffle(order, random);
    else
      std::reverse(order.begin(), order.end());
    for (const size_t n : order) {
      if (n != 0 && std::find(open.begin(), open.end(), n) == open.end()) continue;
      if (stop()) throw Stopped("stopped while timing");
      all[n].measure(care[n]);
    }
  }

  std::vector<ContestantTimes> times;
  for (const Series& series : all) times.push_back(summarize(all[0], series));
  return times;
}

}  // namespace waco::measure
