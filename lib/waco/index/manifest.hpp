// index.json: what an index is made of, and whether the files beside it are those it describes.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "waco/base/mapped_file.hpp"
#include "waco/index/index.hpp"

namespace waco::index {

inline constexpr const char* kManifestFile = "index.json";
inline constexpr const char* kVerticesFile = "vertices.txt.gz";
inline constexpr const char* kPlainVerticesFile = "vertices.txt";  ///< instead of the other, in the cache
inline constexpr const char* kEmbeddingsFile = "embeddings.safetensors";
inline constexpr const char* kGraphFile = "graph.bin";

struct FileEntry {
  int64_t bytes = 0;
  std::string hash;  ///< as has_hash() takes it
};

struct Manifest {
  schedule::Op op = schedule::Op::kSpmv;
  std::string model_hash;
  int encoding_version = 0;
  int embedding_size = 0;
  int64_t num_vertices = 0;
  IndexOptions options;
  std::map<std::string, FileEntry> files;  ///< by name

  bool has(const std::string& file) const { return files.contains(file); }
  /// The name of the file of vertices, one of the two.
  const char* vertices_file() const { return has(kPlainVerticesFile) ? kPlainVerticesFile : kVerticesFile; }
};

/// Throws InputError when the folder has no readable manifest.
Manifest read_manifest(const std::filesystem::path& folder);
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);

/// The entry of a file as it is.
FileEntry describe_file(const std::filesystem::path& file);
/// A file that the manifest lists. Throws InputError when it is not what the manifest describes.
MappedFile checked_file(const std::filesystem::path& folder, const Manifest& manifest,
                        const std::string& name);

/// Throws InputError that names the repairing command when the index does not belong to the model.
void check_pairing(const std::filesystem::path& folder, const Manifest& manifest, const ModelSource& model);

}  // namespace waco::index
