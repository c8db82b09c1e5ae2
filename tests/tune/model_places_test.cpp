// Where models are looked for.
#include "waco/tune/model_places.hpp"

#include <catch2/catch.hpp>

#include "../scoped_variable.hpp"

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
