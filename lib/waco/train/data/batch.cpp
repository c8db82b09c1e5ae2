// Gathering the rows of several examples.
#include "waco/train/data/batch.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "waco/base/error.hpp"

namespace waco::train {
namespace {

/// Rows of a table [n, width] for the points of each member: [M, N, width].
template <class Value>
torch::Tensor gather(std::span<const Member> members, std::span<const std::vector<int64_t>> points,
                     std::vector<Value> Example::*table, torch::ScalarType type) {
  const auto num_groups = static_cast<int64_t>(members.size());
  const auto num_points = static_cast<int64_t>(points[0].size());
  const size_t width = (members[0].example->*table).size() / members[0].example->group.size();
  torch::Tensor result = torch::empty({num_groups, num_points, static_cast<int64_t>(width)}, type);
  auto* to = static_cast<Value*>(result.data_ptr());
  for (size_t m = 0; m < members.size(); ++m) {
    const std::vector<Value>& from = members[m].example->*table;
    for (const int64_t point : points[m]) {
      std::memcpy(to, from.data() + static_cast<size_t>(point) * width, width * sizeof(Value));
      to += width;
    }
  }
  return result;
}

/// One row a member: [M, width].
torch::Tensor stack(std::span<const Member> members, std::vector<float> Example::*row) {
  const size_t width = (members[0].example->*row).size();
  torch::Tensor result =
      torch::empty({static_cast<int64_t>(members.size()), static_cast<int64_t>(width)}, torch::kFloat32);
  auto* to = result.data_ptr<float>();
  for (const Member& member : members) {
    WACO_ASSERT((member.example->*row).size() == width);
    to = std::copy_n((member.example->*row).data(), width, to);
  }
  return result;
}

/// The points of every member, padded to the same number.
std::vector<std::vector<int64_t>> padded_points(std::span<const Member> members, Batch& batch) {
  std::vector<std::vector<int64_t>> all;
  size_t longest = 0;
  for (const Member& member : members) {
    all.push_back(member.points);
    if (all.back().empty()) {
      all.back().resize(member.example->group.size());
      std::iota(all.back().begin(), all.back().end(), int64_t{0});
    }
    longest = std::max(longest, all.back().size());
  }
  batch.present =
      torch::zeros({static_cast<int64_t>(all.size()), static_cast<int64_t>(longest)}, torch::kBool);
  for (size_t m = 0; m < all.size(); ++m) {
    batch.present[static_cast<int64_t>(m)].slice(0, 0, static_cast<int64_t>(all[m].size())).fill_(true);
    all[m].resize(longest, all[m][0]);
  }
  return all;
}

void set_labels(std::span<const Member> members, std::span<const std::vector<int64_t>> points, Batch& batch) {
  batch.cost = torch::empty(batch.present.sizes(), torch::kFloat32);
  batch.noise = torch::empty(batch.present.sizes(), torch::kFloat32);
  batch.censored = torch::empty(batch.present.sizes(), torch::kBool);
  auto* cost = batch.cost.data_ptr<float>();
  auto* noise = batch.noise.data_ptr<float>();
  auto* censored = batch.censored.data_ptr<bool>();
  for (size_t m = 0; m < members.size(); ++m) {
    for (const int64_t point : points[m]) {
      const Label& label = members[m].example->group.labels[static_cast<size_t>(point)];
      *cost++ = label.cost;
      *noise++ = label.noise;
      *censored++ = label.censored;
    }
  }
}

}  // namespace

Batch make_batch(std::span<const Member> members) {
  WACO_ASSERT(!members.empty());
  Batch batch;
  const std::vector<std::vector<int64_t>> points = padded_points(members, batch);
  if (members[0].example->pattern) {
    for (const Member& member : members) batch.patterns.push_back(member.example->pattern);
  } else {
    batch.features = stack(members, &Example::features);
  }
  batch.problem = stack(members, &Example::problem);
  batch.categories = gather(members, points, &Example::categories, torch::kInt64);
  batch.levels = gather(members, points, &Example::levels, torch::kFloat32);
  batch.loops = gather(members, points, &Example::loops, torch::kFloat32);
  batch.numbers = gather(members, points, &Example::numbers, torch::kFloat32);
  batch.terms = gather(members, points, &Example::terms, torch::kFloat32);
  set_labels(members, points, batch);
  return batch;
}

}  // namespace waco::train
