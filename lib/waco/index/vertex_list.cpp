// Vertices as lines of text.
#include "waco/index/vertex_list.hpp"

#include <zlib.h>

#include "waco/base/error.hpp"
#include "waco/base/gzip.hpp"

namespace waco::index {

using schedule::SuperSchedule;

namespace {

/// The end of a stream in gzip's layout instead of zlib's.
constexpr int kGzipWindow = 15 + 16;

std::string gzipped(std::string_view text) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, 9, Z_DEFAULT_STRATEGY) != Z_OK)
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
  FileSource compressed(file.string());
  GzipSource content(file.string(), compressed);
  VertexList list(op);
  list.source_ = file.string();
  constexpr size_t kStep = size_t{1} << 20;
  for (size_t size = 0, count = kStep; count > 0; size += count) {
    list.added_.resize(size + kStep);
    count = content.read(list.added_.data() + size, kStep);
    list.added_.resize(size + count);
  }
  list.find_lines();
  return list;
}

VertexList VertexList::view(std::string source, MappedFile file, schedule::Op op) {
  VertexList list(op);
  list.source_ = std::move(source);
  list.file_ = std::move(file);
  list.find_lines();
  return list;
}

/// Throws InputError when the last line does not end.
void VertexList::find_lines() {
  const std::string_view text = plain();
  constexpr size_t kUsualLine = 64;
  ends_.reserve(text.size() / kUsualLine);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    ends_.push_back(end);
    begin = end + 1;
  }
  if (begin != text.size()) throw InputError(source_, size() + 1, "the last line does not end");
}

std::string VertexList::compressed() const {
  return gzipped(plain());
}

bool VertexList::add(const SuperSchedule& point, int max_threads) {
  WACO_ASSERT(point.problem.op == op_);
  if (known_.empty())  // the first to follow what was read
    for (int64_t v = 0; v < size(); ++v) known_.emplace(text(v));
  std::string line = schedule::to_text(as_vertex(point, max_threads));
  if (!known_.insert(line).second) return false;
  if (file_) {
    added_ = file_->content();
    file_.reset();
  }
  added_ += line;
  ends_.push_back(added_.size());
  added_ += '\n';
  return true;
}

std::string_view VertexList::text(int64_t vertex) const {
  const auto at = static_cast<size_t>(vertex);
  const size_t begin = at == 0 ? 0 : ends_[at - 1] + 1;
  return plain().substr(begin, ends_[at] - begin);
}

SuperSchedule VertexList::vertex(int64_t vertex) const {
  const std::string_view line = text(vertex);
  try {
    SuperSchedule parsed = schedule::parse(line);
    if (parsed.problem.op == op_ && as_vertex(parsed, kAllThreads) == parsed) return parsed;
  } catch (const UsageError& error) {
    throw InputError(source_, vertex + 1, error.what());
  }
  throw InputError(source_, vertex + 1, fmt::format("is not a vertex of {}", schedule::name(op_)));
}

}  // namespace waco::index
