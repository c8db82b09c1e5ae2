// Vertices as lines of text.
#include "waco/index/vertex_list.hpp"

#include <zlib.h>

#include "waco/base/error.hpp"
#include "waco/matrix/gzip.hpp"

namespace waco::index {

using schedule::SuperSchedule;

namespace {

/// The end of a stream in gzip's layout instead of zlib's.
constexpr int kGzipWindow = 15 + 16;

std::string gzipped(const std::string& text, int level) {
  z_stream stream{};
  if (::deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw EnvironmentError("not enough memory to compress the vertices");
  std::string result(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = ::deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  ::deflateEnd(&stream);
  WACO_ASSERT(status == Z_STREAM_END);
  return result;
}

}  // namespace

VertexList VertexList::read(const std::filesystem::path& file, schedule::Op op) {
  matrix::FileSource compressed(file.string());
  matrix::GzipSource content(file.string(), compressed);
  VertexList list(op);
  list.source_ = file.string();
  std::string buffer(size_t{1} << 18, '\0'), line;
  while (const size_t count = content.read(buffer.data(), buffer.size())) {
    std::string_view rest(buffer.data(), count);
    for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      list.texts_.push_back(line.append(rest.substr(0, end)));
      line.clear();
      rest.remove_prefix(end + 1);
    }
    line.append(rest);
  }
  if (!line.empty()) throw InputError(file.string(), list.size() + 1, "the last line does not end");
  return list;
}

std::string VertexList::compressed(bool small) const {
  std::string text;
  for (const std::string& line : texts_) text.append(line).push_back('\n');
  return gzipped(text, small ? Z_BEST_COMPRESSION : Z_NO_COMPRESSION);
}

bool VertexList::add(const SuperSchedule& point, int max_threads) {
  WACO_ASSERT(point.problem.op == op_);
  if (known_.size() != texts_.size()) known_.insert(texts_.begin(), texts_.end());
  std::string text = schedule::to_text(as_vertex(point, max_threads));
  if (!known_.insert(text).second) return false;
  texts_.push_back(std::move(text));
  return true;
}

SuperSchedule VertexList::vertex(int64_t vertex) const {
  const std::string& line = text(vertex);
  try {
    SuperSchedule parsed = schedule::parse(line);
    if (parsed.problem.op == op_ && as_vertex(parsed, kAllThreads) == parsed) return parsed;
  } catch (const UsageError& error) {
    throw InputError(source_, vertex + 1, error.what());
  }
  throw InputError(source_, vertex + 1, fmt::format("is not a vertex of {}", schedule::name(op_)));
}

}  // namespace waco::index
