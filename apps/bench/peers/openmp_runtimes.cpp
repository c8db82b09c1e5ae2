// Asking the loader what every loaded object takes for OpenMP.
#include "apps/bench/peers/openmp_runtimes.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <vector>

#include "waco/base/error.hpp"

namespace waco::bench {

std::set<std::string> openmp_runtimes_with(const std::filesystem::path& library) {
  void* loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw EnvironmentError(fmt::format("{} can't be loaded", library.string()));
  std::vector<std::string> objects;
  const auto add = [](dl_phdr_info* info, size_t, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
    return 0;
  };
  ::dl_iterate_phdr(add, &objects);
  std::set<std::string> runtimes;
  for (const std::string& object : objects) {
    void* handle = ::dlopen(object.empty() ? nullptr : object.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) continue;  // the system's own, which is no file
    Dl_info found;
    if (void* symbol = ::dlsym(handle, "omp_get_max_threads"); symbol && ::dladdr(symbol, &found) != 0)
      runtimes.insert(found.dli_fname);
    ::dlclose(handle);
  }
  ::dlclose(loaded);
  return runtimes;
}

void require_one_runtime(const std::set<std::string>& runtimes) {
  if (runtimes.size() <= 1) return;
  throw EnvironmentError(
      fmt::format("kernels, libraries and waco-bench itself would run on different OpenMP runtimes ({}) and "
                  "disturb each other; name a compiler of the libraries' runtime with --compiler (g++ for "
                  "libgomp), or leave them out with --peers none",
                  fmt::join(runtimes, ", ")),
      ExitCode::kCompiler);
}

}  // namespace waco::bench
