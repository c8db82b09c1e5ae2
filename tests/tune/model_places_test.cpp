// Where models are looked for.
#include "waco/tune/model_places.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "../scoped_variable.hpp"
#include "waco/base/files.hpp"
#include "waco/base/machine.hpp"

using namespace waco;
using namespace waco::tune;

TEST_CASE("model_places: a data folder that is no absolute path is ignored", "[tune]") {
  const ScopedVariable home("HOME", "/home/someone");
  {
    const ScopedVariable data("XDG_DATA_HOME", "/data");
    CHECK(user_data_folder() == "/data/waco");
    CHECK(model_folders().at(0) == "/data/waco/models");
  }
  for (const char* relative : {"", "data", "./data", "~/data"}) {
    const ScopedVariable data("XDG_DATA_HOME", relative);
    CHECK(user_data_folder() == "/home/someone/.local/share/waco");
    const ScopedVariable relative_home("HOME", "home");
    CHECK(user_data_folder().empty());
  }
}

TEST_CASE("model_places: a home folder holds models of several kinds of machines", "[tune]") {
  const TemporaryFolder folder;
  const ScopedVariable data("XDG_DATA_HOME", folder.path().c_str());
  const auto models = user_data_folder() / "models";
  const auto write = [&](const char* name, const std::string& manifest) {
    std::filesystem::create_directories(models / name);
    std::ofstream(models / name / "model.json") << manifest;
  };
  const auto of = [](const Machine& machine) { return nlohmann::json{{"machine", machine}}.dump(); };
  const Machine here = describe_machine();
  Machine foreign = here;
  foreign.cpu_model = "Abacus 9000";

  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv");
  write("spmv", of(foreign));
  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv-2");
  write("spmv-2", of(here));
  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv-2");
  const std::vector<ModelPlace> found = find_models(schedule::Op::kSpmv);
  REQUIRE(found.size() >= 2);
  CHECK(found[0].model == models / "spmv-2");
  // Built-in ones that are like this machine come before a foreign one of the user's.
  CHECK(
      std::ranges::is_partitioned(found, [](const ModelPlace& place) { return place.distance <= kUnlike; }));
  // One of this machine is not overlooked for a name that has become free before it, or one of no number.
  std::filesystem::remove_all(models / "spmv");
  write("spmv-mine", of(here));
  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv-2");
  // One that does not tell its machine gives way where none of this machine does.
  write("spmv", "{}");
  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv-2");
  write("spmv-2", of(foreign));
  CHECK(users_place(schedule::Op::kSpmv) == models / "spmv");
}
