// Parsing the text form; errors name the part that cannot be read. Grammar: docs/superschedule.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "waco/base/error.hpp"
#include "waco/schedule/super_schedule.hpp"

namespace waco::schedule {
namespace {

[[noreturn]] void fail(std::string_view part, std::string_view why) {
  throw UsageError(fmt::format("schedule: '{}': {}", part, why));
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result = split_at(text, ' ');
  std::erase_if(result, [](std::string_view word) { return word.empty(); });
  return result;
}

template <typename Integer>
Integer parse_integer(std::string_view digits, std::string_view part) {
  Integer value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) fail(part, "the number is too large");
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size() || value < 0)
    fail(part, fmt::format("expected a number, found '{}'", digits));
  return value;
}

/// A section after its keyword, cut into the text before the brackets and the text inside.
struct Section {
  std::string_view body;
  std::string_view brackets;
};

Section read_section(std::string_view section, std::string_view keyword) {
  if (section.substr(0, keyword.size()) != keyword) fail(section, fmt::format("expected '{}'", keyword));
  section.remove_prefix(keyword.size());
  const size_t open = section.find('[');
  if (open == std::string_view::npos) return {trimmed(section), {}};
  if (section.back() != ']') fail(section.substr(open), "the bracket must be closed, and be last");
  return {trimmed(section.substr(0, open)), section.substr(open + 1, section.size() - open - 2)};
}

class Parser {
 public:
  SuperSchedule parse(std::string_view text) {
    const std::vector<std::string_view> sections = split_at(trimmed(text), '|');
    if (sections.size() < 4 || sections.size() > 5)
      fail(text,
           "expected 'OP TYPE SIZE | A: levels | loop: variables | par: parallel', and optionally '| unroll "
           "N prefetch N stream'");
    parse_problem(sections[0]);
    const Section levels = read_section(sections[1], "A:");
    const Section loops = read_section(sections[2], "loop:");
    parse_splits(levels.brackets);
    parse_tile(loops.brackets);
    for (const std::string_view word : words(levels.body)) parse_level(word);
    for (const std::string_view word : words(loops.body))
      point_.compute.loops.push_back(parse_var(word, word));
    parse_parallel(sections[3]);
    if (sections.size() == 5) parse_extras(sections[4]);
    if (const auto reason = illegal_reason(point_)) fail(text, *reason);
    return canonical(point_);
  }

 private:
  Op op() const { return point_.problem.op; }

  void parse_problem(std::string_view section) {
    const std::vector<std::string_view> parts = words(section);
    const auto op = parts.empty() ? std::nullopt : parse_op(parts[0]);
    if (!op) fail(section, "expected an op: spmv, spmm, sddmm or mttkrp");
    const auto type = parts.size() < 2 ? std::nullopt : parse_value_type(parts[1]);
    if (!type) fail(section, "expected a type after the op: f32 or f64");
    point_.problem = {*op, *type, default_rhs(*op)};
    if (!has_dense_index(*op)) {
      if (parts.size() > 2) fail(parts[2], fmt::format("{} has no dense index", name(*op)));
      return;
    }
    const char letter = static_cast<char>(std::toupper(index_name(*op, sparse_order(*op))));
    if (parts.size() != 3 || parts[2].size() < 3 || parts[2][0] != letter || parts[2][1] != '=')
      fail(section,
           fmt::format("expected the size of the dense index, such as {}={}", letter, default_rhs(*op)));
    point_.problem.rhs = parse_integer<int64_t>(parts[2].substr(2), parts[2]);
  }

  /// The index a letter names, dense included.
  int8_t parse_index(char letter, std::string_view part) const {
    const int num_indices = sparse_order(op()) + (has_dense_index(op()) ? 1 : 0);
    for (int index = 0; index < num_indices; ++index)
      if (index_name(op(), index) == letter) return static_cast<int8_t>(index);
    fail(part, fmt::format("{} has no index '{}'", name(op()), letter));
  }

  void parse_splits(std::string_view brackets) {
    for (const std::string_view word : words(brackets)) {
      if (word.substr(0, 5) == "sort:") {
        if (sorted_) fail(word, "the window is given twice");
        sorted_ = true;
        point_.format.sort_window = parse_integer<int64_t>(word.substr(5), word);
        if (point_.format.sort_window == 0) fail(word, "the window must be at least 1");
        continue;
      }
      const size_t colon = word.find(':');
      if (const auto arrangement = parse_arrangement(word.substr(0, colon))) {
        if (point_.format.arrangement != Arrangement::kGiven) fail(word, "nonzeros are arranged once");
        point_.format.arrangement = *arrangement;
        if (colon != std::string_view::npos) parse_cluster_window(word, colon);
        continue;
      }
      if (word.size() < 3 || word[1] != '/')
        fail(word, "expected a split such as i/4, clustered, clustered:WINDOW, skewed, or sort:WINDOW");
      const int8_t index = parse_index(word[0], word);
      if (index >= sparse_order(op())) fail(word, "the dense index is split in the loops, not in the levels");
      const auto mode = static_cast<size_t>(index);
      if (divided_[mode]) fail(word, "the index is split twice");
      divided_[mode] = true;
      point_.format.split[mode] = parse_integer<int32_t>(word.substr(2), word);
    }
  }

  void parse_cluster_window(std::string_view word, size_t colon) {
    if (!point_.format.clustered()) fail(word, "only clustered rows have a window");
    point_.format.cluster_window = parse_integer<int64_t>(word.substr(colon + 1), word);
    if (point_.format.cluster_window < 1) fail(word, "the window must be at least 1");
  }

  void parse_tile(std::string_view brackets) {
    for (const std::string_view word : words(brackets)) {
      if (word.size() < 3 || word[1] != '/') fail(word, "expected a tile such as j/64");
      const int8_t index = parse_index(word[0], word);
      if (index < sparse_order(op()))
        fail(word, "only the dense index is tiled here; splits belong to the levels");
      if (point_.compute.dense_tile != 0) fail(word, "the index is tiled twice");
      point_.compute.dense_tile = parse_integer<int32_t>(word.substr(2), word);
      if (point_.compute.dense_tile == 0) fail(word, "a tile of 0 is not possible");
      divided_[static_cast<size_t>(index)] = true;
    }
  }

  Var parse_var(std::string_view text, std::string_view part) const {
    if (text.empty()) fail(part, "expected a variable");
    const int8_t index = parse_index(text[0], part);
    const bool divided = divided_[static_cast<size_t>(index)];
    const std::string_view suffix = text.substr(1);
    if (suffix.empty()) {
      if (divided) fail(part, fmt::format("index {0} is split: name its parts {0}1 and {0}0", text[0]));
      return {index, false};
    }
    if (suffix != "0" && suffix != "1") fail(part, "expected a variable such as i, i1 or i0");
    if (!divided) fail(part, fmt::format("index {0} is not split: write {0}, or add [{0}/SIZE]", text[0]));
    return {index, suffix == "0"};
  }

  void parse_level(std::string_view word) {
    const size_t colon = word.find(':');
    const std::string_view letter = colon == std::string_view::npos ? "" : word.substr(colon + 1);
    const auto kind = letter.size() == 1 ? parse_level_kind(letter[0]) : std::nullopt;
    if (!kind) fail(word, "expected a level such as k:C, of kind U, C, S, E or L");
    const Var var = parse_var(word.substr(0, colon), word);
    if (var.index >= sparse_order(op())) fail(word, "the dense index has no level");
    point_.format.levels.push_back({var, *kind});
  }

  void parse_parallel(std::string_view section) {
    const Section parallel = read_section(section, "par:");
    const std::vector<std::string_view> parts = words(parallel.body);
    if (parts.size() == 1 && parts[0] == "serial" && parallel.brackets.empty()) return;
    if (parts.size() != 3 || parts[2].size() < 2 || parts[2][0] != 'x' || !parallel.brackets.empty())
      fail(section, "expected 'serial', or a loop, a policy and threads such as 'i dynamic,32 x2'");
    ComputeSchedule& compute = point_.compute;
    const auto loop = std::find(compute.loops.begin(), compute.loops.end(), parse_var(parts[0], parts[0]));
    if (loop == compute.loops.end()) fail(parts[0], "the parallel loop is not one of the loops");
    compute.parallel = static_cast<int32_t>(loop - compute.loops.begin());
    parse_policy(parts[1]);
    compute.threads = parse_integer<int32_t>(parts[2].substr(1), parts[2]);
  }

  void parse_policy(std::string_view word) {
    constexpr std::string_view kDynamicPrefix = "dynamic,";
    if (word == "static") {
      point_.compute.policy = Policy::kStatic;
    } else if (word == "balanced") {
      point_.compute.policy = Policy::kBalanced;
    } else if (word.substr(0, kDynamicPrefix.size()) == kDynamicPrefix) {
      point_.compute.policy = Policy::kDynamic;
      point_.compute.chunk = parse_integer<int32_t>(word.substr(kDynamicPrefix.size()), word);
    } else {
      fail(word, "expected dynamic,CHUNK, static or balanced");
    }
  }

  void parse_extras(std::string_view section) {
    const std::vector<std::string_view> parts = words(section);
    if (parts.empty()) fail(section, "expected 'unroll N', 'prefetch N' or 'stream'");
    std::set<std::string_view> seen;
    for (size_t at = 0; at < parts.size(); ++at) {
      const std::string_view name = parts[at];
      if (!seen.insert(name).second) fail(name, "given twice");
      if (name == "stream") {
        point_.compute.stream = true;
        continue;
      }
      if (name != "unroll" && name != "prefetch") fail(name, "expected unroll, prefetch or stream");
      if (++at == parts.size()) fail(section, fmt::format("'{}' needs a number", name));
      const auto value = parse_integer<int32_t>(parts[at], section);
      (name == "unroll" ? point_.compute.unroll : point_.compute.prefetch) = value;
    }
  }

  SuperSchedule point_;
  std::array<bool, 4> divided_{};  ///< per index, dense included: named in brackets
  bool sorted_ = false;            ///< a window has been given
};

}  // namespace

SuperSchedule parse(std::string_view text) {
  return Parser().parse(text);
}

}  // namespace waco::schedule
