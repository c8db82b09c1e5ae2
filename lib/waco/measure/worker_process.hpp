// The parent's side of a worker: starting it with pinned threads, talking to it, and finding out how it died.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "waco/base/descriptor.hpp"
#include "waco/base/process.hpp"
#include "waco/base/signals.hpp"
#include "waco/measure/channel.hpp"

namespace waco::measure {

/// The worker program: `given`, or waco-worker beside the running program, or in the installed libexec/waco.
/// Throws EnvironmentError when it is nowhere.
std::filesystem::path find_worker(const std::filesystem::path& given);

/// Of every OpenMP thread of a worker, whatever the user's own settings: kernels need little, and address
/// space is limited there.
inline constexpr int64_t kThreadStackBytes = int64_t{8} << 20;

/// OpenMP settings that pin threads to the CPUs this process may use, one for each core first. A user's own
/// settings of binding and places are left alone.
std::map<std::string, std::string> openmp_environment(int threads);

class WorkerProcess {
 public:
  enum class Reply { kMessage, kDied, kTimeout, kStopped };

  /// Starts `program` with the tensor's memory file. Throws EnvironmentError.
  WorkerProcess(const std::filesystem::path& program, int tensor_fd, int threads);

  void send(const nlohmann::json& command) { channel_.send(command); }
  /// The next message within `timeout_s`. After a stop request the worker has a short time left to finish.
  Reply receive(nlohmann::json& message, double timeout_s, const StopToken& stop);

  struct End {
    std::string how;      ///< with what it said last, such as "signal 11 (Segmentation fault)"
    bool killed = false;  ///< by a SIGKILL that was not ours: the system had no memory left, most likely
  };
  /// Kills it if need be.
  End end();

 private:
  std::string last_words() const;

  Descriptor stderr_;
  Channel channel_;
  ChildProcess process_;
};

}  // namespace waco::measure
