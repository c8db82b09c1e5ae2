// Items of a corpus: their text, and the tensors they stand for.
#include "waco/matrix/corpus.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "waco/base/error.hpp"
#include "waco/base/random.hpp"
#include "waco/matrix/corpus_recipes.hpp"
#include "waco/matrix/read.hpp"
#include "waco/matrix/reshape.hpp"
#include "waco/matrix/synthetic.hpp"

namespace waco::matrix {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kStep = " | ";

/// A source in its parts: what is read or generated, then the steps.
struct Source {
  std::string base;
  std::vector<std::string> steps;
};

/// Cuts off steps from the end, so that a path may hold anything that does not look like one.
Source split(std::string_view text) {
  Source source;
  for (size_t at = text.rfind(kStep); at != std::string_view::npos; at = text.rfind(kStep)) {
    const std::string_view step = text.substr(at + kStep.size());
    if (!names_step(step)) break;
    source.steps.insert(source.steps.begin(), std::string(step));
    text = text.substr(0, at);
  }
  source.base = text;
  return source;
}

CorpusItem with_step(CorpusItem item, const std::string& step) {
  const std::string text = to_text(parse_step(step));
  item.name += "+" + name_of_recipe(text);
  item.source += std::string(kStep) + text;
  return item;
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

CorpusItem file_item(const std::string& path) {
  std::string name = tensor_name(path);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '\t' || c == '/'; }, '_');
  return {name, name, path};
}

CorpusItem synthetic_item(const std::string& recipe) {
  const Source source = split(recipe);
  const std::string text = to_text(parse_synthetic(source.base));
  CorpusItem item = {name_of_recipe(text), "", std::string(kSynthetic) + text};
  for (const std::string& step : source.steps) item = with_step(item, step);
  item.original = item.name;
  return item;
}

std::vector<CorpusItem> synthetic_corpus(int count, int order, uint64_t seed) {
  WACO_ASSERT(order == 2 || order == 3);
  const int num_kinds = num_recipe_kinds(order);
  std::vector<CorpusItem> items;
  std::set<std::string> names;
  std::vector<int> turn;
  for (int i = 0; i < count; ++i) {
    // Every kind once before any comes again, in another order each time.
    const int round = i / num_kinds;
    if (i % num_kinds == 0) turn = kind_order(order, Random(seed + 1, static_cast<uint64_t>(round)));
    int kind = turn[static_cast<size_t>(i % num_kinds)];
    Random random(seed, static_cast<uint64_t>(i));
    for (;;) {
      CorpusItem item = synthetic_item(recipe_of_size(order, kind, draw_num_nonzeros(random), random));
      if (names.insert(item.name).second) {
        items.push_back(std::move(item));
        break;
      }
      kind = (kind + 1) % num_kinds;  // kinds without a seed run out of items
    }
  }
  return items;
}

std::vector<CorpusItem> augmented(const CorpusItem& original, const std::vector<int64_t>& dims,
                                  int64_t num_nonzeros, int copies, uint64_t seed) {
  std::vector<CorpusItem> items;
  for (int copy = 0; copy < copies; ++copy) {
    Random random(seed + hash_of(original.name), static_cast<uint64_t>(copy));
    CorpusItem item = original;
    for (const std::string& step : draw_reshaping(dims, num_nonzeros, copy, random)) {
      item = with_step(item, step);
    }
    items.push_back(item);
  }
  return items;
}

std::string record_source(const CorpusItem& item) {
  if (item.source.starts_with(kSynthetic)) return item.source;
  const std::string file = split(item.source).base;
  return fs::path(file).filename().string() + item.source.substr(file.size());
}

ReadResult read_item(const CorpusItem& item, const ReadOptions& options) {
  const Source source = split(item.source);
  ReadResult result;
  if (source.base.starts_with(kSynthetic)) {
    result.tensor = generate(source.base.substr(kSynthetic.size()));
  } else {
    result = read_tensor(source.base, options);
  }
  for (const std::string& step : source.steps)
    result.tensor = reshape(std::move(result.tensor), parse_step(step));
  result.tensor.name = item.name;
  return result;
}

SparseTensor make(const CorpusItem& item) {
  return read_item(item).tensor;
}

}  // namespace waco::matrix
