// The baseline's operand and source (see fixed_csr.hpp).
#include "waco/codegen/fixed_csr.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "kernels-templates/pack_memory.hpp"
#include "waco/base/error.hpp"
#include "waco/codegen/template_text.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {
namespace {

template <class From, class To>
void widen(waco_level& level, int threads) {
  // As every packed array is laid out, huge pages included: no contestant's memory is better than the
  // baseline's.
  const int64_t count = level.num_positions;
  auto* wide = static_cast<To*>(waco_allocate(level.num_positions, sizeof(To)));
  if (wide == nullptr) throw TooLargeError("out of memory while packing the baseline");
  const auto* narrow = static_cast<const From*>(level.crd);
  const int useful = waco_useful_threads(count, threads);
#pragma omp parallel for schedule(static) num_threads(useful)
  for (int64_t p = 0; p < count; ++p) wide[p] = static_cast<To>(narrow[p]);
  std::free(level.crd);
  level.crd = wide;
  level.crd_bytes = sizeof(To);
}

}  // namespace

int baseline_crd_bytes(const std::vector<int64_t>& dims) {
  return std::max(4, schedule::coordinate_bytes(*std::max_element(dims.begin(), dims.end())));
}

Storage pack_fixed_csr(const matrix::SparseTensor& tensor, const schedule::Problem& problem, int threads) {
  const auto format = schedule::csr_point(problem, threads).format;
  Storage storage = pack(tensor, format, problem.op, problem.type, threads);
  const bool wide = baseline_crd_bytes(tensor.dims) == 8;
  for (int l = 0; l < storage.abi().format.num_levels; ++l) {
    waco_level& level = storage.abi().level[l];
    if (level.crd == nullptr) continue;
    switch (level.crd_bytes) {
      case 1:
        wide ? widen<uint8_t, int64_t>(level, threads) : widen<uint8_t, int32_t>(level, threads);
        break;
      case 2:
        wide ? widen<uint16_t, int64_t>(level, threads) : widen<uint16_t, int32_t>(level, threads);
        break;
      case 4:
        if (wide) widen<int32_t, int64_t>(level, threads);
        break;
      default:
        break;
    }
  }
  return storage;
}

std::string fixed_csr_source(const schedule::Problem& problem, const Binding& binding) {
  std::string op(schedule::name(problem.op));
  for (char& c : op) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string source =
      fmt::format("#define WACO_OP_{}\n#define WACO_RHS {}\n#define WACO_VALUE {}\n#define WACO_POS {}\n", op,
                  problem.rhs, problem.type == schedule::ValueType::kF32 ? "float" : "double",
                  integer_type(binding.pos_bytes));
  for (int l = 0; l < schedule::sparse_order(problem.op); ++l)
    source +=
        fmt::format("#define WACO_CRD{} {}\n", l, integer_type(binding.crd_bytes[static_cast<size_t>(l)]));
  std::string text(template_text("fixed_csr.hpp"));
  const std::string include = "#include \"kernels-templates/abi.hpp\"\n";
  text.replace(text.find(include), include.size(), std::string(template_text("abi.hpp")));
  return source + text;
}

}  // namespace waco::codegen
