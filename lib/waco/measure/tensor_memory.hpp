// A sparse tensor in an anonymous memory file, the way it is handed to worker processes.
#pragma once

#include "waco/matrix/sparse_tensor.hpp"

namespace waco::measure {

/// A memory file that holds one tensor: a header, then coordinates mode by mode (4 bytes each where every
/// dimension fits, else 8), then values. Closed on exec unless passed on.
class TensorMemory {
 public:
  /// Throws EnvironmentError when memory runs out.
  explicit TensorMemory(const matrix::SparseTensor& tensor);
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Reads the tensor back (its name is lost). Throws EnvironmentError when `fd` holds none.
matrix::SparseTensor read_tensor_memory(int fd, int threads = 1);

}  // namespace waco::measure
