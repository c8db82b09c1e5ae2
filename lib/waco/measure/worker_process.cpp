// Starting and watching a worker.
#include "waco/measure/worker_process.hpp"

#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/program.hpp"
#include "waco/measure/protocol.hpp"

namespace waco::measure {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraceAfterStop_s = 2;
constexpr size_t kMaxLastWords = 300;

ChildProcess start(const fs::path& program, int tensor_fd, int threads, int channel_fd, int stderr_fd) {
  ChildProcess::Options options;
  options.descriptors = {{channel_fd, kChannelDescriptor}, {tensor_fd, kTensorDescriptor}, {stderr_fd, 2}};
  options.environment = openmp_environment(threads);
  return ChildProcess({program.string()}, options);
}

}  // namespace

fs::path find_worker(const fs::path& given) {
  if (!given.empty()) {
    if (::access(given.c_str(), X_OK) != 0) {
      throw EnvironmentError(fmt::format("{}: is not a program that can be run", given.string()));
    }
    return given;
  }
  std::vector<std::string> places;
  for (const fs::path& folder : program_folders()) places.push_back(folder / "waco-worker");
  places.push_back(installed_libexec_folder() / "waco-worker");
  for (const std::string& place : places)
    if (::access(place.c_str(), X_OK) == 0) return place;
  throw EnvironmentError(fmt::format(
      "waco-worker is missing, which is looked for at {}; reinstall or build it, or name the folder of "
      "WACO's programs by WACO_BIN",
      fmt::join(places, ", ")));
}

std::map<std::string, std::string> openmp_environment(int threads) {
  std::map<std::string, std::string> environment = {{"OMP_NUM_THREADS", std::to_string(threads)},
                                                    {"OMP_DYNAMIC", "false"},
                                                    {"OMP_MAX_ACTIVE_LEVELS", "1"},
                                                    {"OMP_STACKSIZE", fmt::format("{}B", kThreadStackBytes)}};
  // KMP_AFFINITY is for other runtimes than GCC's, and there goes before these.
  for (const char* own : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"})
    if (std::getenv(own) != nullptr) return environment;
  std::string places;
  for (const int cpu : allowed_cpus()) places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", cpu);
  environment["OMP_PLACES"] = places;
  environment["OMP_PROC_BIND"] = "close";
  return environment;
}

WorkerProcess::WorkerProcess(const fs::path& program, int tensor_fd, int threads)
    : stderr_(::memfd_create("waco-worker-stderr", MFD_CLOEXEC)), channel_(-1), process_([&] {
        if (!stderr_) throw os_error("a file in memory for what the worker says");
        auto [own, other] = Channel::pair();
        channel_ = std::move(own);
        return start(program, tensor_fd, threads, other.fd(), stderr_.get());
      }()) {}

WorkerProcess::Reply WorkerProcess::receive(nlohmann::json& message, double timeout_s,
                                            const StopToken& stop) {
  const Clock::time_point start = Clock::now();
  auto deadline =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  bool stopping = false;
  for (;;) {
    const Clock::time_point before = Clock::now();
    const double left = std::chrono::duration<double>(deadline - before).count();
    // Looked at even when it is late: this process may have been suspended, and the worker done long ago.
    switch (channel_.receive(message, std::clamp(left, 0.0, 0.1))) {
      case Channel::Status::kMessage:
        return Reply::kMessage;
      case Channel::Status::kClosed:
        return Reply::kDied;
      case Channel::Status::kTimeout:
        break;
    }
    // With the whole job, the worker may have been suspended meanwhile.
    if (const auto waited = Clock::now() - before; waited > kSurelySuspended) {
      deadline += waited;
      continue;
    }
    if (left <= 0) return stopping ? Reply::kStopped : Reply::kTimeout;
    if (!stopping && stop()) {
      stopping = true;
      const auto grace =
          std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kGraceAfterStop_s));
      deadline = std::min(deadline, Clock::now() + grace);
    }
  }
}

WorkerProcess::End WorkerProcess::end() {
  // A crash closes the channel a moment before the process is gone.
  const std::optional<ProcessEnd> by_itself = process_.wait(0.5);
  End end;
  end.killed = by_itself && !by_itself->exited && by_itself->code == SIGKILL;
  end.how = process_.kill().describe();
  if (const std::string words = last_words(); !words.empty()) end.how += ": " + words;
  return end;
}

std::string WorkerProcess::last_words() const {
  if (!stderr_) return {};
  const off_t size = ::lseek(stderr_.get(), 0, SEEK_END);
  const off_t begin = std::max<off_t>(0, size - static_cast<off_t>(kMaxLastWords));
  std::string text(static_cast<size_t>(size - begin), '\0');
  const ssize_t count = ::pread(stderr_.get(), text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace waco::measure
