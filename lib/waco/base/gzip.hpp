// Inflating gzip data as a stream, in bounded memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "waco/base/byte_source.hpp"

namespace waco {

/// Whether the first bytes of a file are those of gzip data.
bool is_gzip(std::string_view head);

/// The inflated content of gzip data: one or more members, zero padding after the last allowed.
class GzipSource : public ByteSource {
 public:
  /// `name` is what errors call the file; `compressed` must outlive this source.
  GzipSource(std::string name, ByteSource& compressed);
  ~GzipSource() override;

  /// Throws InputError where the data is corrupt or ends early, behind what comes before that, and again at
  /// every later call.
  size_t read(char* to, size_t size) override;
  /// Whether the data ended early.
  bool cut_off() const;

 private:
  struct State;
  bool refill();
  bool begin_next_member();
  void fail(const char* cause);

  std::string name_;
  ByteSource& compressed_;
  std::unique_ptr<State> state_;
};

}  // namespace waco
