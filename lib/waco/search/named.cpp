// The list of searches.
#include "waco/search/named.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "waco/base/error.hpp"

namespace waco::search {

const std::vector<std::string>& search_names() {
  static const std::vector<std::string> kNames{"neighbours", "exact", "anns", "tpe", "bandit", "random"};
  return kNames;
}

bool needs_index(std::string_view name) {
  return name == "exact" || name == "anns";
}

void check_index(std::string_view name, bool indexed) {
  if (needs_index(name) && !indexed)
    throw UsageError(fmt::format("the search '{}' needs a learned model and its index", name));
}

std::unique_ptr<Search> make_search(std::string_view name, const Query* query) {
  check_index(name, query != nullptr);
  if (name == "neighbours") return std::make_unique<NeighbourSearch>();
  if (name == "exact") return std::make_unique<IndexSearch>(Retrieval::kExact, *query);
  if (name == "anns") return std::make_unique<IndexSearch>(Retrieval::kAnns, *query);
  if (name == "tpe") return std::make_unique<TpeSearch>();
  if (name == "bandit") return std::make_unique<BanditSearch>();
  if (name == "random") return std::make_unique<RandomSearch>();
  throw UsageError(fmt::format("no search '{}'; there are {}", name, fmt::join(search_names(), ", ")));
}

}  // namespace waco::search
