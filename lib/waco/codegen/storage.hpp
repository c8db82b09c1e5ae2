// Packed storage of a sparse operand in any legal format: the library's owner of a waco_storage.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels-templates/abi.hpp"
#include "waco/matrix/sparse_tensor.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::codegen {

waco_format to_abi(const schedule::FormatSchedule& format, schedule::Op op);

/// Bytes of pos, crd, values and row permutation, without padding and without the `source` map.
int64_t storage_bytes(const waco_storage& storage);

/// Owns a waco_storage.
class Storage {
 public:
  explicit Storage(waco_storage storage) : storage_(storage) {}
  Storage(Storage&& other) noexcept;
  Storage& operator=(Storage&& other) noexcept;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  const waco_storage& abi() const { return storage_; }
  waco_storage& abi() { return storage_; }
  int64_t bytes() const { return storage_bytes(storage_); }

 private:
  waco_storage storage_{};
};

/// Packs `tensor` on `threads` threads. Throws EnvironmentError when memory runs out. With `directly` false
/// the format's direct way is not taken, which gives the same arrays and is there to check that. Coordinates
/// take the fewest bytes that hold them, but no fewer than `least_crd_bytes`.
Storage pack(const matrix::SparseTensor& tensor, const schedule::FormatSchedule& format, schedule::Op op,
             schedule::ValueType type, int threads, bool directly = true, int least_crd_bytes = 0);

/// How sorted input is packed without sorting; kNone: only as any format is (kernels-templates/packer.hpp).
enum class DirectPacking { kNone, kConcordant, kLanes, kBlocks, kHalves, kColumns };
DirectPacking direct_packing(const waco_format& format);

/// Rows of up to so much work are not worth cutting in two (WACO_SHORT_ROW).
inline constexpr int64_t kShortRow = 128;

/// Bounds of `threads` contiguous ranges of equal work over level 0 (see waco_partition): [2 * (threads +
/// 1)]. Rows of up to `short_row` work stay whole, all unless they may be cut.
std::vector<int64_t> partition(const Storage& storage, int threads, bool may_cut_rows,
                               int64_t short_row = kShortRow);

/// Values in storage order -> `values` in input order (fill dropped); the inverse is waco_store_values.
void unpack_values(const Storage& storage, const void* stored_values, int threads,
                   std::vector<double>& values);

}  // namespace waco::codegen
