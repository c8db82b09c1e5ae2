// Packing, loading, verifying: everything that happens to a contestant before it is timed.
#include "waco/measure/workbench.hpp"

#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <thread>

#include "waco/base/clock.hpp"
#include "waco/base/error.hpp"
#include "waco/base/thread_places.hpp"
#include "waco/codegen/fixed_csr.hpp"
#include "waco/codegen/kernel.hpp"
#include "waco/measure/set_up_time.hpp"
#include "waco/measure/waits.hpp"

namespace waco::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kGuardBytes = 1024;  // behind the output
constexpr unsigned char kGuard = 0xa5;
/// A first run this many times over the limit needs no second one to be called slow.
constexpr double kFarOff = 2;
/// Below this time a slow run may be the scheduler's doing: a thread that waits for its slice costs
/// milliseconds.
constexpr double kSchedulerNoise_ns = 50e6;
/// A slower run is repeated once, a faster one several times before it is called too slow; several times,
/// too, one that threads may have waited through, unless it takes so long.
constexpr double kSchedulerSlice_ns = 10e6;
constexpr double kSurelySlow_ns = 500e6;
constexpr int kMaxRuns = 8;
/// Between the halves of these, in which others that took the processors may be done.
constexpr std::chrono::milliseconds kPause(20);

matrix::SparseTensor with_drawn_values(matrix::SparseTensor tensor, uint64_t seed, int threads,
                                       const std::optional<ExactBits>& exact) {
  draw_values(tensor, seed, threads, exact);
  return tensor;
}

/// Whether kernels were loaded that bring LLVM's runtime, as those by clang do.
bool is_libomp_loaded = false;

/// That runtime pins its threads to OpenMP's places as the one of this program does, but only to those that
/// the thread that starts it may run on, which this program's runtime has pinned.
void let_libomp_pin_threads() {
  if (!is_libomp_loaded) release_this_thread();
  is_libomp_loaded = true;
}

}  // namespace

KernelLibrary::KernelLibrary(const std::filesystem::path& file) {
  // A library built with -ffast-math switches denormals off when it is loaded; all contestants run in the
  // same mode.
  fenv_t environment;
  std::fegetenv(&environment);
  handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::fesetenv(&environment);
  if (handle_ == nullptr) throw EnvironmentError(fmt::format("the kernel can't be loaded: {}", ::dlerror()));
  kernel_ = reinterpret_cast<waco_kernel_function>(::dlsym(handle_, "waco_kernel"));
  if (::dlsym(handle_, "__kmpc_fork_call") != nullptr) let_libomp_pin_threads();
}

KernelLibrary::~KernelLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void Workbench::end_waiting_threads() {
#if defined(__clang__) || __GNUC__ >= 9
  if (is_libomp_loaded) omp_pause_resource_all(omp_pause_soft);
#endif
}

Workbench::Workbench(matrix::SparseTensor tensor, const schedule::Problem& problem, uint64_t seed,
                     int threads, int64_t reference_limit)
    : exact_(exact_bits(problem, tensor)),
      tensor_(with_drawn_values(std::move(tensor), seed, threads, exact_)),
      problem_(problem),
      threads_(threads),
      operands_(problem_, tensor_.dims, seed, threads_, exact_),
      reference_(tensor_, problem_, operands_, seed, threads_, reference_limit, exact_.has_value()) {}

Preparation Workbench::prepare(const Contestant& contestant, double censor_ns, Entrant& entrant) {
  return guarded([&](Preparation& preparation) {
    preparation = pack(contestant, entrant);
    if (preparation.status != Status::kOk) return;
    const Trial trial{[&] { return run(entrant); }, [&] { return compare(entrant); }};
    run_and_compare(trial, censor_ns, preparation);
  });
}

Preparation Workbench::check(Entrant& entrant) {
  return guarded([&](Preparation& preparation) {
    RunTime time;
    reserve_output(entrant.storage->abi().num_stored);
    poison_output();
    run_once({[&] { return run(entrant); }, [&] { return compare(entrant); }}, preparation, time);
  });
}

Preparation Workbench::prepare(const ForeignKernel& kernel, double censor_ns) {
  return guarded([&](Preparation& preparation) {
    reserve_output(tensor_.num_nonzeros());
    const auto run = [&] {
      kernel.run(output());
      return static_cast<int>(WACO_OK);
    };
    const auto compare = [&] {
      if (kernel.finish) kernel.finish(output());
      return compare_input_order();
    };
    preparation.status = Status::kOk;
    try {
      run_and_compare({run, compare}, censor_ns, preparation);
    } catch (const EnvironmentError& error) {  // how a failure of a library is told
      preparation.status = Status::kCrash;
      preparation.message = error.what();
    }
  });
}

Preparation Workbench::guarded(const std::function<void(Preparation&)>& body) const {
  Preparation preparation;
  try {
    body(preparation);
  } catch (const std::bad_alloc&) {
    preparation.status = Status::kConstraint;
    preparation.message = "not enough memory";
  } catch (const EnvironmentError& error) {
    preparation.status = Status::kConstraint;
    preparation.message = error.what();
  } catch (const std::exception& error) {  // a bug of ours that this candidate meets; the others go on
    preparation.status = Status::kCrash;
    preparation.message = error.what();
  }
  return preparation;
}

Preparation Workbench::pack(const Contestant& contestant, Entrant& entrant) {
  const schedule::SuperSchedule& point = contestant.point;
  Preparation preparation;
  preparation.pack_ns = static_cast<int64_t>(shortest_set_up_ns(
      [&] { entrant.storage.reset(); },
      [&] {
        entrant.storage = std::make_unique<codegen::Storage>(
            contestant.fixed_csr
                ? codegen::pack_fixed_csr(tensor_, problem_, threads_)
                : codegen::pack(tensor_, point.format, problem_.op, problem_.type, threads_));
      }));
  const waco_storage& storage = entrant.storage->abi();
  preparation.stored_bytes = entrant.storage->bytes();
  preparation.num_stored = storage.num_stored;
  if (contestant.pos_bytes != 0 && contestant.pos_bytes != storage.pos_bytes) {
    preparation.needed_pos_bytes = storage.pos_bytes;
    preparation.message = "the kernel reads positions of another width than were packed";
    return preparation;
  }

  try {
    entrant.library = std::make_unique<KernelLibrary>(contestant.library);
  } catch (const EnvironmentError& error) {
    preparation.unloadable = true;
    preparation.message = error.what();
    return preparation;
  }
  if (entrant.library->kernel() == nullptr)
    throw EnvironmentError("the kernel's library defines no waco_kernel");
  const int threads = std::max(point.compute.threads, 1);
  if (codegen::needs_partition(point)) {
    entrant.partition = codegen::partition(*entrant.storage, threads, codegen::partition_may_cut_rows(point));
  }
  const int64_t scratch = codegen::scratch_bytes(point, matrix::three_dims(tensor_.dims), storage.num_stored);
  if (scratch > 0) {
    entrant.scratch = Buffer(static_cast<size_t>(scratch), 3);
    // Its pages are brought in here: that may take longer than the kernel, whose first run is judged.
    poison(entrant.scratch.data(), scratch);
  }
  reserve_output(storage.num_stored);
  entrant.call.dense[0] = operands_.data(0);
  entrant.call.dense[1] = operands_.data(1);
  entrant.call.rhs = problem_.rhs;
  entrant.call.threads = threads;
  entrant.call.chunk =
      contestant.fixed_csr ? schedule::csr_chunk(problem_.op) : std::max(point.compute.chunk, 1);
  entrant.call.prefetch = point.compute.prefetch;
  entrant.call.partition = entrant.partition.empty() ? nullptr : entrant.partition.data();
  entrant.call.scratch = entrant.scratch.data();
  preparation.status = Status::kOk;
  return preparation;
}

Workbench::RunTime Workbench::time_of(const std::function<void()>& call) {
  const Waits waits;
  const Clock::time_point start = Clock::now();
  call();
  const double ns = ns_since(start);
  return {ns, ns < kSurelySlow_ns ? ns - waits.longest_ns() : ns};
}

void Workbench::run_and_compare(const Trial& trial, double censor_ns, Preparation& preparation) {
  RunTime first;
  poison_output();
  if (!run_once(trial, preparation, first)) return;
  RunTime fastest = first;
  const auto take = [&](const RunTime& next) {
    fastest = {std::min(fastest.ns, next.ns), std::min(fastest.proved_ns, next.proved_ns)};
  };
  if (needs_second_run(first, censor_ns)) {
    // Over its own result, not over poison: a kernel that accumulates instead of overwriting fails here.
    RunTime second;
    if (!run_once(trial, preparation, second)) {
      preparation.message = "on its second call, " + preparation.message;
      return;
    }
    take(second);
  }
  const auto seems_slow = [&] { return censor_ns > 0 && fastest.ns > censor_ns; };
  const auto may_be_fast = [&] { return fastest.ns < kSchedulerSlice_ns || fastest.proved_ns <= censor_ns; };
  for (int runs = 2; runs < kMaxRuns && seems_slow() && may_be_fast(); ++runs) {
    if (runs == kMaxRuns / 2) std::this_thread::sleep_for(kPause);
    take(time_of([&] { trial.run(); }));
  }
  preparation.first_run_ns = fastest.ns;
  preparation.censored = seems_slow();
}

bool Workbench::needs_second_run(const RunTime& first, double censor_ns) const {
  if (censor_ns > 0 && first.proved_ns > std::max(kFarOff * censor_ns, kSchedulerNoise_ns)) return false;
  if (censor_ns > 0 && first.ns > censor_ns) return true;  // caches were cold: it may yet be fast enough
  return single_run_ns_ <= 0 || first.ns <= single_run_ns_;
}

bool Workbench::run_once(const Trial& trial, Preparation& preparation, RunTime& time) {
  int code = WACO_OK;
  time = time_of([&] { code = trial.run(); });
  preparation.status = Status::kWrong;
  if (code != WACO_OK) {
    preparation.message = fmt::format("the kernel returned status {}", code);
    return false;
  }
  if (overrun()) {
    preparation.message = "the kernel wrote before the begin or past the end of its output";
    return false;
  }
  const Verification verification = trial.compare();
  preparation.max_rel_error = std::max(preparation.max_rel_error, verification.max_rel_error);
  preparation.message = verification.message;
  if (verification.ok) preparation.status = Status::kOk;
  return verification.ok;
}

Verification Workbench::compare(const Entrant& entrant) {
  if (!schedule::output_is_sparse(problem_.op)) return reference_.verify(output());
  codegen::unpack_values(*entrant.storage, output(), threads_, values_);
  return reference_.verify_values(values_);
}

Verification Workbench::compare_input_order() {
  if (!schedule::output_is_sparse(problem_.op)) return reference_.verify(output());
  const int64_t count = tensor_.num_nonzeros();
  const bool f32 = problem_.type == schedule::ValueType::kF32;
  values_.resize(static_cast<size_t>(count));
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t p = 0; p < count; ++p)
    values_[p] = f32 ? static_cast<double>(static_cast<const float*>(output())[p])
                     : static_cast<const double*>(output())[p];
  return reference_.verify_values(values_);
}

int Workbench::run(Entrant& entrant) {
  entrant.call.out = output();  // the output may have grown for a later contestant
  return entrant.library->kernel()(&entrant.storage->abi(), &entrant.call);
}

void Workbench::reserve_output(int64_t num_stored) {
  output_bytes_ = output_elements(problem_, tensor_.dims, num_stored) * schedule::value_bytes(problem_.type);
  const auto needed = static_cast<size_t>(kBeforeOutput + output_bytes_ + kGuardBytes);
  if (output_.bytes() < needed) output_ = Buffer(needed);
}

/// All bits set is a NaN in both value types: an element that is not written shows. Small pieces, so that
/// each thread writes an equal share, which the first time decides where the pages are.
void Workbench::poison(void* memory, int64_t size) const {
  auto* bytes = static_cast<unsigned char*>(memory);
  constexpr int64_t kPiece = 1 << 14;
  const int64_t pieces = (size + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) num_threads(threads_)
  for (int64_t n = 0; n < pieces; ++n) {
    std::memset(bytes + n * kPiece, 0xff, static_cast<size_t>(std::min(kPiece, size - n * kPiece)));
  }
}

void Workbench::poison_output() {
  poison(output(), output_bytes_);
  auto* begin = static_cast<unsigned char*>(output());
  std::memset(begin - kBeforeOutput, kGuard, kBeforeOutput);
  std::memset(begin + output_bytes_, kGuard, kGuardBytes);
}

bool Workbench::overrun() const {
  const auto* begin = static_cast<const unsigned char*>(output());
  const auto is_written = [](unsigned char byte) { return byte != kGuard; };
  return std::any_of(begin - kBeforeOutput, begin, is_written) ||
         std::any_of(begin + output_bytes_, begin + output_bytes_ + kGuardBytes, is_written);
}

}  // namespace waco::measure
