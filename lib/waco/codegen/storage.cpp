// The library's side of packing: tensors and format schedules in, an owned waco_storage out.
#include "waco/codegen/storage.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels-templates/packer.hpp"
#include "kernels-templates/partition.hpp"
#include "waco/base/error.hpp"
#include "waco/codegen/arranged.hpp"

namespace waco::codegen {
namespace {

template <class T>
void gather_values(const waco_storage& storage, const T* stored, int threads, std::vector<double>& values) {
  const int64_t count = storage.num_nonzeros;
  values.resize(static_cast<size_t>(count));
  waco_parallel(threads, [&](int t) {
    waco_gather(&storage, stored, values.data(), waco_share(count, threads, t),
                waco_share(count, threads, t + 1));
  });
}

}  // namespace

waco_format to_abi(const schedule::FormatSchedule& format, schedule::Op op) {
  WACO_ASSERT(format.levels.size() <= WACO_MAX_LEVELS);
  waco_format result{};
  result.order = schedule::sparse_order(op);
  result.num_levels = static_cast<int32_t>(format.levels.size());
  std::copy(format.split.begin(), format.split.end(), result.split);
  result.sort_window = format.sort_window;
  result.cluster_window = format.cluster_window;
  result.arrangement = static_cast<int32_t>(format.arrangement);
  for (size_t l = 0; l < format.levels.size(); ++l) {
    const schedule::Level& level = format.levels[l];
    result.level[l].mode = level.var.index;
    result.level[l].inner = level.var.inner ? 1 : 0;
    result.level[l].kind = static_cast<int32_t>(level.kind);
  }
  return result;
}

int64_t storage_bytes(const waco_storage& storage) {
  int64_t bytes = storage.num_stored * storage.value_bytes;
  for (int l = 0; l < storage.format.num_levels; ++l)
    bytes += waco_pos_count(&storage, l) * storage.pos_bytes +
             storage.level[l].num_positions * storage.level[l].crd_bytes;
  if (storage.row_of != nullptr)
    bytes += waco_stored_rows(&storage) * static_cast<int64_t>(sizeof *storage.row_of);
  return bytes;
}

Storage::Storage(Storage&& other) noexcept : storage_(std::exchange(other.storage_, waco_storage{})) {}

Storage& Storage::operator=(Storage&& other) noexcept {
  if (this != &other) {
    waco_free(&storage_);
    storage_ = std::exchange(other.storage_, waco_storage{});
  }
  return *this;
}

Storage::~Storage() {
  waco_free(&storage_);
}

Storage pack(const matrix::SparseTensor& tensor, const schedule::FormatSchedule& format, schedule::Op op,
             schedule::ValueType type, int threads, bool directly, int least_crd_bytes) {
  WACO_ASSERT(tensor.order() == schedule::sparse_order(op));
  WACO_ASSERT(static_cast<int>(tensor.coords.size()) == tensor.order());
  waco_input input{};
  for (int m = 0; m < tensor.order(); ++m) {
    WACO_ASSERT(static_cast<int64_t>(tensor.coords[m].size()) == tensor.num_nonzeros());
    input.coords[m] = tensor.coords[m].data();
  }
  const waco_format abi_format = to_abi(format, op);
  input.dims = tensor.dims.data();
  input.nnz = tensor.num_nonzeros();
  input.values = tensor.values.data();
  input.value_bytes = sizeof(double);
  std::array<int32_t, WACO_MAX_LEVELS> crd_bytes;
  crd_bytes.fill(least_crd_bytes);
  input.crd_bytes = crd_bytes.data();
  waco_storage packed;
  if (format.clustered()) check_can_be_clustered(tensor);
  const int status =
      waco_pack(&abi_format, &input, schedule::value_bytes(type), threads, directly ? 1 : 0, &packed);
  if (status == WACO_OUT_OF_MEMORY) {
    throw TooLargeError(
        fmt::format("{}: not enough memory to pack {} nonzeros as \"{}\"; choose a format with "
                    "less fill",
                    tensor.name, tensor.num_nonzeros(), schedule::to_text(format, op)));
  }
  if (status == WACO_UNFIT)
    throw TooLargeError(
        fmt::format("{}: too large to be packed as \"{}\"; choose a format of fewer or smaller "
                    "parts",
                    tensor.name, schedule::to_text(format, op)));
  WACO_ASSERT(status == WACO_OK);
  return Storage(packed);
}

DirectPacking direct_packing(const waco_format& format) {
  const waco_direct_way way = waco_find_direct_way(&format);
  if (way == waco_pack_concordant) return DirectPacking::kConcordant;
  if (way == waco_pack_lanes) return DirectPacking::kLanes;
  if (way == waco_pack_blocks) return DirectPacking::kBlocks;
  if (way == waco_pack_halves) return DirectPacking::kHalves;
  return way == waco_pack_columns ? DirectPacking::kColumns : DirectPacking::kNone;
}

std::vector<int64_t> partition(const Storage& storage, int threads, bool may_cut_rows, int64_t short_row) {
  WACO_ASSERT(threads >= 1);
  static_assert(kShortRow == WACO_SHORT_ROW);
  std::vector<int64_t> bounds(2 * (static_cast<size_t>(threads) + 1));
  waco_partition(&storage.abi(), threads, may_cut_rows ? short_row : INT64_MAX, bounds.data());
  return bounds;
}

void unpack_values(const Storage& storage, const void* stored_values, int threads,
                   std::vector<double>& values) {
  const waco_storage& s = storage.abi();
  s.value_bytes == 4 ? gather_values(s, static_cast<const float*>(stored_values), threads, values)
                     : gather_values(s, static_cast<const double*>(stored_values), threads, values);
}

}  // namespace waco::codegen
