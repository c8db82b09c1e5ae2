// The closed-form model's terms as inputs of a learned model.
#pragma once

#include <string>
#include <vector>

#include "waco/model/closed_form.hpp"

namespace waco::model {

/// Raised whenever the same terms would give other numbers, and also when ClosedFormModel or what it counts
/// changes so far that a model trained on the old terms would misjudge the new ones: models are used with
/// their own version only.
inline constexpr int kTermsVersion = 1;

const std::vector<std::string>& cost_feature_names();

/// [cost_feature_names().size()]. The first is log2(terms.total / csr.total); the others are logarithms and
/// shares of the terms. `csr`: the terms of fixed_csr's point on the same pattern, problem and machine.
std::vector<float> cost_features(const CostTerms& terms, const CostTerms& csr);

}  // namespace waco::model
