// Where the models that ship with the project, or that the user calibrated, are found.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "waco/schedule/op.hpp"

namespace waco::tune {

/// A model folder and its index inside it.
struct ModelPlace {
  std::filesystem::path model;
  std::filesystem::path index;  ///< empty when there is none
  /// Of the machine that the model was trained on to this one, hardware_distance(); infinite when the model
  /// does not tell. Known of the models of models_of().
  double distance = 0;
};

/// A model of a machine further off than this, half a step of one cache, was trained on one unlike this.
inline constexpr double kUnlike = 0.5;

/// The user's data folder, $XDG_DATA_HOME/waco or ~/.local/share/waco; empty without a home. Of both
/// variables only an absolute path counts, as for the cache folder.
std::filesystem::path user_data_folder();

/// Folders that hold model folders, in the order they are asked: the user's, then what was installed with the
/// running program. A model of an op is in a folder that is called after the op, or OP-NAME: one was trained
/// on one machine, the next on another.
std::vector<std::filesystem::path> model_folders();

/// The model in a folder, with the index inside it; nullopt when there is none.
std::optional<ModelPlace> model_in(const std::filesystem::path& folder);

/// The models of the op in a folder, those of machines most like this one first.
std::vector<ModelPlace> models_of(schedule::Op op, const std::filesystem::path& folder);
/// The models of the op in all of model_folders(), in that order; but those of a machine unlike this one
/// behind all others, so that a home folder may serve several kinds of machines.
std::vector<ModelPlace> find_models(schedule::Op op);
/// The user's model of the op that is to give way to one of this machine: of this kind of machine, else one
/// that can't be read; otherwise the first folder without a model. OP, or OP-2, OP-3 ... Empty without a
/// home.
std::filesystem::path users_place(schedule::Op op);
/// The first of find_models() that is not the user's; nullopt when there is none.
std::optional<ModelPlace> find_built_in_model(schedule::Op op);
bool is_users(const ModelPlace& place);

}  // namespace waco::tune
