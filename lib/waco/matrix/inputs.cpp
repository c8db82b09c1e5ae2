// Files, folders, lists and synthetic items.
#include "waco/matrix/inputs.hpp"

#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "waco/base/counted.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"
#include "waco/matrix/line.hpp"
#include "waco/matrix/read.hpp"

namespace waco::matrix {
namespace fs = std::filesystem;
namespace {

bool has_either(const std::set<std::string>& files, const fs::path& file) {
  return files.contains(file.string()) || files.contains(file.string() + ".gz");
}

/// Whether a file of SuiteSparse holds no matrix that the others lack: right-hand sides and such, as
/// NAME/NAME_b.mtx beside NAME/NAME.mtx, and an archive NAME.tar.gz that was extracted.
bool is_beside_matrix(const fs::path& file, const std::set<std::string>& files) {
  const std::string name = tensor_name(file.string());
  const std::string text = file.string();
  if (text.ends_with(".tar.gz") || text.ends_with(".tgz"))
    return has_either(files, file.parent_path() / name / (name + ".mtx"));
  const std::string folder = file.parent_path().filename().string();
  return name.starts_with(folder + "_") && has_either(files, file.parent_path() / (folder + ".mtx"));
}

class Gathering {
 public:
  explicit Gathering(int order) : order_(order) {}

  void add(CorpusItem item) {
    if (seen_.insert(item.source).second) items_.push_back(std::move(item));
  }

  void add_path(const std::string& path) {
    std::error_code error;
    if (fs::is_directory(path, error))
      add_folder(path);
    else
      add(file_item(path));  // whose reading fails where it is not there
  }

  void add_list(const std::string& file) {
    std::string text = read_input_file(file);
    drop_byte_order_mark(text);
    if (text.starts_with("%%MatrixMarket") || text.find('\0') != std::string::npos)
      throw InputError(file, 0, "is no list of inputs, a line each, but a matrix or binary file itself");
    int64_t number = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line(trimmed(std::string_view(text).substr(begin, end - begin)));
      begin = end + 1;
      ++number;
      if (line.empty() || line[0] == '#') continue;
      add_line(file, number, line);
    }
  }

  std::vector<CorpusItem> take() { return std::move(items_); }

 private:
  void add_line(const std::string& file, int64_t number, const std::string& line) {
    try {
      if (line.starts_with(kSynthetic)) {
        add(synthetic_item(line.substr(kSynthetic.size())));
      } else {
        add_path(line);
      }
    } catch (const Error& error) {
      throw InputError(file, number, error.what());
    }
  }

  void add_folder(const fs::path& folder) {
    const std::vector<std::string> kinds =
        order_ == 3 ? std::vector<std::string>{".tns", ".tns.gz"}
                    : std::vector<std::string>{".mtx", ".mtx.gz", ".tar.gz", ".tgz"};
    std::set<std::string> files;
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (auto at = fs::recursive_directory_iterator(folder, options, error);
         !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string path = at->path().string();
      std::error_code ignored;
      const auto is_end = [&](const std::string& kind) { return path.ends_with(kind); };
      if (at->is_directory(ignored)) {
        if (::access(path.c_str(), R_OK | X_OK) != 0)
          spdlog::warn("{}: is passed over, as it can't be searched: {}", path, std::strerror(errno));
      } else if (std::ranges::any_of(kinds, is_end)) {
        if (at->is_regular_file(ignored))
          files.insert(path);
        else
          spdlog::warn("{}: is passed over, as it is no file", path);
      }
    }
    if (error) throw InputError(folder.string(), 0, fmt::format("can't be searched: {}", error.message()));
    if (files.empty())
      throw InputError(folder.string(), 0, fmt::format("holds no {} file", fmt::join(kinds, ", ")));
    int64_t num_beside = 0;
    for (const std::string& file : files) {
      const bool beside = order_ == 2 && is_beside_matrix(file, files);
      num_beside += beside;
      if (!beside) add(file_item(file));
    }
    if (num_beside > 0)
      spdlog::info("{}: {} passed over, of matrices that are there, as NAME_b.mtx is of NAME/NAME.mtx",
                   folder.string(), counted(num_beside, "file"));
  }

  int order_;
  std::set<std::string> seen_;
  std::vector<CorpusItem> items_;
};

}  // namespace

std::vector<CorpusItem> gather_items(const InputOptions& options, int order, uint64_t seed) {
  if (options.paths.empty() && options.lists.empty() && options.num_synthetic == 0)
    throw UsageError("nothing to do: name matrices or folders, --list or --synthetic");
  Gathering gathering(order);
  for (const std::string& path : options.paths) gathering.add_path(path);
  for (const std::string& list : options.lists) gathering.add_list(list);
  if (options.num_synthetic > 0)
    for (CorpusItem& item : synthetic_corpus(options.num_synthetic, order, seed))
      gathering.add(std::move(item));
  std::vector<CorpusItem> items = gathering.take();
  if (items.empty()) throw UsageError("nothing to do: the lists are empty");
  return items;
}

}  // namespace waco::matrix
