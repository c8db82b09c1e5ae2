// A peer: one way of calling one library for the ops of the toolchain. The interface of this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/op.hpp"

namespace waco::bench {

/// What every peer is handed: the sparse operand as CSR arrays and the dense operands that all contestants
/// share. Nothing here is owned; all of it outlives the peers.
struct PeerInput {
  schedule::Problem problem;
  int threads = 1;
  const matrix::SparseTensor* tensor = nullptr;  ///< a matrix
  const int32_t* row_begin = nullptr;            ///< [rows + 1]
  const int32_t* columns = nullptr;              ///< [nonzeros], sorted in every row
  const void* values = nullptr;                  ///< [nonzeros], of the problem's type
  const void* dense[2] = {nullptr, nullptr};     ///< B and C, laid out as schedule::Op says
  void* out = nullptr;                           ///< may be written while preparing, to try things out

  int64_t num_rows() const { return tensor->dims[0]; }
  int64_t num_columns() const { return tensor->dims[1]; }
  int64_t num_nonzeros() const { return tensor->num_nonzeros(); }
  bool f64() const { return problem.type == schedule::ValueType::kF64; }
  /// Bytes of CSR with `index_bytes` for each column and row pointer.
  int64_t csr_bytes(int index_bytes) const;
  /// Bytes of the sparse operand with all its zeros stored.
  int64_t dense_form_bytes() const;
};

/// A peer whose set-up for one input is done. Throws EnvironmentError when the library reports a failure.
class PreparedPeer {
 public:
  virtual ~PreparedPeer() = default;
  /// One call: the whole result to `out`, overwriting it. This is what is timed.
  virtual void run(void* out) = 0;
  /// Untimed: brings the result to `out` when the library keeps it in an object of its own.
  virtual void finish(void* /*out*/) {}
  /// Untimed: bytes of the sparse operand as the library holds it.
  virtual int64_t stored_bytes() const = 0;
};

struct Peer {
  std::string name;     ///< of the contestant: "mkl_csr_hint"
  std::string library;  ///< by which --peers chooses: "mkl"
  std::string note;     ///< how it is called, in a few words
  /// Why it does not take part in this problem ("no sddmm"), or nullopt.
  std::function<std::optional<std::string>(const PeerInput&)> refusal;
  /// Inspects, converts, tunes; its wall clock is the set-up time. Called up to three times, each after what
  /// the last one made is destroyed (measure/set_up_time.hpp). Throws EnvironmentError.
  std::function<std::unique_ptr<PreparedPeer>(const PeerInput&)> prepare;
  std::string remark = {};  ///< of its library, where that is chosen
};

/// Why a library, called `title`, that has SpMV and SpMM and is given no empty matrix, does not take part in
/// a problem, or nullopt.
std::optional<std::string> refuse_all_but_spmv_and_spmm(const PeerInput& input, std::string_view title);

/// A library that waco-bench knows.
struct Library {
  std::string name;     ///< "mkl"
  std::string title;    ///< "Intel MKL (inspector-executor)"
  std::string version;  ///< empty when it was not found when waco-bench was built
  std::string remark;   ///< what a reader of its times should know, or why it can't be used
  std::vector<Peer> peers;
  bool available() const { return !peers.empty(); }
};

/// All libraries, found or not, in a fixed order.
std::vector<Library> all_libraries();

/// The peers of the chosen libraries or contestants; an empty choice means all that are there, "none" none.
/// Throws UsageError for a name that is unknown or of a library that was not found.
std::vector<Peer> choose_peers(const std::vector<Library>& libraries, const std::vector<std::string>& names);

}  // namespace waco::bench
