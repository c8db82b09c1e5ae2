// Hands out a text as lines, then as large blocks of whole lines, in bounded memory.
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <string_view>

#include "waco/base/byte_source.hpp"

namespace waco::matrix {

/// A longer line is taken for a file that isn't text.
inline constexpr size_t kMaxLineBytes = size_t{1} << 20;

/// Whole lines in memory of the caller, which is kept from one piece to the next.
class TextPiece {
 public:
  std::string_view text() const { return {buffer_.data(), text_bytes_}; }

 private:
  friend class TextReader;
  std::string buffer_;
  size_t text_bytes_ = 0;  ///< whole lines at the front of the buffer
  size_t used_bytes_ = 0;  ///< of the buffer; what follows the whole lines begins the next piece
};

/// Reads a source once, front to back. Memory: two blocks, and the caller's pieces, whatever the length of
/// the text.
class TextReader {
 public:
  /// `name` is what errors call the file. Blocks hold about `block_bytes`; with `read_ahead` the next block
  /// is read (and inflated) by another thread while the caller works on this one. `source` must outlive the
  /// reader.
  TextReader(std::string name, ByteSource& source, size_t block_bytes, bool read_ahead);
  ~TextReader();
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  const std::string& name() const { return name_; }
  /// Lines handed out by next_line so far: the 1-based number of the latest one.
  int64_t line_number() const { return line_number_; }

  /// The next line without its end ("\n" or "\r\n"), or nullopt after the last. Valid until the next call.
  std::optional<std::string_view> next_line();

  /// The next line will be the latest one again.
  void unread_line();

  /// The next whole lines, every one ended by '\n' (added where the text's last line lacks it); empty at the
  /// end. Valid until the next call. Throws InputError for a line longer than kMaxLineBytes.
  std::string_view next_block();

  /// The same, about `bytes` of them, read into `piece` and valid as long as it: so that threads, which take
  /// turns here, can each work on pieces of their own. Reads ahead no more.
  std::string_view next_piece(TextPiece& piece, size_t bytes);

 private:
  void fill(TextPiece& block, std::string_view carried, size_t bytes);
  void advance();

  std::string name_;
  ByteSource& source_;
  size_t block_bytes_;
  bool read_ahead_;
  TextPiece blocks_[2];
  int current_ = 0;
  bool source_ended_ = false;
  std::future<void> reading_;
  std::string_view rest_;  ///< of the current block, not handed out yet
  std::string_view latest_line_;
  int64_t line_number_ = 0;
};

}  // namespace waco::matrix
