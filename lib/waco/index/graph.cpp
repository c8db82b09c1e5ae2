// The only file that includes hnswlib. A graph holds no embeddings but the number of each vertex as its
// "data", so that the distance function can look anything up and the file stays small.
#include "waco/index/graph.hpp"

#include <fcntl.h>
#include <fmt/format.h>
// Its prefetches read one link past the last; distances are ours, so that is all this leaves out.
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"

namespace waco::index {
namespace {

using Hnsw = hnswlib::HierarchicalNSW<float>;
using Number = uint32_t;

Number number_at(const void* data) {
  Number number;
  std::memcpy(&number, data, sizeof number);
  return number;
}

struct Embeddings {
  const float* data;
  size_t size;
};

/// Squared Euclidean distance, summed in a fixed order: graphs are the same on every machine.
float squared_l2(const void* a, const void* b, const void* parameter) {
  const auto& embeddings = *static_cast<const Embeddings*>(parameter);
  const float* x = embeddings.data + number_at(a) * embeddings.size;
  const float* y = embeddings.data + number_at(b) * embeddings.size;
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> sums{};
  size_t n = 0;
  for (; n + kLanes <= embeddings.size; n += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float difference = x[n + lane] - y[n + lane];
      sums[lane] += difference * difference;
    }
  float sum = 0;
  for (const float lane : sums) sum += lane;
  for (; n < embeddings.size; ++n) sum += (x[n] - y[n]) * (x[n] - y[n]);
  return sum;
}

/// Where the data of vertices lie: those of vertex 0 first, then at a fixed distance.
class Places {
 public:
  Places(const char* first, size_t stride) : first_(first), per_byte_(UINT64_MAX / stride + 1) {}
  /// Its number, by a multiplication, which is exact for multiples of the distance: a division would take a
  /// twentieth of what a cost takes.
  size_t number_of(const void* data) const {
    const auto offset = static_cast<uint64_t>(static_cast<const char*>(data) - first_);
    return static_cast<size_t>((static_cast<unsigned __int128>(offset) * per_byte_) >> 64);
  }

 private:
  const char* first_;
  uint64_t per_byte_;
};

/// What stands in for the query's embedding during a search.
struct Query {
  Places places;
  const std::function<float(int64_t)>& cost;
  const std::vector<bool>& is_upper;  ///< [vertices], the first or of upper layers: only these are met again
  std::vector<float>& known;          ///< [vertices], costs of upper ones, NaN before
  std::vector<Visit> visits;
};

/// Forgets, however a search ends.
struct Forget {
  Query& query;
  ~Forget() {
    for (const Visit& visit : query.visits) {
      const auto number = static_cast<size_t>(visit.vertex);
      if (query.is_upper[number]) query.known[number] = std::numeric_limits<float>::quiet_NaN();
    }
  }
};

/// The number of a vertex is told from where its data lie: to read them would miss the caches once a visit,
/// as would asking of each whether it is known. The walk over the lowest layer asks once of each; the bits of
/// who may be known fit a first cache.
float predicted_cost(const void* data, const void* vertex, const void*) {
  auto& query = *static_cast<Query*>(const_cast<void*>(data));
  const size_t number = query.places.number_of(vertex);
  const bool is_upper = query.is_upper[number];
  if (is_upper && !std::isnan(query.known[number])) return query.known[number];
  float cost = query.cost(static_cast<int64_t>(number));
  if (std::isnan(cost)) cost = std::numeric_limits<float>::infinity();
  if (is_upper) query.known[number] = cost;
  query.visits.push_back({static_cast<int64_t>(number), cost});
  return cost;
}

class Space : public hnswlib::SpaceInterface<float> {
 public:
  Space(hnswlib::DISTFUNC<float> distance, void* parameter) : distance_(distance), parameter_(parameter) {}
  size_t get_data_size() override { return sizeof(Number); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return distance_; }
  void* get_dist_func_param() override { return parameter_; }

 private:
  hnswlib::DISTFUNC<float> distance_;
  void* parameter_;
};

Space search_space() {
  return {predicted_cost, nullptr};
}

/// The file's first numbers that say how much memory it needs; everything hnswlib trusts.
void check_header(const std::filesystem::path& file, int64_t count, const Hnsw& empty) {
  std::array<uint64_t, 6> header{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(header.data()), sizeof header);
  const auto vertices = static_cast<uint64_t>(count);
  const std::array<uint64_t, 6> expected{
      0, vertices, vertices, empty.size_data_per_element_, empty.label_offset_, empty.offsetData_};
  if (!stream || header != expected)
    throw InputError(file.string(), 0, fmt::format("is not the graph of {} vertices", count));
}

/// Whether every link leads to a vertex that exists on its layer.
bool is_sound(const Hnsw& graph) {
  const size_t count = graph.cur_element_count;
  if (graph.enterpoint_node_ >= count || graph.element_levels_[graph.enterpoint_node_] != graph.maxlevel_)
    return false;
  for (Number vertex = 0; vertex < count; ++vertex) {
    if (number_at(graph.getDataByInternalId(vertex)) != vertex || graph.isMarkedDeleted(vertex)) return false;
    for (int layer = 0; layer <= graph.element_levels_[vertex]; ++layer) {
      auto* list = graph.get_linklist_at_level(vertex, layer);
      const size_t size = graph.getListCount(list);
      if (size > (layer == 0 ? graph.maxM0_ : graph.maxM_)) return false;
      for (size_t n = 1; n <= size; ++n)
        if (list[n] >= count || graph.element_levels_[list[n]] < layer) return false;
    }
  }
  return true;
}

/// Down the upper layers to where the walk over the lowest one starts, as hnswlib's searchKnn does it. What
/// searchKnn does after the walk, sorting and naming all that was kept, takes a tenth of a search's time.
Number descend(const Hnsw& graph, const Query& query) {
  const auto cost_of = [&](Number vertex) {
    return predicted_cost(&query, graph.getDataByInternalId(vertex), nullptr);
  };
  Number best = graph.enterpoint_node_;
  float least = cost_of(best);
  for (int layer = graph.maxlevel_; layer > 0; --layer) {
    for (bool moved = true; moved;) {
      moved = false;
      auto* links = graph.get_linklist(best, layer);
      const size_t size = graph.getListCount(links);
      for (size_t n = 1; n <= size; ++n) {
        const float cost = cost_of(links[n]);
        if (cost >= least) continue;
        least = cost;
        best = links[n];
        moved = true;
      }
    }
  }
  return best;
}

uint64_t saved_bytes(const Hnsw& graph) {
  constexpr uint64_t kHeaderBytes = 96;
  const size_t count = graph.cur_element_count;
  uint64_t bytes = kHeaderBytes + count * (graph.size_data_per_element_ + sizeof(int));
  for (size_t n = 0; n < count; ++n)
    bytes += static_cast<uint64_t>(graph.element_levels_[n]) * graph.size_links_per_element_;
  return bytes;
}

}  // namespace

struct Graph::State {
  explicit State(std::unique_ptr<Hnsw> graph) : hnsw(std::move(graph)), is_upper(hnsw->cur_element_count) {
    for (size_t vertex = 0; vertex < is_upper.size(); ++vertex)
      is_upper[vertex] = hnsw->element_levels_[vertex] > 0;
    is_upper[hnsw->enterpoint_node_] = true;
  }
  std::unique_ptr<Hnsw> hnsw;
  std::vector<bool> is_upper;  ///< [vertices], as in Query
};

Graph::Graph(std::unique_ptr<State> state) : state_(std::move(state)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

Graph Graph::build(const float* embeddings, int64_t count, int size, const GraphOptions& options,
                   const std::function<void()>& on_vertex) {
  WACO_ASSERT(count > 0 && count < std::numeric_limits<Number>::max());
  Embeddings rows{embeddings, static_cast<size_t>(size)};
  Space space(squared_l2, &rows);
  auto hnsw = std::make_unique<Hnsw>(&space, static_cast<size_t>(count), static_cast<size_t>(options.links),
                                     static_cast<size_t>(options.ef_construction), options.seed);
  for (Number vertex = 0; vertex < static_cast<Number>(count); ++vertex) {
    hnsw->addPoint(&vertex, vertex);
    if (on_vertex) on_vertex();
  }
  // From here on its distance is the predicted cost.
  hnsw->fstdistfunc_ = predicted_cost;
  hnsw->dist_func_param_ = nullptr;
  return Graph(std::make_unique<State>(std::move(hnsw)));
}

Graph Graph::load(const std::filesystem::path& file, int64_t count, const GraphOptions& options) {
  Space space = search_space();
  check_header(file, count, Hnsw(&space, 1, static_cast<size_t>(options.links), 1, 1));
  std::unique_ptr<Hnsw> hnsw;
  try {
    hnsw = std::make_unique<Hnsw>(&space, file.string());
  } catch (const std::runtime_error&) {
    throw InputError(file.string(), 0, "is damaged");
  }
  hnsw->num_deleted_ = 0;  // left undefined by this version of hnswlib
  if (hnsw->M_ != static_cast<size_t>(options.links) || !is_sound(*hnsw))
    throw InputError(file.string(), 0, "is damaged");
  return Graph(std::make_unique<State>(std::move(hnsw)));
}

void Graph::save(const std::filesystem::path& file) const {
  const std::filesystem::path temporary = temporary_name(file);
  state_->hnsw->saveIndex(temporary.string());
  std::error_code error;
  // hnswlib does not look whether what it writes is written.
  const Descriptor written(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC));
  const bool complete = std::filesystem::file_size(temporary, error) == saved_bytes(*state_->hnsw) &&
                        !error && written && ::fsync(written.get()) == 0;
  if (complete) std::filesystem::rename(temporary, file, error);
  if (complete && !error) return;
  std::filesystem::remove(temporary, error);
  throw EnvironmentError(fmt::format("{}: can't be written", file.string()));
}

std::vector<Visit> Graph::search(const std::function<float(int64_t)>& cost, int64_t ef) const {
  WACO_ASSERT(ef > 0);
  const Hnsw& hnsw = *state_->hnsw;
  // Kept between searches, all unknown: filling it anew would take longer than a short walk.
  thread_local std::vector<float> known;
  const size_t count = hnsw.cur_element_count;  // atomic in newer versions of hnswlib
  if (known.size() < count) known.resize(count, std::numeric_limits<float>::quiet_NaN());
  const Places places(hnsw.getDataByInternalId(0), hnsw.size_data_per_element_);
  Query query{places, cost, state_->is_upper, known, {}};
  const auto kept = static_cast<size_t>(ef);
  query.visits.reserve(std::min(count, 8 * kept));
  const Forget forget{query};
  hnsw.searchBaseLayerST<false>(descend(hnsw, query), &query, kept);
  return query.visits;
}

}  // namespace waco::index
