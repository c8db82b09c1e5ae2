// Catch2 3 under the name and with the names of version 2, for which the tests are written.
#pragma once

#include <catch2/catch_all.hpp>
#include <string>

using Catch::Approx;

namespace Catch {

using Matchers::EndsWith;
using Matchers::StartsWith;

inline Matchers::StringContainsMatcher Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}

}  // namespace Catch
