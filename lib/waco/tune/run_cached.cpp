// Runs that compile nothing: whose kernels they use, and which points have one.
#include <memory>

#include "waco/base/error.hpp"
#include "waco/measure/noted_compilers.hpp"
#include "waco/measure/requests.hpp"
#include "waco/model/probe.hpp"
#include "waco/tune/run.hpp"

namespace waco::tune {

using schedule::SuperSchedule;

/// What code is made for. Ranking alone needs no kernel, and takes what is known of kernels only where no
/// compiler is to be asked.
CompilerTarget Run::target() {
  if (!options_.no_compile) return measure::remembered_target(options_.compiler, signals_);
  const auto choose = [this] {
    kernels_of_ = measure::compiler_of_kernels(tensor_, options_.problem, options_.compiler);
    return kernels_of_->target();
  };
  if (!only_ranks()) return choose();
  try {
    return choose();
  } catch (const EnvironmentError&) {  // no kernels: as a compiler for this processor would
    CompilerTarget native;
    native.vector_bytes = model::usable_vector_bytes();
    return native;
  }
}

/// The kernels that are there already, which is all it looks for.
std::shared_ptr<const measure::KernelCache> Run::kernels() const {
  return std::make_shared<const measure::KernelCache>(
      kernels_of_ ? *kernels_of_ : measure::Compiler::find(options_.compiler, signals_),
      std::filesystem::path{}, measure::kernel_cache_limit(), measure::Compiling::kNever);
}

bool Run::is_compiled(const measure::KernelCache& cache, const SuperSchedule& point) const {
  return cache.has(measure::kernel_request(point, tensor_.dims, measure::usual_pos_bytes(tensor_),
                                           result_.machine.compiler.vector_bytes));
}

/// Points without a kernel are passed over, and those that follow in rank take their places.
void Run::keep_to_cache() {
  result_.no_compile = options_.no_compile;
  if (!options_.no_compile || only_ranks()) return;
  ranking_->keep_to([this, cache = kernels()](const SuperSchedule& point) {
    const bool there = is_compiled(*cache, point);
    if (!there && lacking_.insert(schedule::to_text(point)).second) ++result_.num_without_kernel;
    return there;
  });
}

}  // namespace waco::tune
