// Costs that fall from one neighbour to the next, where only a search that follows neighbours gets.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "waco/model/cost_model.hpp"
#include "waco/schedule/space.hpp"

namespace waco::search::testing {

using Texts = std::set<std::string>;

inline void add_texts(Texts& texts, const std::vector<schedule::SuperSchedule>& points) {
  for (const auto& point : points) texts.insert(schedule::to_text(point));
}

/// `first`, a neighbour of it, and a neighbour of that: none of the two is among `starts`.
inline std::vector<schedule::SuperSchedule> way_beyond(const Texts& starts,
                                                       const schedule::ScheduleSpace& space,
                                                       const schedule::SuperSchedule& first) {
  std::vector<schedule::SuperSchedule> way{first};
  for (int step = 0; step < 2; ++step) {
    const auto near = space.neighbours(way.back());
    const auto next = std::find_if(near.begin(), near.end(), [&](const schedule::SuperSchedule& point) {
      return point != first && !starts.contains(schedule::to_text(point));
    });
    REQUIRE(next != near.end());
    way.push_back(*next);
  }
  return way;
}

/// The first point of the way costs the most of it, and all other points far more.
class Downhill : public model::CostModel {
 public:
  explicit Downhill(std::vector<schedule::SuperSchedule> way) : way_(std::move(way)) {}
  std::vector<double> costs(std::span<const schedule::SuperSchedule> points) override {
    std::vector<double> result;
    for (const auto& point : points) {
      const auto at = std::find(way_.begin(), way_.end(), point);
      result.push_back(at == way_.end() ? 1000 : static_cast<double>(way_.end() - at));
    }
    return result;
  }

 private:
  std::vector<schedule::SuperSchedule> way_;
};

}  // namespace waco::search::testing
