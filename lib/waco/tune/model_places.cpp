// Looking for models.
#include "waco/tune/model_places.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"
#include "waco/base/program.hpp"

namespace waco::tune {
namespace fs = std::filesystem;

fs::path user_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/') return fs::path(data) / "waco";  // relative paths are to be ignored
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return fs::path(home) / ".local/share/waco";
  return {};
}

namespace {

/// Of the machine that a model was trained on to this one; far when the model does not tell.
double distance_of(const fs::path& model, const Machine& here) {
  try {
    const nlohmann::json manifest = nlohmann::json::parse(read_file(model / "model.json"));
    return hardware_distance(manifest.at("machine").get<Machine>(), here);
  } catch (const std::exception&) {  // whoever opens it says what is wrong with it
    return std::numeric_limits<double>::infinity();
  }
}

}  // namespace

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  if (const fs::path user = user_data_folder(); !user.empty()) folders.push_back(user / "models");
  if (const fs::path data = installed_data_folder(); !data.empty()) folders.push_back(data / "models");
  return folders;
}

std::optional<ModelPlace> model_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "model.json", error)) return std::nullopt;
  const fs::path index = folder / "index";
  return ModelPlace{folder, fs::exists(index / "index.json", error) ? index : fs::path()};
}

std::vector<ModelPlace> models_of(schedule::Op op, const fs::path& folder) {
  const std::string name(schedule::name(op));
  std::vector<ModelPlace> places;
  for (const fs::directory_entry& entry : list_folder(folder)) {
    const std::string file = entry.path().filename();
    if (file != name && file.rfind(name + "-", 0) != 0) continue;
    if (auto place = model_in(entry.path())) places.push_back(std::move(*place));
  }
  std::sort(places.begin(), places.end(),
            [](const ModelPlace& a, const ModelPlace& b) { return a.model < b.model; });
  if (places.empty()) return places;
  const Machine here = describe_machine();
  for (ModelPlace& place : places) place.distance = distance_of(place.model, here);
  std::stable_sort(places.begin(), places.end(),
                   [](const ModelPlace& a, const ModelPlace& b) { return a.distance < b.distance; });
  return places;
}

std::vector<ModelPlace> find_models(schedule::Op op) {
  std::vector<ModelPlace> places;
  for (const fs::path& folder : model_folders())
    for (ModelPlace& place : models_of(op, folder)) places.push_back(std::move(place));
  // Of one that does not tell, whoever opens it says why.
  std::stable_partition(places.begin(), places.end(), [](const ModelPlace& place) {
    return place.distance <= kUnlike || std::isinf(place.distance);
  });
  return places;
}

fs::path users_place(schedule::Op op) {
  const fs::path user = user_data_folder();
  if (user.empty()) return {};
  const std::string name(schedule::name(op));
  const auto is_numbered = [&](const std::string& file) {
    return file == name || file.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
  };
  for (const ModelPlace& own : models_of(op, user / "models"))
    if (is_numbered(own.model.filename()) && (own.distance == 0 || std::isinf(own.distance)))
      return own.model;
  for (int n = 1;; ++n) {
    fs::path place = user / "models" / (n == 1 ? name : name + "-" + std::to_string(n));
    std::error_code error;
    if (!fs::exists(place / "model.json", error)) return place;
  }
}

std::optional<ModelPlace> find_built_in_model(schedule::Op op) {
  for (ModelPlace& place : find_models(op))
    if (!is_users(place)) return std::move(place);
  return std::nullopt;
}

bool is_users(const ModelPlace& place) {
  const fs::path user = user_data_folder();
  return !user.empty() && place.model.parent_path() == user / "models";
}

}  // namespace waco::tune
