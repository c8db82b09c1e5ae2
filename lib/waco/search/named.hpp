// Searches by the names that options and reports give them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "waco/search/index_search.hpp"

namespace waco::search {

/// neighbours, exact, anns, tpe, bandit, random.
const std::vector<std::string>& search_names();

/// Whether the search of this name looks patterns up in an index.
bool needs_index(std::string_view name);
/// Throws UsageError when it does and there is none.
void check_index(std::string_view name, bool indexed);

/// The search of this name. Throws UsageError when there is none, or when it needs an index and `query` is
/// null; what `query` refers to must outlive the search.
std::unique_ptr<Search> make_search(std::string_view name, const Query* query = nullptr);

}  // namespace waco::search
