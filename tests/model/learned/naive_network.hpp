// The network of docs/model.md written out layer by layer in double precision, straight from the tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "waco/model/learned/tensor_file.hpp"
#include "waco/schedule/encoding.hpp"

namespace waco::test {

using Numbers = std::vector<double>;

class NaiveNetwork {
 public:
  explicit NaiveNetwork(const model::TensorFile& file) : file_(file) {}

  Numbers standardised(const std::string& input, Numbers x) const {
    const auto &mean = tensor("input." + input + ".mean"), &scale = tensor("input." + input + ".scale");
    for (size_t n = 0; n < x.size(); ++n) x[n] = std::clamp((x[n] - mean[n]) * scale[n], -4.0, 4.0);
    return x;
  }

  Numbers linear(const std::string& name, const Numbers& x) const {
    const auto& weight = tensor(name + ".weight");
    Numbers y;
    for (size_t o = 0; o < weight.size() / x.size(); ++o) {
      y.push_back(file_.contains(name + ".bias") ? tensor(name + ".bias")[o] : 0);
      for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(weight[o * x.size() + i]) * x[i];
    }
    return y;
  }

  static Numbers relu(Numbers x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  }

  static Numbers sum(Numbers x, const Numbers& y) {
    for (size_t n = 0; n < x.size(); ++n) x[n] += y[n];
    return x;
  }

  /// `features`: not standardised yet.
  Numbers pattern(const Numbers& features, double rhs, bool f64) const {
    Numbers q = standardised("features", features);
    for (const double u : standardised("problem", {std::log2(rhs), f64 ? 1.0 : 0.0})) q.push_back(u);
    return linear("pattern.fc2", relu(linear("pattern.fc1", q)));
  }

  Numbers embedding(const schedule::SuperSchedule& point, int max_threads) const {
    const auto& layout = schedule::encoding_layout(point.problem.op);
    const schedule::Encoding code = schedule::encode(point, max_threads);
    Numbers joined;
    for (size_t f = 0; f < layout.categories.size(); ++f) {
      const auto& table = tensor("embedder.table." + layout.categories[f].name + ".weight");
      for (int n = 0; n < 16; ++n) joined.push_back(table[static_cast<size_t>(code.categories[f] * 16 + n)]);
    }
    const auto append = [&](const Numbers& x) { joined.insert(joined.end(), x.begin(), x.end()); };
    append(linear("embedder.levels", {code.levels.begin(), code.levels.end()}));
    append(linear("embedder.loops", {code.loops.begin(), code.loops.end()}));
    append(linear("embedder.numbers", standardised("numbers", {code.numbers.begin(), code.numbers.end()})));
    return linear("embedder.fc2", relu(linear("embedder.fc1", relu(joined))));
  }

  Numbers hidden(const Numbers& p, const Numbers& e) const {
    Numbers product;
    for (size_t n = 0; n < p.size(); ++n) product.push_back(p[n] * e[n]);
    return relu(sum(sum(linear("retrieve.pattern", p), linear("retrieve.schedule", e)),
                    linear("retrieve.product", product)));
  }

  double retrieved(const Numbers& h) const {
    return linear("retrieve.out", relu(linear("retrieve.fc", h)))[0];
  }

  /// Predicted time over that of fixed_csr; `terms`: not standardised yet.
  double ratio(const Numbers& h, const Numbers& terms) const {
    const Numbers g =
        relu(sum(linear("correct.terms", standardised("terms", terms)), linear("correct.hidden", h)));
    const double cost = retrieved(h) + linear("correct.out", g)[0] + tensor("correct.slope")[0] * terms[0];
    return std::exp2(tensor("calibration")[0] + tensor("calibration")[1] * cost);
  }

 private:
  const std::vector<float>& tensor(const std::string& name) const { return file_.tensors().at(name).data; }

  const model::TensorFile& file_;
};

}  // namespace waco::test
