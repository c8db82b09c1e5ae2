// What goes between a parent and its worker: messages, tensors, measurements.
#include "waco/measure/channel.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "small_tensors.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/measure/protocol.hpp"
#include "waco/measure/tensor_memory.hpp"

using namespace waco;
using namespace waco::measure;
using nlohmann::json;

TEST_CASE("channel: messages of any size arrive whole and in order", "[measure]") {
  auto [a, b] = Channel::pair();
  const json large = {{"text", std::string(3000000, 'x')}};
  std::thread sender([&channel = a, &large] {
    channel.send({{"n", 1}});
    channel.send(large);
  });
  json first;
  json second;
  CHECK(b.receive(first, 10) == Channel::Status::kMessage);
  CHECK(b.receive(second, 10) == Channel::Status::kMessage);
  sender.join();
  CHECK(first.at("n") == 1);
  CHECK(second == large);
}

TEST_CASE("channel: silence is a timeout, a closed end is closed", "[measure]") {
  auto ends = Channel::pair();
  json message;
  CHECK(ends.second.receive(message, 0.01) == Channel::Status::kTimeout);
  { const Channel gone = std::move(ends.first); }
  CHECK(ends.second.receive(message, 10) == Channel::Status::kClosed);
  CHECK_FALSE(ends.second.send({{"n", 1}}));
}

TEST_CASE("channel: bytes that are no message count as closed", "[measure]") {
  for (const std::string& bytes : {std::string("\x03\0\0\0{{{", 7), std::string("\xff\xff\xff\xff....", 8)}) {
    auto ends = Channel::pair();
    REQUIRE(::write(ends.first.fd(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    json message;
    CHECK(ends.second.receive(message, 10) == Channel::Status::kClosed);
  }
}

TEST_CASE("tensor_memory: a tensor reads back unchanged", "[measure]") {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{9, 7}, {50, 40, 30}, {int64_t{1} << 40, 3}, {0, 4}}) {
    const int64_t count = dims[0] == 0 ? 0 : 25;
    const matrix::SparseTensor tensor = testing::random_tensor(dims, count);
    const TensorMemory memory(tensor);
    const matrix::SparseTensor read = read_tensor_memory(memory.fd(), 3);
    CHECK(read.dims == tensor.dims);
    CHECK(read.coords == tensor.coords);
    CHECK(read.values == tensor.values);
  }
}

TEST_CASE("tensor_memory: copies that there is no memory for are not begun", "[measure]") {
  const int64_t free = free_memory_bytes();
  // Of a matrix 16 bytes a nonzero in the file, or 24 where coordinates are wide, and 24 in the worker.
  CHECK(TensorMemory(testing::random_tensor({9, 7}, 0)).bytes() == 64);
  CHECK(copy_bytes({9, 7}, 10) == 240);
  for (const int64_t wide : {int64_t{1000}, int64_t{1} << 40}) {
    CHECK_THROWS_AS(check_copies_fit({1000, wide}, free / 20), TooLargeError);
    CHECK_NOTHROW(check_copies_fit({1000, wide}, free / 100));
  }
}

TEST_CASE("tensor_memory: a descriptor that holds no tensor is refused", "[measure]") {
  const TensorMemory memory(testing::random_tensor({9, 7}, 5));
  REQUIRE(::ftruncate(memory.fd(), 100) == 0);
  CHECK_THROWS_AS(read_tensor_memory(memory.fd()), EnvironmentError);
  REQUIRE(::ftruncate(memory.fd(), 3) == 0);
  CHECK_THROWS_AS(read_tensor_memory(memory.fd()), EnvironmentError);
}

TEST_CASE("measurement: JSON form has its fields, intervals as pairs", "[measure]") {
  Measurement measurement;
  measurement.point = schedule::csr_point({schedule::Op::kSpmm, schedule::ValueType::kF32, 32}, 2);
  measurement.status = Status::kOk;
  measurement.message = "fine";
  measurement.samples_ns = {1.5, 2.5};
  measurement.time_ns = {2, 1.5, 2.5};
  measurement.speedup = {1.25, 1.125, 1.5};
  measurement.stored_bytes = 12345;
  measurement.censored = true;
  const json written = measurement;
  CHECK(schedule::parse(written.at("plan").get<std::string>()) == measurement.point);
  CHECK(written.at("message") == "fine");
  CHECK(written.at("samples_ns") == json({1.5, 2.5}));
  CHECK(written.at("median_ns") == 2);
  CHECK(written.at("speedup") == 1.25);
  CHECK(written.at("speedup_interval") == json({1.125, 1.5}));
  CHECK(written.at("stored_bytes") == 12345);
  CHECK(written.at("censored") == true);
  CHECK(written.at("interval_ns") == json({1.5, 2.5}));
  CHECK(written.at("status") == "ok");
}

TEST_CASE("measurement: an infinite error is still JSON", "[measure]") {
  Measurement measurement;
  measurement.point = schedule::csr_point({schedule::Op::kSpmv, schedule::ValueType::kF32, 1}, 1);
  measurement.max_rel_error = std::numeric_limits<double>::infinity();
  CHECK(json(measurement).at("max_rel_error").is_number_float());
  CHECK_THAT(json(measurement).dump(), !Catch::Contains("\"max_rel_error\":null"));
}

TEST_CASE("measurement: every status has a name that reads back", "[measure]") {
  for (const Status status : {Status::kOk, Status::kConstraint, Status::kCompile, Status::kCrash,
                              Status::kTimeout, Status::kWrong}) {
    CHECK(parse_status(name(status)) == status);
  }
  CHECK(parse_status("splendid") == std::nullopt);
}
