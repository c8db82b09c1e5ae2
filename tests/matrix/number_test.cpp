// The parser of values against the C library, and of indices at their limits.
#include "waco/matrix/number.hpp"

#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <string>

#include "waco/base/random.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

/// The bits of the value that `text` means, or ~0 when all of it isn't a number.
uint64_t bits_of(const std::string& text) {
  const std::string line = text + '\n';
  const char* p = line.c_str();
  double value = 0;
  const bool parsed = parse_value(p, value) == NumberStatus::kOk && *p == '\n';
  return parsed ? std::bit_cast<uint64_t>(value) : ~uint64_t{0};
}

NumberStatus value_status(const std::string& text) {
  const std::string line = text + '\n';
  const char* p = line.c_str();
  double value = 0;
  return parse_value(p, value);
}

NumberStatus index_status(const std::string& text, int64_t& index) {
  const std::string line = text + '\n';
  const char* p = line.c_str();
  return parse_index(p, index);
}

/// A random decimal: up to 25 digits, a point anywhere, an exponent or none.
std::string random_decimal(Random& random) {
  std::string text = random.chance(0.3) ? "-" : "";
  const uint64_t digits = 1 + random.below(25);
  const uint64_t point = random.below(digits + 3);
  for (uint64_t i = 0; i < digits; ++i) {
    if (i == point) text += '.';
    text += static_cast<char>('0' + random.below(10));
  }
  if (random.chance(0.5)) text += fmt::format("e{}", static_cast<int64_t>(random.below(620)) - 320);
  return text;
}

}  // namespace

TEST_CASE("number: random decimals are rounded as strtod rounds them", "[matrix]") {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    const std::string text = random_decimal(random);
    const double expected = std::strtod(text.c_str(), nullptr);
    INFO(text);
    if (std::isinf(expected)) {
      REQUIRE(value_status(text) == NumberStatus::kOutOfRange);
    } else {
      REQUIRE(bits_of(text) == std::bit_cast<uint64_t>(expected));
    }
  }
}

TEST_CASE("number: decimals at and beside the middle of two doubles are rounded as by strtod", "[matrix]") {
  Random random(9);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t middle = (uint64_t{1} << 53) + 2 * random.below(uint64_t{1} << 52) + 1;
    const uint64_t mantissa =
        random.chance(0.5) ? middle << random.below(9) : 1 + random.below(~uint64_t{0} / 2);
    const auto exponent = static_cast<int>(random.below(60)) - 30;
    const std::string whole = fmt::format("{}", mantissa + random.below(3) - 1);
    for (const std::string& text : {whole, whole + ".0", fmt::format("{}e{}", whole, exponent)}) {
      CAPTURE(text);
      REQUIRE(bits_of(text) == std::bit_cast<uint64_t>(std::strtod(text.c_str(), nullptr)));
    }
  }
}

TEST_CASE("number: doubles printed in the shortest form come back", "[matrix]") {
  Random random(11);
  for (int i = 0; i < 50000; ++i) {
    const auto value = std::bit_cast<double>(random.next());
    if (!std::isfinite(value)) continue;
    REQUIRE(bits_of(fmt::format("{}", value)) == std::bit_cast<uint64_t>(value));
  }
}

TEST_CASE("number: what isn't a number is told from what is too large", "[matrix]") {
  for (const char* text : {"", "-", "+", ".", "e5", "1e", "1e+", "1.5x", "0x10", "1,5", "--1", "+-1", "1 e5",
                           "1-5", "1e5-3", "1.0e1.5", "1e5e5", "infi", "d"}) {
    INFO(text);
    CHECK(bits_of(text) == ~uint64_t{0});
  }
  for (const std::string& text : {std::string("1e309"), std::string("-1D+400"), "1" + std::string(400, '0'),
                                  std::string("1e99999999999999999999"), std::string("1.0+999")}) {
    INFO(text);
    CHECK(value_status(text) == NumberStatus::kOutOfRange);
  }
  CHECK(bits_of("1e-99999999999999999999") == 0);
  CHECK(bits_of("0." + std::string(400, '0') + "1e5") == 0);
  CHECK(bits_of("0e99999") == 0);
}

TEST_CASE("number: indices end where 64 bits end", "[matrix]") {
  int64_t index = 0;
  REQUIRE(index_status("9223372036854775807", index) == NumberStatus::kOk);
  CHECK(index == INT64_MAX);
  REQUIRE(index_status("0000000000000000000000000012", index) == NumberStatus::kOk);
  CHECK(index == 12);
  CHECK(index_status("9223372036854775808", index) == NumberStatus::kOutOfRange);
  CHECK(index_status("18446744073709551617", index) == NumberStatus::kOutOfRange);
  CHECK(index_status("99999999999999999999999999999999", index) == NumberStatus::kOutOfRange);
  for (const char* text : {"", "-1", "+1", "1.0", "1e3", "a", "1a"}) {
    INFO(text);
    CHECK(index_status(text, index) == NumberStatus::kNotANumber);
  }
}
