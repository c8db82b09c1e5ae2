// The convolutional extractors without libtorch: waconet, minkowski, dense_conv.
#pragma once

#include <memory>
#include <string_view>

#include "waco/model/learned/extractor.hpp"

namespace waco::model {

/// One of the three with the tensors "extractor.*" and "input.features.*" of `weights`. Uses as many threads
/// as OpenMP offers. Throws InputError that names a missing or misshapen tensor, UsageError for another name.
std::unique_ptr<Extractor> make_conv_extractor(std::string_view name, int order, const TensorFile& weights);

}  // namespace waco::model
