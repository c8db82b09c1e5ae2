// Named numbers in the order they are added: values and names of features can't fall apart.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace waco::pattern {

class FeatureList {
 public:
  /// What is not a finite number is kept as 0.
  void add(std::string name, double value) {
    names_.push_back(std::move(name));
    values_.push_back(std::isfinite(value) ? static_cast<float>(value) : 0.0f);
  }
  /// log2(part / whole); 0 when either is not positive.
  void add_log_ratio(std::string name, double part, double whole) {
    add(std::move(name), part > 0 && whole > 0 ? std::log2(part / whole) : 0);
  }
  /// part / whole; 0 for an empty whole.
  void add_share(std::string name, double part, double whole) {
    add(std::move(name), whole > 0 ? part / whole : 0);
  }

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<std::string> names_;
  std::vector<float> values_;
};

}  // namespace waco::pattern
