// A sparse tensor in an anonymous memory file, the way it is handed to worker processes.
#pragma once

#include <string>

#include "waco/base/descriptor.hpp"
#include "waco/matrix/sparse_tensor.hpp"

namespace waco::measure {

/// A memory file that holds one tensor: a header, then coordinates mode by mode (4 bytes each where every
/// dimension fits, else 8), then values. Closed on exec unless passed on.
class TensorMemory {
 public:
  /// Throws EnvironmentError when memory runs out.
  explicit TensorMemory(const matrix::SparseTensor& tensor);

  int fd() const { return file_.get(); }
  /// Of the tensor, which the file does not hold.
  const std::string& name() const { return name_; }

 private:
  Descriptor file_;
  std::string name_;
};

/// Reads the tensor back, but for its name. Throws EnvironmentError when `fd` holds none.
matrix::SparseTensor read_tensor_memory(int fd, int threads = 1);

}  // namespace waco::measure
