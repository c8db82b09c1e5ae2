// The worker's loop: commands in, results out. A fault here loses one candidate, never the run.
#include "waco/measure/worker.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "waco/base/error.hpp"
#include "waco/measure/channel.hpp"
#include "waco/measure/protocol.hpp"
#include "waco/measure/tensor_memory.hpp"
#include "waco/measure/workbench.hpp"

namespace waco::measure {
namespace {

using nlohmann::json;

class Worker {
 public:
  Worker() : channel_(kChannelDescriptor) {}

  int serve() {
    json command;
    while (channel_.receive(command) == Channel::Status::kMessage) {
      try {
        handle(command);
      } catch (const std::bad_alloc&) {
        channel_.send({{"event", "failed"}, {"message", "not enough memory to measure this input"}});
      } catch (const std::exception& error) {
        channel_.send({{"event", "failed"}, {"message", error.what()}});
      }
    }
    return 0;
  }

 private:
  void handle(const json& command) {
    const std::string name = command.at("command");
    if (name == "open") {
      open(command);
    } else if (name == "baseline") {
      baseline(command);
    } else if (name == "measure") {
      measure(command);
    } else {
      throw UsageError(fmt::format("unknown command '{}'", name));
    }
  }

  void open(const json& command) {
    limit_memory(command.at("memory_limit_bytes"));
    schedule::Problem problem;
    problem.op = schedule::parse_op(command.at("op").get<std::string>()).value();
    problem.type = schedule::parse_value_type(command.at("type").get<std::string>()).value();
    problem.rhs = command.at("rhs");
    const int threads = command.at("threads");
    matrix::SparseTensor tensor = read_tensor_memory(kTensorDescriptor, threads);
    tensor.name = command.at("name");
    bench_ = std::make_unique<Workbench>(std::move(tensor), problem, command.at("seed"), threads,
                                         command.at("reference_limit"));
    bench_->set_single_run(command.at("single_run_ns"));
    ::close(kTensorDescriptor);
    channel_.send({{"event", "opened"}});
  }

  void baseline(const json& command) {
    baseline_ = Entrant();
    const Preparation preparation = bench().prepare(command.at("contestant").get<Contestant>(), 0, baseline_);
    channel_.send({{"event", "result"}, {"contestant", 0}, {"preparation", preparation}});
    std::vector<ContestantTimes> times;
    std::vector<Preparation> checks;
    if (preparation.status == Status::kOk) {
      Workbench::end_waiting_threads();
      times = time_contestants({caller(baseline_)}, command.at("timing").get<TimingOptions>(),
                               {preparation.first_run_ns});
      baseline_ns_ = times[0].time_ns.median;
      checks.push_back(bench().check(baseline_));
    }
    channel_.send({{"event", "timed"}, {"times", times}, {"checks", checks}});
  }

  void measure(const json& command) {
    const auto contestants = command.at("contestants").get<std::vector<Contestant>>();
    const double censor_ns = command.at("censor_ratio").get<double>() * baseline_ns_;
    std::vector<Entrant> entrants(contestants.size());
    std::vector<std::function<void()>> calls = {caller(baseline_)};
    std::vector<double> expected_ns = {baseline_ns_};
    std::vector<size_t> timed;
    for (size_t n = 0; n < contestants.size(); ++n) {
      channel_.send({{"event", "started"}, {"contestant", n}});
      const Preparation preparation = bench().prepare(contestants[n], censor_ns, entrants[n]);
      channel_.send({{"event", "result"}, {"contestant", n}, {"preparation", preparation}});
      if (preparation.status == Status::kOk && !preparation.censored) {
        calls.push_back(caller(entrants[n]));
        expected_ns.push_back(preparation.first_run_ns);
        timed.push_back(n);
      } else {
        entrants[n] = Entrant();
      }
    }
    std::vector<ContestantTimes> times;
    if (!timed.empty()) {
      Workbench::end_waiting_threads();
      times = time_contestants(calls, command.at("timing").get<TimingOptions>(), expected_ns);
    }
    std::vector<Preparation> checks;
    for (const size_t n : timed) checks.push_back(bench().check(entrants[n]));
    channel_.send({{"event", "timed"}, {"timed", timed}, {"times", times}, {"checks", checks}});
  }

  std::function<void()> caller(Entrant& entrant) {
    return [this, &entrant] { bench().run(entrant); };
  }

  Workbench& bench() {
    WACO_ASSERT(bench_ != nullptr);
    return *bench_;
  }

  /// Makes an allocation that is too large fail here rather than take the machine down. A lower limit that
  /// was set for this job stays.
  static void limit_memory(int64_t bytes) {
    if (bytes <= 0) return;
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_cur, static_cast<rlim_t>(bytes));
    ::setrlimit(RLIMIT_AS, &limit);
  }

  Channel channel_;
  std::unique_ptr<Workbench> bench_;
  Entrant baseline_;
  double baseline_ns_ = 0;
};

/// A crash is expected business: no core file, and if memory runs out the kernel takes this process first.
void prepare_to_crash() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const Descriptor score(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!score) return;
  [[maybe_unused]] const ssize_t written = ::write(score.get(), "1000", 4);
}

}  // namespace

int run_worker() {
  if (::fcntl(kChannelDescriptor, F_GETFD) < 0 || ::fcntl(kTensorDescriptor, F_GETFD) < 0) return 2;
  prepare_to_crash();
  return Worker().serve();
}

}  // namespace waco::measure
