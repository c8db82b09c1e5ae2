// Hands out a text as lines, then as large blocks of whole lines, in bounded memory.
#include "waco/matrix/text_reader.hpp"

#include <algorithm>

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

/// Reads until the block holds `bytes` and at least one whole line, or the source ends.
void TextReader::fill(TextPiece& block, std::string_view carried, size_t bytes) {
  const size_t capacity = carried.size() + bytes + 1;  // and a newline for the last line
  if (block.buffer_.size() < capacity) block.buffer_.resize(capacity);
  std::copy(carried.begin(), carried.end(), block.buffer_.begin());
  block.used_bytes_ = carried.size();
  block.text_bytes_ = 0;
  while (!source_ended_) {
    while (block.used_bytes_ + 1 < block.buffer_.size()) {
      const size_t room = block.buffer_.size() - 1 - block.used_bytes_;
      const size_t count = source_.read(block.buffer_.data() + block.used_bytes_, room);
      block.used_bytes_ += count;
      if (count == 0) {
        source_ended_ = true;
        break;
      }
    }
    if (source_ended_) break;
    const size_t newline = std::string_view(block.buffer_.data(), block.used_bytes_).rfind('\n');
    if (newline != std::string_view::npos) {
      block.text_bytes_ = newline + 1;
      return;
    }
    if (block.used_bytes_ > kMaxLineBytes) {
      throw InputError(
          name_, 0,
          "has a line of more than 1 MB: this isn't a Matrix Market or .tns text file, or its lines "
          "end with a carriage return alone");
    }
    block.buffer_.resize(block.buffer_.size() + std::max(bytes, block.buffer_.size()));
  }
  if (block.used_bytes_ > 0 && block.buffer_[block.used_bytes_ - 1] != '\n') {
    block.buffer_[block.used_bytes_++] = '\n';
  }
  block.text_bytes_ = block.used_bytes_;
}

/// Makes the next block the current one.
void TextReader::advance() {
  if (reading_.valid()) {
    reading_.get();
    current_ = 1 - current_;
  } else {
    const TextPiece& last = blocks_[current_];
    fill(blocks_[1 - current_],
         std::string_view(last.buffer_).substr(last.text_bytes_, last.used_bytes_ - last.text_bytes_),
         block_bytes_);
    current_ = 1 - current_;
  }
  TextPiece& block = blocks_[current_];
  rest_ = std::string_view(block.buffer_.data(), block.text_bytes_);
  if (!read_ahead_ || source_ended_) return;
  const std::string_view carried(block.buffer_.data() + block.text_bytes_,
                                 block.used_bytes_ - block.text_bytes_);
  reading_ =
      std::async(std::launch::async, [this, carried] { fill(blocks_[1 - current_], carried, block_bytes_); });
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

std::string_view TextReader::next_piece(TextPiece& piece, size_t bytes) {
  bytes = std::max<size_t>(bytes, 1);
  read_ahead_ = false;
  if (rest_.empty() && reading_.valid()) advance();
  if (!rest_.empty()) {
    const size_t size = rest_.find('\n', std::min(bytes, rest_.size()) - 1) + 1;
    piece.buffer_.assign(rest_.substr(0, size));
    piece.text_bytes_ = piece.used_bytes_ = size;
    rest_.remove_prefix(size);
    return piece.text();
  }
  TextPiece& last = blocks_[current_];
  fill(piece, std::string_view(last.buffer_).substr(last.text_bytes_, last.used_bytes_ - last.text_bytes_),
       bytes);
  last.buffer_.assign(piece.buffer_, piece.text_bytes_, piece.used_bytes_ - piece.text_bytes_);
  last.text_bytes_ = 0;
  last.used_bytes_ = last.buffer_.size();
  return piece.text();
}

}  // namespace waco::matrix
