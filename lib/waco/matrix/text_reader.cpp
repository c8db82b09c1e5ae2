// Hands out a text as lines, then as large blocks of whole lines, in bounded memory.
#include "waco/matrix/text_reader.hpp"

#include <algorithm>
#include <cstring>

#include "waco/base/error.hpp"

namespace waco::matrix {

TextReader::TextReader(std::string name, ByteSource& source, size_t block_bytes, bool read_ahead)
    : name_(std::move(name)),
      source_(source),
      block_bytes_(std::max<size_t>(block_bytes, 1)),
      read_ahead_(read_ahead) {}

TextReader::~TextReader() {
  if (reading_.valid()) reading_.wait();
}

/// Reads until the block holds `block_bytes_` and at least one whole line, or the source ends.
void TextReader::fill(Block& block, std::string_view carried) {
  const size_t capacity = carried.size() + block_bytes_ + 1;  // and a newline for the last line
  if (block.buffer.size() < capacity) block.buffer.resize(capacity);
  std::copy(carried.begin(), carried.end(), block.buffer.begin());
  block.used_bytes = carried.size();
  block.text_bytes = 0;
  while (!source_ended_) {
    while (block.used_bytes + 1 < block.buffer.size()) {
      const size_t room = block.buffer.size() - 1 - block.used_bytes;
      const size_t count = source_.read(block.buffer.data() + block.used_bytes, room);
      block.used_bytes += count;
      if (count == 0) {
        source_ended_ = true;
        break;
      }
    }
    if (source_ended_) break;
    const size_t newline = std::string_view(block.buffer.data(), block.used_bytes).rfind('\n');
    if (newline != std::string_view::npos) {
      block.text_bytes = newline + 1;
      return;
    }
    if (block.used_bytes > kMaxLineBytes) {
      throw InputError(name_, 0,
                       "has a line of more than 1 MB: this isn't a Matrix Market or .tns text file");
    }
    block.buffer.resize(block.buffer.size() + std::max<size_t>(block_bytes_, block.buffer.size()));
  }
  if (block.used_bytes > 0 && block.buffer[block.used_bytes - 1] != '\n') {
    block.buffer[block.used_bytes++] = '\n';
  }
  block.text_bytes = block.used_bytes;
}

/// Makes the next block the current one.
void TextReader::advance() {
  if (reading_.valid()) {
    reading_.get();
    current_ = 1 - current_;
  } else {
    const Block& last = blocks_[current_];
    fill(blocks_[1 - current_],
         std::string_view(last.buffer).substr(last.text_bytes, last.used_bytes - last.text_bytes));
    current_ = 1 - current_;
  }
  Block& block = blocks_[current_];
  rest_ = std::string_view(block.buffer.data(), block.text_bytes);
  if (!read_ahead_ || source_ended_) return;
  const std::string_view carried(block.buffer.data() + block.text_bytes, block.used_bytes - block.text_bytes);
  reading_ = std::async(std::launch::async, [this, carried] { fill(blocks_[1 - current_], carried); });
}

std::optional<std::string_view> TextReader::next_line() {
  if (rest_.empty()) advance();
  if (rest_.empty()) return std::nullopt;
  const size_t newline = rest_.find('\n');
  latest_line_ = rest_.substr(0, newline + 1);
  rest_.remove_prefix(newline + 1);
  ++line_number_;
  std::string_view line = latest_line_.substr(0, newline);
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

void TextReader::unread_line() {
  rest_ = std::string_view(latest_line_.data(), latest_line_.size() + rest_.size());
  --line_number_;
}

std::string_view TextReader::next_block() {
  if (rest_.empty()) advance();
  const std::string_view block = rest_;
  rest_ = {};
  return block;
}

}  // namespace waco::matrix
