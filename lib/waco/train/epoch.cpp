// Epochs as JSON, in reports and checkpoints.
#include "waco/train/trainer.hpp"

namespace waco::train {

nlohmann::ordered_json to_json(const Epoch& epoch) {
  return {{"epoch", epoch.number},
          {"training_loss", epoch.training_loss},
          {"validation_loss", epoch.validation_loss},
          {"retrieved", to_json(epoch.retrieved)},
          {"corrected", to_json(epoch.corrected)},
          {"seconds", epoch.seconds}};
}

Epoch epoch_from_json(const nlohmann::json& json) {
  Epoch epoch;
  epoch.number = json.at("epoch");
  epoch.training_loss = json.at("training_loss");
  epoch.validation_loss = json.at("validation_loss");
  epoch.retrieved = metrics_from_json(json.at("retrieved"));
  epoch.corrected = metrics_from_json(json.at("corrected"));
  epoch.seconds = json.at("seconds");
  return epoch;
}

}  // namespace waco::train
