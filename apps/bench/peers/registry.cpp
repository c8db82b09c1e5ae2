// Which libraries there are, and which of their peers take part.
#include <set>

#include "apps/bench/peers/libraries.hpp"
#include "waco/base/error.hpp"

namespace waco::bench {
namespace {

[[maybe_unused]] Library absent(const char* name, const char* title, const char* remark) {
  return {name, title, "", remark, {}};
}

[[maybe_unused]] constexpr const char* kInstall =
    "not found when waco-bench was built; scripts/install-peers.sh installs it";
[[maybe_unused]] constexpr const char* kByHand =
    "not found when waco-bench was built; not in Debian, install it by hand";

}  // namespace

int64_t PeerInput::csr_bytes(int index_bytes) const {
  return (num_rows() + 1 + num_nonzeros()) * index_bytes +
         num_nonzeros() * schedule::value_bytes(problem.type);
}

int64_t PeerInput::dense_form_bytes() const {
  int64_t bytes = 0;
  const bool is_too_large =
      __builtin_mul_overflow(num_rows(), num_columns(), &bytes) ||
      __builtin_mul_overflow(bytes, int64_t{schedule::value_bytes(problem.type)}, &bytes);
  return is_too_large ? INT64_MAX : bytes;
}

std::optional<std::string> refuse_all_but_spmv_and_spmm(const PeerInput& input, std::string_view title) {
  const schedule::Op op = input.problem.op;
  if (op != schedule::Op::kSpmv && op != schedule::Op::kSpmm)
    return fmt::format("{} has no {}", title, schedule::name(op));
  if (input.num_nonzeros() == 0) return fmt::format("{} is not given empty matrices", title);
  return std::nullopt;
}

std::vector<Library> all_libraries() {
  std::vector<Library> libraries;
#ifdef WACO_HAVE_MKL
  libraries.push_back(mkl_library());
#else
  libraries.push_back(absent("mkl", "Intel MKL", kInstall));
#endif
#ifdef WACO_HAVE_EIGEN
  libraries.push_back(eigen_library());
#else
  libraries.push_back(absent("eigen", "Eigen", kInstall));
#endif
#ifdef WACO_HAVE_LIBRSB
  libraries.push_back(librsb_library());
#else
  libraries.push_back(absent("librsb", "librsb", kInstall));
#endif
#ifdef WACO_HAVE_GRAPHBLAS
  libraries.push_back(graphblas_library());
#else
  libraries.push_back(absent("graphblas", "SuiteSparse:GraphBLAS", kInstall));
#endif
#ifdef WACO_HAVE_AOCL_SPARSE
  libraries.push_back(aocl_sparse_library());
#else
  libraries.push_back(absent("aocl_sparse", "AMD AOCL-Sparse", kByHand));
#endif
#ifdef WACO_HAVE_LIBXSMM
  libraries.push_back(libxsmm_library());
#else
  libraries.push_back(absent("libxsmm", "LIBXSMM", kInstall));
#endif
#ifdef WACO_HAVE_OPENBLAS
  libraries.push_back(openblas_library());
#else
  libraries.push_back(absent("openblas", "OpenBLAS", kInstall));
#endif
  return libraries;
}

std::vector<Peer> choose_peers(const std::vector<Library>& libraries, const std::vector<std::string>& names) {
  std::vector<Peer> chosen;
  const std::set<std::string> wanted(names.begin(), names.end());
  if (wanted == std::set<std::string>{"none"}) return chosen;
  std::set<std::string> unknown = wanted;
  for (const Library& library : libraries) {
    const bool by_library = wanted.contains(library.name);
    if (by_library && !library.available())
      throw UsageError(fmt::format("--peers {}: {}", library.name, library.remark));
    unknown.erase(library.name);
    for (const Peer& peer : library.peers) {
      unknown.erase(peer.name);
      if (!wanted.empty() && !by_library && !wanted.contains(peer.name)) continue;
      chosen.push_back(peer);
      chosen.back().remark = library.remark;
    }
  }
  if (!unknown.empty())
    throw UsageError(fmt::format("--peers {}: there is no such peer; see --list-peers", *unknown.begin()));
  return chosen;
}

}  // namespace waco::bench
