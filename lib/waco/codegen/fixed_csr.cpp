// The baseline's operand and source (see fixed_csr.hpp).
#include "waco/codegen/fixed_csr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "waco/codegen/template_text.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {

int baseline_crd_bytes(const std::vector<int64_t>& dims) {
  return std::max(4, schedule::coordinate_bytes(*std::max_element(dims.begin(), dims.end())));
}

Storage pack_fixed_csr(const matrix::SparseTensor& tensor, const schedule::Problem& problem, int threads) {
  constexpr bool kDirectly = true;
  const auto format = schedule::csr_point(problem, threads).format;
  return pack(tensor, format, problem.op, problem.type, threads, kDirectly, baseline_crd_bytes(tensor.dims));
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
