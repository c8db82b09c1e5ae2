// Feeds arbitrary bytes to the reader: it answers with a valid tensor or an Error, in little memory, and the
// answer does not depend on how the text is cut into pieces.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "waco/base/error.hpp"
#include "waco/matrix/read.hpp"

using namespace waco;
using namespace waco::matrix;

namespace {

struct Answer {
  std::optional<ReadResult> result;
  std::string error;
};

Answer read(std::string_view content, const ReadOptions& options) {
  try {
    return {read_tensor_bytes(content, "fuzz", options), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

void require(bool condition) {
  if (!condition) std::abort();
}

bool same_value(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void check_tensor(const SparseTensor& tensor) {
  require(tensor.order() == 2 || tensor.order() == 3);
  for (size_t mode = 0; mode < tensor.dims.size(); ++mode) {
    require(tensor.coords[mode].size() == tensor.values.size());
    for (const int64_t coord : tensor.coords[mode]) require(coord >= 0 && coord < tensor.dims[mode]);
  }
  for (size_t i = 1; i < tensor.values.size(); ++i) {
    bool after = false;
    for (size_t mode = 0; mode < tensor.dims.size() && !after; ++mode) {
      require(tensor.coords[mode][i] >= tensor.coords[mode][i - 1]);
      after = tensor.coords[mode][i] > tensor.coords[mode][i - 1];
    }
    require(after);
  }
}

void check_same(const Answer& one, const Answer& other) {
  require(one.result.has_value() == other.result.has_value());
  require(one.error == other.error);
  if (!one.result) return;
  const SparseTensor& a = one.result->tensor;
  const SparseTensor& b = other.result->tensor;
  require(a.dims == b.dims && a.coords == b.coords && one.result->notes == other.result->notes);
  for (size_t i = 0; i < a.values.size(); ++i) require(same_value(a.values[i], b.values[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const Answer whole = read(content, {1, size_t{1} << 18});
  if (whole.result) {
    check_tensor(whole.result->tensor);
  } else {
    require(whole.error.find('\n') == std::string::npos);
  }
  check_same(whole, read(content, {1, 1}));
  check_same(whole, read(content, {1, 9}));
  check_same(whole, read(content, {3, 9}));
  return 0;
}
