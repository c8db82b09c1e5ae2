// Looking up tensors in a mapped file.
#include "waco/model/learned/tensor_views.hpp"

#include <fmt/format.h>

#include <utility>

#include "waco/base/error.hpp"

namespace waco::model {

TensorViews::TensorViews(std::string source, MappedFile file)
    : source_(std::move(source)), file_(std::move(file)), layout_(tensor_layout(source_, file_.content())) {
  for (const auto& [name, place] : layout_)
    if (reinterpret_cast<uintptr_t>(place.bytes.data()) % alignof(float) != 0)
      throw InputError(
          source_, 0,
          fmt::format("tensor {} does not begin at a multiple of {} bytes", name, alignof(float)));
}

std::span<const float> TensorViews::get(std::string_view name, const std::vector<int64_t>& shape) const {
  const auto at = layout_.find(name);
  if (at == layout_.end()) fail_missing(source_, name, shape);
  const TensorPlace& place = at->second;
  check_shape(source_, name, place.shape, shape);
  return {reinterpret_cast<const float*>(place.bytes.data()), place.bytes.size() / sizeof(float)};
}

}  // namespace waco::model
