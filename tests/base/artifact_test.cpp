// Artifact headers: round trip, other formats, newer versions, damage.
#include "waco/base/artifact.hpp"

#include <catch2/catch.hpp>

#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/base/version.hpp"

using namespace waco;

namespace {

/// Reads `content` as a file of format waco-plan, at most version 2.
nlohmann::json read_content(std::string_view content) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "plan.json";
  write_file_atomically(file, content);
  return read_artifact(file, "waco-plan", 2);
}

}  // namespace

TEST_CASE("artifact: what is written is read, header first", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "plan.json";
  nlohmann::ordered_json plan =
      artifact_header("waco-plan", 2, "waco-tune", "waco-tune a.mtx", {{"cpu_model", "x"}});
  plan["parts"] = {1, 2};
  write_artifact(file, plan);

  const nlohmann::json read = read_artifact(file, "waco-plan", 2);
  CHECK(read["format"] == "waco-plan");
  CHECK(read["version"] == 2);
  CHECK(read["created_by"]["program"] == "waco-tune");
  CHECK(read["created_by"]["version"] == version());
  CHECK(read["created_by"]["command"] == "waco-tune a.mtx");
  CHECK(read["machine"]["cpu_model"] == "x");
  CHECK(read["parts"].size() == 2);
  CHECK_THAT(read_file(file),
             Catch::StartsWith("{\n  \"format\": \"waco-plan\",\n  \"version\": 2,\n  \"created_by\""));
}

TEST_CASE("artifact: a stored text is what a file gives back", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "plan.json";
  for (const std::string text : {"plain", "caf\u00e9", "caf\xe9", "\xff\xfe \"quoted\""}) {
    nlohmann::ordered_json plan = artifact_header("waco-plan", 1, "waco-tune", "waco-tune a.mtx", {});
    plan["name"] = text;
    write_artifact(file, plan);
    CHECK(read_artifact(file, "waco-plan", 1)["name"] == stored_text(text));
    CHECK(stored_text(stored_text(text)) == stored_text(text));
  }
  CHECK(stored_text("caf\u00e9") == "caf\u00e9");
}

TEST_CASE("artifact: names that differ in bytes that are no UTF-8 stay different", "[base]") {
  CHECK(stored_text("bad\xff.mtx") == R"(bad\xff.mtx)");
  CHECK(stored_text("bad\xfe.mtx") == R"(bad\xfe.mtx)");
  // Characters of two to four bytes; what is cut off, too long, half a pair of UTF-16, or beyond the last.
  CHECK(stored_text("\u00e9\u20ac\U0001f600") == "\u00e9\u20ac\U0001f600");
  CHECK(stored_text("\xe2\x82") == R"(\xe2\x82)");
  CHECK(stored_text("\xc3(") == R"(\xc3()");
  CHECK(stored_text("\xc0\xaf\xed\xa0\x80") == R"(\xc0\xaf\xed\xa0\x80)");
  CHECK(stored_text("\xf4\x90\x80\x80") == R"(\xf4\x90\x80\x80)");
  const nlohmann::json line = {{"input", "b\xff"}, {"more", {1, "b\xfe"}}};
  CHECK(line_text(line) == R"({"input":"b\\xff","more":[1,"b\\xfe"]})");
}

TEST_CASE("artifact: a newer version is refused, both versions named", "[base]") {
  CHECK_THROWS_WITH(
      read_content(R"({"format": "waco-plan", "version": 3})"),
      Catch::Contains("plan.json") && Catch::Contains("version 3") && Catch::Contains("version 2"));
  CHECK_THROWS_AS(read_content(R"({"format": "waco-plan", "version": 3})"), InputError);
}

TEST_CASE("artifact: an older version and unknown fields are accepted", "[base]") {
  CHECK(read_content(R"({"format": "waco-plan", "version": 1, "future": [1]})")["version"] == 1);
}

TEST_CASE("artifact: another format is refused, both named", "[base]") {
  CHECK_THROWS_WITH(read_content(R"({"format": "waco-index", "version": 1})"),
                    Catch::Contains("waco-index") && Catch::Contains("waco-plan"));
}

TEST_CASE("artifact: what has no header is refused", "[base]") {
  for (const char* content :
       {"[1, 2]", "3", "{}", R"({"format": 1, "version": 1})", R"({"format": "waco-plan"})",
        R"({"format": "waco-plan", "version": "1"})", R"({"format": "waco-plan", "version": 0})"}) {
    INFO(content);
    CHECK_THROWS_AS(read_content(content), InputError);
  }
}

TEST_CASE("artifact: a torn file is refused with the line where it ends", "[base]") {
  CHECK_THROWS_WITH(read_content("{\"format\": \"waco-plan\",\n\"version\": 1,\n\"par"),
                    Catch::Contains("plan.json:3: is not complete"));
  CHECK_THROWS_AS(read_content(""), InputError);
}

TEST_CASE("artifact: a number that can't be held is refused as other damage is", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "plan.json";
  write_file_atomically(file, R"({"format": "waco-plan", "version": 1, "time": 1e999})");
  CHECK_THROWS_AS(read_artifact(file, "waco-plan", 1), InputError);
  CHECK_THROWS_WITH(read_artifact(file, "waco-plan", 1), Catch::Contains("plan.json: is not complete"));
  CHECK_FALSE(is_artifact(file, "waco-plan"));
}

TEST_CASE("artifact: a missing file and a folder are input errors", "[base]") {
  const TemporaryFolder folder;
  for (const auto& file : {folder.path(), folder.path() / "none.json"}) {
    try {
      read_artifact(file, "waco-plan", 1);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kInput);
      CHECK_THAT(error.what(), Catch::StartsWith(file.string()));
    }
  }
}
