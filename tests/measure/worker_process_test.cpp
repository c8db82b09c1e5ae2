// What a worker said is heard, however late.
#include "waco/measure/worker_process.hpp"

#include <catch2/catch.hpp>
#include <chrono>

#include "../compiler_script.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::measure;

TEST_CASE("worker_process: a message that came while nobody looked is no timeout", "[measure]") {
  const TemporaryFolder folder;
  // On its channel: the length of the message, 7 bytes, and the message. Then it waits for an answer.
  const std::filesystem::path script =
      write_script(folder.path(), "worker", "printf '\\007\\000\\000\\000{\"n\":1}' >&3\nread answer <&3\n");
  const int no_tensor = 0;
  WorkerProcess worker(script, no_tensor, 1);
  nlohmann::json message;
  // Its time was up before each look.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto reply = WorkerProcess::Reply::kTimeout;
  while (reply == WorkerProcess::Reply::kTimeout && std::chrono::steady_clock::now() < end)
    reply = worker.receive(message, -1, {});
  REQUIRE(reply == WorkerProcess::Reply::kMessage);
  CHECK(message.at("n") == 1);
}
