// Reading, writing and checking index.json.
#include "waco/index/manifest.hpp"

#include <fmt/format.h>

#include "waco/base/artifact.hpp"
#include "waco/base/command_line.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/machine.hpp"
#include "waco/schedule/encoding.hpp"

namespace waco::index {
namespace fs = std::filesystem;

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

Manifest parse(const json& document) {
  Manifest manifest;
  const auto op = schedule::parse_op(document.at("op").get<std::string>());
  if (!op) throw std::runtime_error("the op is none of this program's");
  manifest.op = *op;
  manifest.model_hash = document.at("model_hash").get<std::string>();
  manifest.encoding_version = document.at("encoding_version").get<int>();
  manifest.embedding_size = document.at("embedding_size").get<int>();
  manifest.num_vertices = document.at("vertices").at("count").get<int64_t>();
  manifest.options.sources = ordered_json::parse(document.at("vertices").value("sources", json()).dump());
  manifest.options.created_by = ordered_json::parse(document.value("created_by", json()).dump());
  manifest.options.max_threads = document.at("max_threads").get<int>();
  const json& graph = document.at("graph");
  manifest.options.graph = {graph.at("links").get<int>(), graph.at("ef_construction").get<int>(),
                            graph.at("seed").get<uint64_t>()};
  for (const auto& [name, file] : document.at("files").items())
    manifest.files[name] = {file.at("bytes").get<int64_t>(), file.at("hash").get<std::string>()};
  const bool sane = manifest.num_vertices > 0 && manifest.embedding_size > 0 &&
                    manifest.has(manifest.vertices_file()) && manifest.options.max_threads > 0 &&
                    manifest.options.graph.links > 1 && manifest.options.graph.links <= 1000 &&
                    manifest.options.graph.ef_construction > 0;
  if (!sane) throw std::runtime_error("a number is out of range, or the vertices are not listed");
  return manifest;
}

std::string rebuild_command(const Manifest& manifest) {
  const ordered_json& made = manifest.options.created_by;
  const auto command = made.is_object() ? made.find("command") : made.end();
  return command != made.end() && command->is_string() ? command->get<std::string>()
                                                       : "waco-index MODEL -o INDEX";
}

}  // namespace

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw InputError(folder.string(), 0, "is not the folder of an index; waco-index makes one");
  if (!fs::exists(file, error))
    throw InputError(folder.string(), 0, fmt::format("has no {}, so it is not an index", kManifestFile));
  const json document = read_artifact(file, kIndexFormat, kIndexVersion);
  try {
    return parse(document);
  } catch (const nlohmann::json::exception& fault) {
    throw InputError(file.string(), 0, fmt::format("is damaged: {}", fault_text(fault)));
  } catch (const std::exception& fault) {
    throw InputError(file.string(), 0, fmt::format("is damaged: {}", fault.what()));
  }
}

void write_manifest(const fs::path& folder, const Manifest& manifest) {
  const IndexOptions& options = manifest.options;
  ordered_json document = artifact_header(kIndexFormat, kIndexVersion, "", "", describe_machine());
  document["created_by"] = options.created_by;
  document["op"] = schedule::name(manifest.op);
  document["model_hash"] = manifest.model_hash;
  document["encoding_version"] = manifest.encoding_version;
  document["embedding_size"] = manifest.embedding_size;
  document["max_threads"] = options.max_threads;
  document["vertices"] = {{"count", manifest.num_vertices}, {"sources", options.sources}};
  document["graph"] = {{"links", options.graph.links},
                       {"ef_construction", options.graph.ef_construction},
                       {"seed", options.graph.seed}};
  document["files"] = ordered_json::object();
  for (const auto& [name, entry] : manifest.files)
    document["files"][name] = {{"bytes", entry.bytes}, {"hash", entry.hash}};
  write_artifact(folder / kManifestFile, document);
}

FileEntry describe_file(const fs::path& file) {
  const MappedFile mapped(file);
  return {std::ssize(mapped.content()), fast_content_hash(mapped.content())};
}

MappedFile checked_file(const fs::path& folder, const Manifest& manifest, const std::string& name) {
  const fs::path file = folder / name;
  const FileEntry& expected = manifest.files.at(name);
  const auto damaged = [&](const char* how) {
    return InputError(file.string(), 0,
                      fmt::format("{}; make the index again: {}", how, rebuild_command(manifest)));
  };
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error) throw damaged("is missing");
  MappedFile mapped;
  if (static_cast<int64_t>(bytes) == expected.bytes) mapped = MappedFile(file);
  if (std::ssize(mapped.content()) != expected.bytes || !has_hash(mapped.content(), expected.hash))
    throw damaged("is not the file that index.json describes");
  return mapped;
}

void check_pairing(const fs::path& folder, const Manifest& manifest, const ModelSource& source) {
  const auto refuse = [&](const std::string& why) { throw InputError(folder.string(), 0, why); };
  const std::string repair = fmt::format("repair it with: waco-index {0} --from {1} -o {1}",
                                         shell_word(source.folder), shell_word(folder));
  if (manifest.op != source.model.op())
    refuse(fmt::format("is an index for {}, and {} is a model for {}", schedule::name(manifest.op),
                       source.folder.string(), schedule::name(source.model.op())));
  if (manifest.model_hash != source.model.hash())
    refuse(fmt::format("was made for another model than {}; {}", source.folder.string(), repair));
  if (manifest.encoding_version != schedule::kEncodingVersion ||
      manifest.embedding_size != source.model.embedding_size())
    refuse(fmt::format("was made with another encoding of points (version {}, this program has {}); {}",
                       manifest.encoding_version, schedule::kEncodingVersion, repair));
}

}  // namespace waco::index
