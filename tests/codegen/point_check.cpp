// See point_check.hpp.
#include "point_check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "waco/base/error.hpp"
#include "waco/codegen/arranged.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/measure/operands.hpp"
#include "waco/measure/reference.hpp"
#include "waco/pattern/pattern_counts.hpp"
#include "waco/schedule/space.hpp"
#include "waco/schedule/storage_size.hpp"

namespace waco::codegen {
namespace {

int64_t random_dim(Random& random) {
  static constexpr int64_t kDims[] = {1, 2, 3, 5, 8, 16, 17, 31, 48, 64, 70};
  return kDims[random.below(std::size(kDims))];
}

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  waco_kernel_function kernel() const {
    return handle_ == nullptr ? nullptr
                              : reinterpret_cast<waco_kernel_function>(dlsym(handle_, "waco_kernel"));
  }

 private:
  void* handle_;
};

/// Memory of which no byte of the first megabyte past the end can be touched, nor of one before the page in
/// which it begins, and before which all numbers are NaN: gathers and other intrinsics are not seen by
/// sanitizers.
class GuardedBytes {
 public:
  explicit GuardedBytes(int64_t size) : size_(static_cast<size_t>(size)) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t usable = (size_ + page - 1) / page * page;
    mapped_ = kGuard + usable + kGuard;
    void* begin = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw EnvironmentError("no memory");
    begin_ = static_cast<char*>(begin);
    mprotect(begin_, kGuard, PROT_NONE);
    mprotect(begin_ + kGuard + usable, kGuard, PROT_NONE);
    data_ = begin_ + kGuard + usable - size_;
    std::memset(begin_ + kGuard, 0xff, usable - size_);
  }
  GuardedBytes(int64_t size, const void* content) : GuardedBytes(size) {
    if (size_ > 0) std::memcpy(data_, content, size_);
  }
  ~GuardedBytes() { munmap(begin_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  char* data() { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kGuard = 1 << 20;
  size_t size_, mapped_ = 0;
  char *begin_ = nullptr, *data_ = nullptr;
};

void poison(char* data, size_t size, int value_bytes) {
  for (size_t at = 0; at + static_cast<size_t>(value_bytes) <= size; at += static_cast<size_t>(value_bytes)) {
    const float f = std::numeric_limits<float>::quiet_NaN();
    const double d = std::numeric_limits<double>::quiet_NaN();
    if (value_bytes == 4)
      std::memcpy(data + at, &f, 4);
    else
      std::memcpy(data + at, &d, 8);
  }
}

/// Poisons the rows of a dense operand that no nonzero meets. `met` is the coordinate of every nonzero.
void poison_rest(GuardedBytes& dense, const std::vector<int64_t>& met, int64_t rhs, int value_bytes) {
  const std::set<int64_t> rows(met.begin(), met.end());
  const auto row_bytes = static_cast<size_t>(rhs * value_bytes);
  for (size_t row = 0; row * row_bytes < dense.size(); ++row)
    if (!rows.contains(static_cast<int64_t>(row)))
      poison(dense.data() + row * row_bytes, row_bytes, value_bytes);
}

}  // namespace

matrix::SparseTensor random_small_tensor(int order, Random& random) {
  matrix::SparseTensor tensor;
  tensor.name = "random";
  for (int m = 0; m < order; ++m) tensor.dims.push_back(random_dim(random));
  if (random.chance(0.2)) tensor.dims[random.below(tensor.dims.size())] = 300;  // coordinates of two bytes
  if (random.chance(0.03)) {
    tensor.coords.resize(static_cast<size_t>(order));
    return tensor;
  }
  double cells = 1;
  for (const int64_t dim : tensor.dims) cells *= static_cast<double>(dim);
  static constexpr double kDensity[] = {0.01, 0.05, 0.2, 0.6, 1.0};
  const auto count = static_cast<int64_t>(std::min(1500.0, std::ceil(cells * kDensity[random.below(5)])));
  const bool skewed = random.chance(0.3), blocked = random.chance(0.3);
  tensor.coords.resize(static_cast<size_t>(order));
  for (int64_t n = 0; n < count; ++n) {
    for (size_t m = 0; m < tensor.coords.size(); ++m) {
      const auto dim = static_cast<uint64_t>(tensor.dims[m]);
      uint64_t c = random.below(dim);
      if (skewed && random.chance(0.5)) c = random.below(1 + dim / 8);
      if (blocked && n > 0 && random.chance(0.8))
        c = std::min<uint64_t>(dim - 1, static_cast<uint64_t>(tensor.coords[m].back()) + random.below(2));
      tensor.coords[m].push_back(static_cast<int64_t>(c));
    }
    tensor.values.push_back(2 * random.uniform() - 1);
  }
  matrix::sort_and_merge(tensor);
  return tensor;
}

/// Whatever skewed formats and their schedules may choose.
schedule::SuperSchedule random_skewed(const schedule::Problem& problem, Random& random) {
  static constexpr const char* kPolicies[] = {"static", "balanced", "dynamic,1", "dynamic,8"};
  const uint64_t rows = random.chance(0.2) ? 32 : 2 + random.below(15);
  const uint64_t threads = 1 + random.below(3);
  return schedule::parse(fmt::format(
      "{} | A: i1:U k:C i0:U [i/{} skewed] | loop: i1 k i0 | par: {} | unroll {}", to_text(problem), rows,
      threads == 1 ? "serial" : fmt::format("i1 {} x{}", kPolicies[random.below(4)], threads),
      1 << random.below(5)));
}

Case random_case(uint64_t seed, int64_t n, const std::string& only_op) {
  Random random(seed * 0x100000001b3ull + static_cast<uint64_t>(n));
  static constexpr schedule::Op kOps[] = {schedule::Op::kSpmv, schedule::Op::kSpmm, schedule::Op::kSddmm,
                                          schedule::Op::kMttkrp};
  static constexpr int64_t kSizes[] = {1, 2, 3, 6, 7, 8, 16, 17, 20, 32, 33, 40, 64, 100, 256, 300};
  schedule::Problem problem;
  problem.op = only_op.empty() ? kOps[n % 4] : *schedule::parse_op(only_op);
  problem.type = random.chance(0.5) ? schedule::ValueType::kF32 : schedule::ValueType::kF64;
  problem.rhs = schedule::has_dense_index(problem.op) ? kSizes[random.below(std::size(kSizes))] : 1;
  Case result;
  result.tensor = random_small_tensor(schedule::sparse_order(problem.op), random);
  schedule::SpaceLimits limits;
  limits.max_threads = 3;
  schedule::ScheduleSpace space(problem, result.tensor.dims, limits);
  result.point = random.chance(0.5) ? space.sample_uniform(random)
                                    : space.sample_stratified(
                                          random, schedule::kStrata[random.below(schedule::kStrata.size())]);
  if (result.tensor.order() == 2 && random.chance(0.25))
    result.point = random.chance(0.5)
                       ? schedule::clustered(result.point, static_cast<int64_t>(random.below(12)))
                       : schedule::arranged(result.point, schedule::Arrangement::kClustered);
  if (problem.op == schedule::Op::kSpmv && random.chance(0.2)) result.point = random_skewed(problem, random);
  return result;
}

const measure::KernelCache& test_cache() {
  static const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("waco-point-check-{}", getpid());
  static const measure::KernelCache cache(measure::Compiler::find(), folder);
  static const int at_exit = std::atexit([] { std::filesystem::remove_all(folder); });
  (void)at_exit;
  return cache;
}

std::string check_point(const schedule::SuperSchedule& point, const matrix::SparseTensor& given,
                        const measure::KernelCache& cache, int vector_bytes) {
  const auto& problem = point.problem;
  const auto exact = measure::exact_bits(problem, given);  // any lost or exchanged product shows
  matrix::SparseTensor tensor = given;
  measure::draw_values(tensor, 7, 1, exact);
  const std::array<int64_t, 3> dims = matrix::three_dims(tensor.dims);
  Storage storage = pack(tensor, point.format, problem.op, problem.type, 2);
  const matrix::SparseTensor stored = arranged(tensor, point.format, 2);
  const pattern::PatternCounts counts(stored);
  const auto predicted = schedule::predict_storage(point.format, problem.op, problem.type, counts);
  const int64_t num_stored = storage.abi().num_stored;
  if (predicted.total_bytes != storage.bytes() || predicted.num_stored != num_stored)
    return fmt::format("predicted {} bytes, {} values; packed {} bytes, {} values", predicted.total_bytes,
                       predicted.num_stored, storage.bytes(), num_stored);

  if (vector_bytes == 0) vector_bytes = cache.compiler().target().vector_bytes;
  const Binding binding = bind(point, dims, num_stored, vector_bytes);
  for (int l = 0; l < storage.abi().format.num_levels; ++l)
    if (storage.abi().level[l].crd_bytes != binding.crd_bytes[static_cast<size_t>(l)])
      return fmt::format("level {} was packed with {}-byte coordinates, the kernel expects {}", l,
                         storage.abi().level[l].crd_bytes, binding.crd_bytes[static_cast<size_t>(l)]);
  const auto kernel = cache.get({kernel_source(point, binding), kKernelFlags}, 120);
  if (!kernel.ok()) return "does not compile: " + kernel.diagnostic;
  const Library library(kernel.library.string());
  if (library.kernel() == nullptr) return "cannot be loaded";

  const measure::DenseOperands operands(problem, tensor.dims, 7, 1, exact);
  const measure::Reference reference(tensor, problem, operands, 7, 1, measure::Reference::kMaxStored,
                                     exact.has_value());
  const int64_t out_size = measure::output_elements(problem, tensor.dims, num_stored);
  const int bytes = schedule::value_bytes(problem.type);
  GuardedBytes out(out_size * bytes);
  const std::array<int64_t, 2> elements = measure::dense_elements(problem, tensor.dims);
  GuardedBytes dense0(elements[0] * bytes, operands.data(0));
  GuardedBytes dense1(elements[1] * bytes, operands.data(1));
  if (num_stored == tensor.num_nonzeros()) {  // without fill: only nonzeros are multiplied with anything
    const size_t mode = problem.op == schedule::Op::kSddmm ? 0 : 1;
    poison_rest(dense0, tensor.coords[mode], problem.rhs, bytes);
    if (elements[1] > 0) poison_rest(dense1, tensor.coords[mode + 1], problem.rhs, bytes);
  }
  std::vector<char> scratch(static_cast<size_t>(scratch_bytes(point, dims, num_stored)) + 64);
  poison(scratch.data(), scratch.size(), bytes);
  std::vector<int64_t> bounds;
  waco_call call{};
  call.dense[0] = dense0.data();
  call.dense[1] = dense1.data();
  call.out = out.data();
  call.rhs = problem.rhs;
  call.threads = point.compute.threads;
  call.chunk = std::max(1, point.compute.chunk);
  call.prefetch = point.compute.prefetch;
  call.scratch = scratch.data();
  if (needs_partition(point)) {
    bounds = partition(storage, point.compute.threads, partition_may_cut_rows(point), /*short_row=*/0);
    call.partition = bounds.data();
  }
  for (int run = 0; run < 2; ++run) {  // twice: a kernel that accumulates is wrong the second time
    if (run == 0) poison(out.data(), out.size(), bytes);
    if (library.kernel()(&storage.abi(), &call) != WACO_OK) return "returned an error";
    const bool in_storage_order = schedule::output_is_sparse(problem.op);
    std::vector<double> values;
    if (in_storage_order) unpack_values(storage, out.data(), 1, values);
    const measure::Verification verification =
        in_storage_order ? reference.verify_values(values) : reference.verify(out.data());
    if (!verification.ok) return fmt::format("run {}: {}", run, verification.message);
  }
  return {};
}

}  // namespace waco::codegen
