// A sparse tensor in an anonymous memory file, the way it is handed to worker processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "waco/base/descriptor.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::measure {

/// A memory file that holds one tensor: a header, then coordinates mode by mode (4 bytes each where every
/// dimension fits, else 8), then values. Closed on exec unless passed on.
class TensorMemory {
 public:
  /// Throws TooLargeError when memory runs out, or would for a worker's copy; see check_copies_fit().
  explicit TensorMemory(const matrix::SparseTensor& tensor);

  int fd() const { return file_.get(); }
  /// Size of the file.
  int64_t bytes() const { return bytes_; }
  /// Of the tensor, which the file does not hold.
  const std::string& name() const { return name_; }

 private:
  Descriptor file_;
  int64_t bytes_ = 0;
  std::string name_;
};

/// Bytes of a tensor of such dims as read_tensor_memory() returns it.
int64_t copy_bytes(const std::vector<int64_t>& dims, int64_t num_nonzeros);

/// Throws TooLargeError where the memory file of such a tensor and a worker's copy of it do not fit in the
/// memory that is free: the system would end this process while they are filled.
void check_copies_fit(const std::vector<int64_t>& dims, int64_t num_nonzeros);

/// Reads the tensor back, but for its name. Throws EnvironmentError when `fd` holds none.
matrix::SparseTensor read_tensor_memory(int fd, int threads = 1);

}  // namespace waco::measure
