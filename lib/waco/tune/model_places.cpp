// Looking for models.
#include "waco/tune/model_places.hpp"

#include <cstdlib>
#include <utility>

#include "waco/base/program.hpp"

namespace waco::tune {
namespace fs = std::filesystem;

fs::path user_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return fs::path(data) / "waco";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".local/share/waco";
  return {};
}

std::vector<fs::path> model_folders() {
  std::vector<fs::path> folders;
  if (const fs::path user = user_data_folder(); !user.empty()) folders.push_back(user / "models");
  if (const fs::path program = program_folder(); !program.empty())
    folders.push_back(program.parent_path() / "share/waco/models");
  return folders;
}

std::optional<ModelPlace> model_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "model.json", error)) return std::nullopt;
  const fs::path index = folder / "index";
  return ModelPlace{folder, fs::exists(index / "index.json", error) ? index : fs::path()};
}

std::vector<ModelPlace> find_models(schedule::Op op) {
  std::vector<ModelPlace> places;
  for (const fs::path& folder : model_folders())
    if (auto place = model_in(folder / schedule::name(op))) places.push_back(std::move(*place));
  return places;
}

std::optional<ModelPlace> find_built_in_model(schedule::Op op) {
  const fs::path user = user_data_folder();
  for (ModelPlace& place : find_models(op))
    if (user.empty() || place.model != user / "models" / schedule::name(op)) return std::move(place);
  return std::nullopt;
}

}  // namespace waco::tune
