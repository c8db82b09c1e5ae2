// Packs a 2 x 2 matrix in a blocked format and prints a kernel's size, is told that its options are not
// enough for collecting, and tunes: touches headers, templates and all libraries of the package. Exit codes:
// 0 done, 1 something is not as it should be, 5 it can't tune, and has said why.
#include <cstdio>

#include "waco/base/error.hpp"
#include "waco/codegen/standalone.hpp"
#include "waco/codegen/storage.hpp"
#include "waco/collect/collector.hpp"
#include "waco/tune/tune.hpp"

namespace {

/// Without inputs.
bool collecting_is_refused() {
  try {
    waco::collect::collect({}, {});
  } catch (const waco::UsageError& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

}  // namespace

int main() {
  const waco::matrix::SparseTensor tensor{"tiny", {2, 2}, {{0, 1}, {0, 1}}, {1.0, 2.0}};
  const auto point = waco::schedule::parse("spmv f64 | A: i1:U k:C i0:U [i/2] | loop: i1 k i0 | par: serial");
  const auto storage = waco::codegen::pack(tensor, point.format, point.problem.op, point.problem.type, 1);
  const std::string kernel = waco::codegen::emit_standalone(point, waco::codegen::any_shape(), 32, {});
  std::printf("%lld stored, %zu characters\n", static_cast<long long>(storage.abi().num_stored),
              kernel.size());
  if (storage.abi().num_stored != 4 || kernel.size() <= 1000) return 1;
  waco::tune::TuneOptions options;
  options.problem = point.problem;
  options.points = {point};
  try {
    if (!collecting_is_refused()) return 1;
    const waco::tune::TuneResult result = waco::tune::tune(tensor, options, {});
    return result.best && result.best->verified ? 0 : 1;
  } catch (const waco::EnvironmentError& error) {
    std::printf("%s\n", error.what());
    return 5;
  }
}
