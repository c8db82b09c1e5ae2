// Writing and reading a tensor in a memfd.
#include "waco/measure/tensor_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/parallel.hpp"

namespace waco::measure {
namespace {

constexpr uint64_t kMagic = 0x314f434157434f41ull;

struct Header {
  uint64_t magic = kMagic;
  int64_t order = 0;
  int64_t num_nonzeros = 0;
  int64_t coord_bytes = 8;
  int64_t dims[3] = {0, 0, 0};
  int64_t reserved = 0;

  int64_t file_bytes() const {
    const int64_t coords = (order * num_nonzeros * coord_bytes + 7) / 8 * 8;
    return static_cast<int64_t>(sizeof(Header)) + coords + num_nonzeros * 8;
  }
};

Header header_of(const std::vector<int64_t>& dims, int64_t num_nonzeros) {
  Header header;
  header.order = static_cast<int64_t>(dims.size());
  header.num_nonzeros = num_nonzeros;
  std::copy(dims.begin(), dims.end(), header.dims);
  const int64_t largest = *std::max_element(dims.begin(), dims.end());
  header.coord_bytes = largest <= std::numeric_limits<int32_t>::max() ? 4 : 8;
  return header;
}

class Mapping {
 public:
  Mapping(int fd, size_t bytes, int protection) : bytes_(bytes) {
    address_ = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    if (address_ == MAP_FAILED) {
      throw TooLargeError(
          fmt::format("the tensor can't be mapped ({} bytes): {}", bytes, std::strerror(errno)));
    }
  }
  ~Mapping() { ::munmap(address_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  char* data() const { return static_cast<char*>(address_); }

 private:
  void* address_;
  size_t bytes_;
};

/// A memory file of so many bytes, reserved at once: running out of memory later would be a SIGBUS.
Descriptor memory_file(int64_t bytes) {
  Descriptor file(::memfd_create("waco-tensor", MFD_CLOEXEC));
  if (!file) throw os_error("a file in memory for the tensor");
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file.get(), 0, bytes);  // a signal starts it anew
  if (error == 0) return file;
  throw TooLargeError(
      fmt::format("no memory for a copy of the tensor ({} bytes): {}", bytes, std::strerror(error)));
}

template <class T>
void write_coords(char* out, const matrix::SparseTensor& tensor) {
  auto* to = reinterpret_cast<T*>(out);
  for (const std::vector<int64_t>& mode : tensor.coords) {
    to = std::transform(mode.begin(), mode.end(), to, [](int64_t value) { return static_cast<T>(value); });
  }
}

template <class T>
std::vector<int64_t> read_coords(const char* in, int64_t mode, const Header& header) {
  const T* from = reinterpret_cast<const T*>(in) + mode * header.num_nonzeros;
  return {from, from + header.num_nonzeros};
}

}  // namespace

int64_t copy_bytes(const std::vector<int64_t>& dims, int64_t num_nonzeros) {
  const auto coords_bytes = static_cast<int64_t>(dims.size() * sizeof(int64_t));
  return num_nonzeros * (coords_bytes + static_cast<int64_t>(sizeof(double)));
}

void check_copies_fit(const std::vector<int64_t>& dims, int64_t num_nonzeros) {
  const int64_t needed = header_of(dims, num_nonzeros).file_bytes() + copy_bytes(dims, num_nonzeros);
  const int64_t free = free_memory_bytes();
  if (needed <= free) return;
  throw TooLargeError(fmt::format(
      "two copies of the tensor, which measuring needs, take {:.1f} GB, and {:.1f} GB are free; use "
      "a smaller matrix or a machine with more memory",
      static_cast<double>(needed) * 1e-9, static_cast<double>(free) * 1e-9));
}

TensorMemory::TensorMemory(const matrix::SparseTensor& tensor) : name_(tensor.name) {
  check_copies_fit(tensor.dims, tensor.num_nonzeros());
  const Header header = header_of(tensor.dims, tensor.num_nonzeros());
  bytes_ = header.file_bytes();
  file_ = memory_file(bytes_);
  const Mapping mapping(fd(), static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE);
  std::memcpy(mapping.data(), &header, sizeof header);
  if (header.coord_bytes == 4) {
    write_coords<int32_t>(mapping.data() + sizeof header, tensor);
  } else {
    write_coords<int64_t>(mapping.data() + sizeof header, tensor);
  }
  std::copy(tensor.values.begin(), tensor.values.end(),
            reinterpret_cast<double*>(mapping.data() + bytes_ - header.num_nonzeros * 8));
}

matrix::SparseTensor read_tensor_memory(int fd, int threads) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(Header))) {
    throw EnvironmentError("no tensor was handed over");
  }
  const Mapping mapping(fd, static_cast<size_t>(status.st_size), PROT_READ);
  Header header;
  std::memcpy(&header, mapping.data(), sizeof header);
  if (header.magic != kMagic || header.order < 1 || header.order > 3 ||
      header.file_bytes() != status.st_size) {
    throw EnvironmentError("the tensor handed over is not in this version's layout");
  }
  matrix::SparseTensor tensor;
  tensor.dims.assign(header.dims, header.dims + header.order);
  tensor.coords.resize(static_cast<size_t>(header.order));
  const char* coords = mapping.data() + sizeof header;
  const auto* values =
      reinterpret_cast<const double*>(mapping.data() + header.file_bytes() - header.num_nonzeros * 8);
  for_each_parallel(header.order + 1, threads, [&](int64_t part) {
    if (part == header.order) {
      tensor.values.assign(values, values + header.num_nonzeros);
    } else {
      tensor.coords[part] = header.coord_bytes == 4 ? read_coords<int32_t>(coords, part, header)
                                                    : read_coords<int64_t>(coords, part, header);
    }
  });
  return tensor;
}

}  // namespace waco::measure
