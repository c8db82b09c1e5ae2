// Inflating gzip data as a stream, in bounded memory.
#include "waco/base/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "waco/base/error.hpp"

namespace waco {
namespace {

constexpr size_t kInputBytes = size_t{1} << 18;
constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

struct GzipSource::State {
  z_stream stream{};
  std::vector<char> input = std::vector<char>(kInputBytes);
  bool between_members = false;
  bool done = false;
  bool cut_off = false;
  std::string fault;  ///< once there is one, nothing more is inflated
};

bool is_gzip(std::string_view head) {
  return head.substr(0, 2) == "\x1f\x8b";
}

GzipSource::GzipSource(std::string name, ByteSource& compressed)
    : name_(std::move(name)), compressed_(compressed), state_(std::make_unique<State>()) {
  if (inflateInit2(&state_->stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipSource::~GzipSource() {
  inflateEnd(&state_->stream);
}

/// Makes compressed bytes available; false at the end of the file.
bool GzipSource::refill() {
  z_stream& stream = state_->stream;
  if (stream.avail_in > 0) return true;
  const size_t count = compressed_.read(state_->input.data(), state_->input.size());
  stream.next_in = reinterpret_cast<Bytef*>(state_->input.data());
  stream.avail_in = static_cast<uInt>(count);
  return count > 0;
}

/// After the end of a member: false when only zero padding follows it.
bool GzipSource::begin_next_member() {
  z_stream& stream = state_->stream;
  while (refill()) {
    if (*stream.next_in != 0) {
      WACO_ASSERT(inflateReset(&stream) == Z_OK);
      state_->between_members = false;
      return true;
    }
    ++stream.next_in;
    --stream.avail_in;
  }
  state_->done = true;
  return false;
}

size_t GzipSource::read(char* to, size_t size) {
  z_stream& stream = state_->stream;
  const size_t wanted = std::min<size_t>(size, std::numeric_limits<uInt>::max());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(wanted);
  while (stream.avail_out > 0 && !state_->done && state_->fault.empty()) {
    if (state_->between_members && !begin_next_member()) break;
    const bool at_end = !refill();  // of the compressed bytes; some of the text may still be held
    switch (inflate(&stream, Z_NO_FLUSH)) {
      case Z_OK:
        break;
      case Z_BUF_ERROR:
        state_->cut_off = at_end;
        if (at_end) fail("is cut off");
        break;
      case Z_STREAM_END:
        state_->between_members = true;
        break;
      case Z_MEM_ERROR:
        throw std::bad_alloc();
      default:
        fail("is damaged");
    }
  }
  if (stream.avail_out == wanted && !state_->fault.empty()) throw InputError(name_, 0, state_->fault);
  return wanted - stream.avail_out;
}

bool GzipSource::cut_off() const {
  return state_->cut_off;
}

void GzipSource::fail(const char* cause) {
  const char* detail = state_->stream.msg;
  state_->fault = fmt::format("the gzip file {}{}{}; fetch or compress it again", cause,
                              detail != nullptr ? ": " : "", detail != nullptr ? detail : "");
}

}  // namespace waco
