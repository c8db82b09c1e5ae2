// Writing, reading and removing checkpoints.
#include "waco/train/checkpoint.hpp"

#include "waco/base/artifact.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::train {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "waco-checkpoint";
constexpr int kVersion = 1;
constexpr const char* kState = "checkpoint.json";

std::string tensors_name(int64_t epoch) {
  return fmt::format("checkpoint-{}.safetensors", epoch);
}

}  // namespace

void CheckpointFolder::write(const Checkpoint& checkpoint) {
  fs::create_directories(folder_);
  const std::string name = tensors_name(checkpoint.state.at("epoch"));
  checkpoint.tensors.write(folder_ / name);
  nlohmann::ordered_json document = {{"format", kFormat}, {"version", kVersion}, {"tensors", name}};
  document["tensors_hash"] = content_hash(read_file(folder_ / name));
  for (const auto& [key, value] : checkpoint.state.items()) document[key] = value;
  write_artifact(folder_ / kState, document);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string other = entry.path().filename().string();
    if (other.starts_with("checkpoint-") && other != name) fs::remove(entry.path());
  }
}

std::optional<Checkpoint> CheckpointFolder::read() const {
  std::error_code error;
  if (!fs::exists(folder_ / kState, error)) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.state = read_artifact(folder_ / kState, kFormat, kVersion);
  const fs::path tensors = folder_ / checkpoint.state.value("tensors", "");
  if (!fs::is_regular_file(tensors, error) ||
      content_hash(read_file(tensors)) != checkpoint.state.value("tensors_hash", ""))
    throw InputError(tensors.string(), 0,
                     "is not the file that checkpoint.json names; train without --resume");
  checkpoint.tensors = model::TensorFile::read(tensors);
  return checkpoint;
}

void CheckpointFolder::remove() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

}  // namespace waco::train
