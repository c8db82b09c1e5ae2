// Writing, reading and removing checkpoints.
#include "waco/train/checkpoint.hpp"

#include <string>
#include <vector>

#include "waco/base/artifact.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/error.hpp"
#include "waco/base/files.hpp"

namespace waco::train {
namespace fs = std::filesystem;

namespace {

constexpr const char* kFormat = "waco-checkpoint";
constexpr int kVersion = 1;
constexpr const char* kState = "checkpoint.json";
constexpr const char* kLock = "lock";

std::string tensors_name(int64_t epoch) {
  return fmt::format("checkpoint-{}.safetensors", epoch);
}

bool is_tensors_name(const std::string& name) {
  return name.starts_with("checkpoint-") && name.ends_with(".safetensors");
}

/// Also what a write that was cut off leaves.
bool is_own_name(const std::string& name) {
  const std::string written = name.substr(0, name.find(".tmp."));
  return written == kState || written == kLock || is_tensors_name(written);
}

}  // namespace

LockFile CheckpointFolder::lock(const std::string& held) const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error)
    throw EnvironmentError(fmt::format("{}: can't be created: {}", folder_.string(), error.message()));
  return LockFile(folder_ / kLock, held);
}

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
    if (is_own_name(other) && other != name && other != kState && other != kLock) fs::remove(entry.path());
  }
}

std::optional<Checkpoint> CheckpointFolder::read() const {
  if (!exists()) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.state = read_artifact(folder_ / kState, kFormat, kVersion);
  std::error_code error;
  for (const char* key : {"tensors", "tensors_hash", "options"})
    if (!checkpoint.state.contains(key) || !checkpoint.state[key].is_string()) fail();
  const fs::path tensors = folder_ / checkpoint.state["tensors"].get<std::string>();
  if (!fs::is_regular_file(tensors, error) ||
      content_hash(read_file(tensors)) != checkpoint.state["tensors_hash"].get<std::string>())
    throw InputError(tensors.string(), 0,
                     "is not the file that checkpoint.json names; delete the checkpoint to train anew");
  checkpoint.tensors = model::TensorFile::read(tensors);
  return checkpoint;
}

void CheckpointFolder::fail() const {
  throw InputError((folder_ / kState).string(), 0, "is damaged; delete the checkpoint to train anew");
}

bool CheckpointFolder::holds_others() const {
  std::error_code error;
  if (!fs::exists(folder_, error)) return false;
  if (!fs::is_directory(folder_, error)) return true;
  for (const auto& entry : fs::directory_iterator(folder_))
    if (!is_own_name(entry.path().filename().string())) return true;
  return exists() && !is_artifact(folder_ / kState, kFormat);
}

bool CheckpointFolder::exists() const {
  std::error_code error;
  return fs::exists(folder_ / kState, error);
}

void CheckpointFolder::remove() const {
  std::error_code error;
  fs::remove(folder_ / kState, error);  // first: what is left without it is no checkpoint
  for (const fs::directory_entry& entry : list_folder(folder_))
    if (is_own_name(entry.path().filename().string())) fs::remove(entry.path(), error);
  fs::remove(folder_, error);  // only when it is empty
}

}  // namespace waco::train
