// Forward and backward of both convolutions. Values and their mean come from one function, so that the
// gradients of both meet in one pass over the sites.
#include "waco/train/network/conv_function.hpp"

#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include "waco/base/error.hpp"
#include "waco/model/conv/convolution.hpp"

namespace waco::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Keeps a map alive as long as the graph does.
template <class Map>
struct MapHolder : torch::CustomClassHolder {
  explicit MapHolder(std::shared_ptr<const Map> held) : map(std::move(held)) {}
  std::shared_ptr<const Map> map;
};

template <class Map>
void keep_map(AutogradContext* context, const std::shared_ptr<const Map>& map) {
  context->saved_data["map"] = c10::IValue::make_capsule(c10::make_intrusive<MapHolder<Map>>(map));
}

template <class Map>
const Map& kept_map(AutogradContext* context) {
  return *static_cast<MapHolder<Map>*>(context->saved_data["map"].toCapsule().get())->map;
}

void require_floats(const Tensor& tensor, int64_t dims) {
  WACO_ASSERT(tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat && tensor.is_contiguous() &&
              tensor.dim() == dims);
}

Tensor mean_of(const Tensor& values) {
  Tensor mean = torch::empty({values.size(1)});
  model::column_means(values.data_ptr<float>(), values.size(0), static_cast<int>(values.size(1)),
                      mean.data_ptr<float>(), at::get_num_threads());
  return mean;
}

/// Gradient of what the convolution gave before ReLU, from those of values and mean; either may be missing.
/// `values`: the results, whose zeros pass nothing on, or undefined without ReLU.
Tensor joined_gradient(const Tensor& of_values, const Tensor& of_mean, int64_t sites, int64_t channels,
                       const Tensor& values) {
  Tensor joined = of_values.defined() ? of_values.contiguous().clone() : torch::zeros({sites, channels});
  const Tensor share = of_mean.defined()
                           ? (of_mean / static_cast<double>(std::max<int64_t>(sites, 1))).contiguous()
                           : Tensor();
  float* g = joined.data_ptr<float>();
  const float* mean = share.defined() ? share.data_ptr<float>() : nullptr;
  const float* y = values.defined() ? values.data_ptr<float>() : nullptr;
#pragma omp parallel for num_threads(at::get_num_threads()) schedule(static)
  for (int64_t s = 0; s < sites; ++s)
    for (int64_t c = 0; c < channels; ++c) {
      float& at = g[s * channels + c];
      if (mean) at += mean[c];
      if (y && y[s * channels + c] <= 0) at = 0;
    }
  return joined;
}

struct SparseConvolution : torch::autograd::Function<SparseConvolution> {
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                               const std::shared_ptr<const model::KernelMap>& map, bool relu) {
    require_floats(x, 2);
    require_floats(weight, 3);
    const int64_t cin = weight.size(1), cout = weight.size(2);
    WACO_ASSERT(x.size(0) == map->num_in && x.size(1) == cin && weight.size(0) == map->num_offsets);
    Tensor y = torch::empty({map->num_out, cout});
    model::convolve(*map, x.data_ptr<float>(), weight.data_ptr<float>(), static_cast<int>(cin),
                    static_cast<int>(cout), relu, y.data_ptr<float>(), at::get_num_threads());
    context->set_materialize_grads(false);
    keep_map(context, map);
    context->saved_data["relu"] = relu;
    context->save_for_backward({x, weight, relu ? y : Tensor()});
    return {y, mean_of(y)};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const model::KernelMap& map = kept_map<model::KernelMap>(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const int threads = at::get_num_threads();
    const auto cin = static_cast<int>(weight.size(1)), cout = static_cast<int>(weight.size(2));
    const Tensor g = joined_gradient(gradients[0], gradients[1], map.num_out, cout, saved[2]);
    Tensor of_x, of_weight;
    if (context->needs_input_grad(0)) {
      of_x = torch::empty_like(x);
      model::convolve_grad_input(model::transposed(map, threads), g.data_ptr<float>(),
                                 weight.data_ptr<float>(), cin, cout, of_x.data_ptr<float>(), threads);
    }
    if (context->needs_input_grad(1)) {
      of_weight = torch::empty_like(weight);
      model::convolve_grad_weight(map, x.data_ptr<float>(), g.data_ptr<float>(), cin, cout,
                                  of_weight.data_ptr<float>(), threads);
    }
    return {of_x, of_weight, Tensor(), Tensor()};
  }
};

struct WindowConvolution : torch::autograd::Function<WindowConvolution> {
  static variable_list forward(AutogradContext* context, const Tensor& weight,
                               const std::shared_ptr<const model::WindowMap>& map) {
    require_floats(weight, 2);
    WACO_ASSERT(weight.size(0) == map->num_offsets);
    Tensor y = torch::empty({map->num_sites(), weight.size(1)});
    model::convolve_windows(*map, weight.data_ptr<float>(), static_cast<int>(weight.size(1)), true,
                            y.data_ptr<float>(), at::get_num_threads());
    context->set_materialize_grads(false);
    keep_map(context, map);
    context->save_for_backward({weight, y});
    return {y, mean_of(y)};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const model::WindowMap& map = kept_map<model::WindowMap>(context);
    const variable_list saved = context->get_saved_variables();
    const int64_t cout = saved[0].size(1);
    const Tensor g = joined_gradient(gradients[0], gradients[1], map.num_sites(), cout, saved[1]);
    Tensor of_weight = torch::empty_like(saved[0]);
    model::convolve_windows_grad_weight(map, g.data_ptr<float>(), static_cast<int>(cout),
                                        of_weight.data_ptr<float>(), at::get_num_threads());
    return {of_weight, Tensor()};
  }
};

}  // namespace

ConvResult sparse_convolution(const Tensor& x, const Tensor& weight,
                              const std::shared_ptr<const model::KernelMap>& map, bool relu) {
  const variable_list result = SparseConvolution::apply(x, weight, map, relu);
  return {result[0], result[1]};
}

ConvResult window_convolution(const Tensor& weight, const std::shared_ptr<const model::WindowMap>& map) {
  const variable_list result = WindowConvolution::apply(weight, map);
  return {result[0], result[1]};
}

}  // namespace waco::train
