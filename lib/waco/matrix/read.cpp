// Reading a sparse matrix or tensor from a file, whatever its kind.
#include "waco/matrix/read.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <utility>

#include "waco/base/byte_source.hpp"
#include "waco/base/error.hpp"
#include "waco/base/gzip.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/tar.hpp"
#include "waco/matrix/frostt.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/matrix_market.hpp"
#include "waco/matrix/text_reader.hpp"

namespace waco::matrix {
namespace {

constexpr size_t kHeadBytes = kTarBlock;
/// How much longer than its compressed form a text is taken to be before it is read.
constexpr int64_t kLikelyInflation = 16;

struct Magic {
  std::string_view bytes;
  const char* what;
};

/// Files that people do try.
constexpr std::array<Magic, 8> kUnsupported = {{
    {"BZh", "compressed with bzip2; decompress it first"},
    {std::string_view("\xfd\x37zXZ\0", 6), "compressed with xz; decompress it first"},
    {"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it first"},
    {"PK\x03\x04", "a zip archive (or .npz); extract it, and convert it to .mtx"},
    {"MATLAB", "a MATLAB file; write it as .mtx"},
    {"\x89HDF", "an HDF5 file; write it as .mtx"},
    {"\xff\xfe", "UTF-16 text; save it as plain ASCII or UTF-8"},
    {"\xfe\xff", "UTF-16 text; save it as plain ASCII or UTF-8"},
}};

/// Looks at the head of a text: throws for files of another kind, and drops a byte order mark.
std::string checked_head(std::string head, const std::string& name) {
  if (head.empty()) throw InputError(name, 0, "the file is empty");
  for (const Magic& magic : kUnsupported) {
    if (head.starts_with(magic.bytes)) throw InputError(name, 0, fmt::format("is {}", magic.what));
  }
  if (is_gzip(head)) throw InputError(name, 0, "is compressed twice with gzip; decompress it once");
  drop_byte_order_mark(head);
  return head;
}

/// Whether a member of an archive is the matrix of its folder, "NAME/NAME.mtx", as SuiteSparse packs it; what
/// belongs to it, right-hand sides and such, has longer names.
bool is_matrix_of_folder(std::string_view path) {
  const std::filesystem::path member(path);
  return member.extension() == ".mtx" && member.has_parent_path() &&
         member.stem() == member.parent_path().filename();
}

constexpr const char* kOtherArchive =
    "is a tar archive without a NAME/NAME.mtx, as those of SuiteSparse have; extract it and name a file";

/// Reads the text behind `text`, of the kind that its first line says.
ReadResult read_text(TextReader& text, int64_t likely_text_bytes, const ReadOptions& options) {
  while (const auto line = text.next_line()) {
    const char first = first_character(*line);
    if (first == '\0') continue;
    if (std::any_of(line->begin(), line->end(),
                    [](char c) { return static_cast<unsigned char>(c) < '\t'; })) {
      throw InputError(text.name(), text.line_number(),
                       "binary data; expected a Matrix Market or .tns text file");
    }
    if (line->find('\r') != std::string_view::npos) {
      throw InputError(text.name(), text.line_number(),
                       "lines end with a carriage return alone; end them with line feeds (tr '\\r' '\\n')");
    }
    const bool is_matrix = is_matrix_market_banner(*line);
    if (!is_matrix && text.name().ends_with(".rb"))
      throw InputError(text.name(), 0,
                       "is a Rutherford-Boeing file; take the Matrix Market one (.mtx), or convert it");
    if (!is_matrix && first == '%') {
      throw InputError(
          text.name(), text.line_number(),
          "expected '%%MatrixMarket matrix coordinate real general' or the like; a Matrix Market file "
          "must begin with it");
    }
    text.unread_line();
    return is_matrix ? read_matrix_market(text, likely_text_bytes, options) : read_frostt(text, options);
  }
  throw InputError(text.name(), 0, "the file holds nothing but blank lines");
}

/// After a fault in an inflated text: throws the gzip file's own fault when that is the cause.
void check_rest(GzipSource& inflated) {
  constexpr int64_t kLongest = int64_t{1} << 30;
  std::vector<char> buffer(size_t{1} << 16);
  for (int64_t total = 0; total < kLongest;) {
    const size_t count = inflated.read(buffer.data(), buffer.size());
    if (count == 0) return;
    total += static_cast<int64_t>(count);
  }
}

ReadResult read_source(ByteSource& source, const std::string& name, int64_t num_bytes, ReadOptions options) {
  if (options.threads <= 0) options.threads = usable_threads();
  std::string head = read_up_to(source, kHeadBytes);
  const bool compressed = is_gzip(head);
  ReplaySource whole(std::move(head), source);
  int64_t likely_text_bytes = num_bytes;
  const auto read_plain = [&](std::string start, ByteSource& rest) {
    ReplaySource checked(checked_head(std::move(start), name), rest);
    const auto chunks = static_cast<size_t>(std::max(16, 2 * options.threads));
    size_t block_bytes = options.chunk_bytes * chunks;
    if (likely_text_bytes >= 0)
      block_bytes = std::min(block_bytes, static_cast<size_t>(likely_text_bytes) + 1);
    TextReader text(name, checked, block_bytes, options.threads > 1);
    return read_text(text, likely_text_bytes, options);
  };
  const auto read_inflated = [&](ByteSource& content) {
    std::string start = read_up_to(content, kHeadBytes);
    if (!is_tar(start)) return read_plain(std::move(start), content);
    ReplaySource archive(std::move(start), content);
    TarMember member(name, archive, is_matrix_of_folder, kOtherArchive);
    likely_text_bytes = std::min(likely_text_bytes, member.num_bytes());
    start = read_up_to(member, kHeadBytes);
    return read_plain(std::move(start), member);
  };
  try {
    if (!compressed) return read_inflated(whole);
    if (num_bytes >= 0) likely_text_bytes = num_bytes * kLikelyInflation;
    GzipSource inflated(name, whole);
    try {
      return read_inflated(inflated);
    } catch (const InputError&) {
      check_rest(inflated);
      throw;
    }
  } catch (const std::bad_alloc&) {
    throw TooLargeError(
        fmt::format("{}: does not fit in memory; use a smaller matrix or a machine with more memory", name));
  }
}

}  // namespace

ReadResult read_tensor(const std::string& path, const ReadOptions& options) {
  FileSource file(path);
  ReadResult result = read_source(file, file.name(), file.num_bytes(), options);
  result.tensor.name = tensor_name(path);
  return result;
}

ReadResult read_tensor_bytes(std::string_view content, const std::string& name, const ReadOptions& options) {
  MemorySource bytes(content);
  ReadResult result = read_source(bytes, name, static_cast<int64_t>(content.size()), options);
  result.tensor.name = tensor_name(name);
  return result;
}

std::string tensor_name(const std::string& path) {
  if (path == "-") return "stdin";
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  for (const char* extension : {".mtx", ".mm", ".tns", ".txt", ".tar", ".tgz"}) {
    if (name.extension() == extension) return name.stem().string();
  }
  return name.string();
}

}  // namespace waco::matrix
