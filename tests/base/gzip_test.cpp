// Inflating: streamed, several members, and errors that name the file.
#include "waco/base/gzip.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "../gzipped.hpp"
#include "waco/base/error.hpp"

using namespace waco;

namespace {

std::string inflated(const std::string& bytes) {
  MemorySource source(bytes);
  GzipSource gzip("a.gz", source);
  std::string text;
  for (std::string part = read_up_to(gzip, 777); !part.empty(); part = read_up_to(gzip, 777)) text += part;
  return text;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i * 7919 % 100003) + '\n';
  return text;
}

}  // namespace

TEST_CASE("gzip: long data, several members and zero padding come out whole", "[base]") {
  const std::string text = long_text();
  CHECK(inflated(gzipped(text)) == text);
  CHECK(inflated(gzipped(text) + gzipped("") + gzipped("end") + std::string(1000, '\0')) == text + "end");
  CHECK(inflated(gzipped("")).empty());
}

TEST_CASE("gzip: data cut off anywhere is an input error", "[base]") {
  const std::string bytes = gzipped("some text that is not so short");
  for (size_t size = 2; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(inflated(bytes.substr(0, size)), InputError);
  }
}

TEST_CASE("gzip: what comes before a fault is read first", "[base]") {
  const std::string text = long_text(), bytes = gzipped(text);
  const auto read_before_fault = [&](const std::string& content) {
    MemorySource source(content);
    GzipSource gzip("a.gz", source);
    std::string part(1000, '\0'), all;
    for (int faults = 0; faults < 2;) {
      try {
        all.append(part, 0, gzip.read(part.data(), part.size()));
      } catch (const InputError&) {
        ++faults;
      }
    }
    CHECK(gzip.cut_off() == (content.size() < bytes.size()));
    return all;
  };
  const std::string torn = read_before_fault(bytes.substr(0, bytes.size() / 2));
  CHECK(torn.size() > text.size() / 4);
  CHECK(text.starts_with(torn));
  CHECK(read_before_fault(bytes + "more") == text);
}
