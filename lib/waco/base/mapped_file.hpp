// The content of a file, used where the system keeps it instead of in a copy.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace waco {

/// A whole file in memory, read-only. Copies share it. A file that is replaced in the meantime
/// (write_file_atomically) keeps its old content here; none that is used so may be cut short in place.
///
/// Mapped on local file systems and read elsewhere: once another machine has replaced a file, the network no
/// longer gives the old one, not even to a process that has it mapped.
class MappedFile {
 public:
  MappedFile() = default;  ///< empty
  /// Throws EnvironmentError when it can't be read, as read_file does.
  explicit MappedFile(const std::filesystem::path& file);

  /// Valid as long as any copy lives. Begins at a multiple of eight bytes.
  std::string_view content() const { return content_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view content_;
};

}  // namespace waco
