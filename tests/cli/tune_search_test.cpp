// waco-tune with each search, with a learned model and with its index.
#include <algorithm>

#include "../model/learned/random_model.hpp"
#include "program.hpp"
#include "waco/base/file_replacement.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;
using test::edit_manifest;

namespace {

Program rank(const std::string& matrix) {
  return waco_tune().with(matrix, "--op", "spmv", "--effort", "none", "--json");
}

/// A model and its index in a workspace.
struct Trained {
  explicit Trained(const Workspace& work, schedule::Op op = schedule::Op::kSpmv) {
    model = work.path("model-" + std::string(schedule::name(op)));
    index = model + "-index";
    test::write_random_model(model, op);
    make_index(model, index, 400);
  }
  std::string model, index;
};

/// A copy of waco-tune with places for built-in models and for the user's own, empty at first.
struct Installed {
  /// The model that ranks by default, or with `more` options. The program has to say `expected_warning`; when
  /// that is empty, nothing about another model.
  std::string ranked(const std::string& expected_warning, const std::vector<std::string>& more = {}) const {
    Program program = tune;
    for (const std::string& option : more) program.with(option);
    const RunResult result = run_well(program);
    INFO(expected_warning << "\n" << result.err);
    if (expected_warning.empty()) CHECK(result.err.find("instead") == std::string::npos);
    CHECK(result.err.find(expected_warning) != std::string::npos);
    return json::parse(result.out).at("cost_model").get<std::string>();
  }

  Workspace work;
  std::string matrix = work.matrix(), built_in = work.path("share/waco/models/spmv"),
              home = work.path("home"), users = home + "/waco/models/spmv";
  Program tune = rank(matrix).with("-q").environment("XDG_DATA_HOME", home).copied_to(work.path("bin"));
};

}  // namespace

TEST_CASE("cli: every search finds candidates, the same ones each time", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const Trained trained(work);
  for (const std::string name : {"exact", "anns", "neighbours", "tpe", "bandit", "random"}) {
    const auto program =
        rank(matrix).with("--model", trained.model, "--index", trained.index, "--search", name);
    const json first = document_of(program), second = document_of(program);
    INFO(name);
    CHECK(first["candidates"].size() == 10);
    CHECK(first["num_ranked"].get<int>() >= 30);
    REQUIRE(first["candidates"].size() == second["candidates"].size());
    for (size_t n = 0; n < first["candidates"].size(); n++)
      CHECK(first["candidates"][n]["plan"] == second["candidates"][n]["plan"]);
  }
  // Without measuring 300 points are ranked, unless more are asked for.
  const json many =
      document_of(rank(matrix).with("--model", trained.model, "--index", trained.index, "--top", "400"));
  CHECK(many["candidates"].size() > 300);
  for (const std::string name : {"neighbours", "tpe", "bandit", "random"})
    CHECK(document_of(rank(matrix).with("--model", "none", "--search", name))["candidates"].size() == 10);
}

TEST_CASE("cli: a model without its index, or with a wrong one, is refused", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const Trained spmv(work), spmm(work, schedule::Op::kSpmm);
  check_refused(rank(matrix).with("--model", "none", "--search", "exact"), 2,
                "needs a learned model and its index");
  check_refused(rank(matrix).with("--model", spmv.model, "--search", "anns"), 2, "index");
  check_refused(rank(matrix).with("--index", spmv.index), 2, "--model");
  check_refused(rank(matrix).with("--search", "gradient"), 2, "gradient");
  check_refused(rank(matrix).with("--model", spmm.model), 2, "spmm");
  check_refused(rank(matrix).with("--model", spmv.model, "--index", spmm.index), 3, "spmm");
  test::write_random_model(work.path("newer"), schedule::Op::kSpmv, 2);
  check_refused(rank(matrix).with("--model", work.path("newer"), "--index", spmv.index), 3,
                "waco-index " + work.path("newer") + " --from " + spmv.index + " -o " + spmv.index);
  check_refused(rank(matrix).with("--model", work.path("absent")), 3, "absent");
  // That is told before the matrix is read.
  const std::string unread = work.path("unread.mtx");
  check_refused(rank(unread).with("--model", "none", "--search", "exact"), 2, "its index");
  check_refused(rank(unread).with("--model", spmv.model, "--search", "anns"), 2, "its index");
  check_refused(rank(unread).with("--model", spmm.model), 2, "the model is for spmm");
  check_refused(rank(unread).with("--model", work.path("absent")), 3, "absent");
  check_refused(rank(unread).with("--model", spmv.model, "--index", work.path("absent")), 3, "absent");
}

TEST_CASE("cli: inputs of a list are done again with another index", "[cli]") {
  const Workspace work;
  const Trained trained(work);
  const std::string other = work.path("smaller");
  make_index(trained.model, other, 300);
  const std::string list = work.write("list", work.matrix() + "\n");
  const auto had = [&](const std::string& index) {
    const RunResult run =
        run_well(waco_tune().with("--list", list, "--op", "spmv", "--effort", "none", "--model",
                                  trained.model, "--index", index, "-o", work.path("results.jsonl")));
    return run.err.find("1 had a result already") != std::string::npos;
  };
  CHECK_FALSE(had(trained.index));
  CHECK(had(trained.index));
  CHECK_FALSE(had(other));
  CHECK(had(trained.index));
}

TEST_CASE("cli: a model of another machine is used, with a note", "[cli]") {
  const Workspace work;
  const Trained trained(work);
  edit_manifest(trained.model, [](auto& manifest) { manifest["machine"]["cpu"] = "Abacus 9000"; });
  const json plan = document_of(rank(work.matrix()).with("--model", trained.model));
  CHECK_THAT(plan.at("warnings").dump(),
             Catch::Contains("Abacus 9000") && !Catch::Contains("measuring here decides"));
  const json unranked = document_of(
      waco_tune().with(work.matrix(), "--op", "spmv", "--calls", "1", "--model", trained.model, "--json"));
  CHECK_THAT(unranked.at("warnings").dump(), !Catch::Contains("Abacus 9000"));

  // One of several machines that it learned from is like this one.
  edit_manifest(trained.model, [&](auto& manifest) {
    manifest["dataset"]["machines"] = {manifest["machine"], plan.at("machine")};
  });
  const json known = document_of(rank(work.matrix()).with("--model", trained.model));
  CHECK_THAT(known.at("warnings").dump(), !Catch::Contains("Abacus 9000"));
}

TEST_CASE("cli: where no model is of a machine like this, all rank together", "[cli]") {
  const Installed installed;
  const std::string far = installed.built_in + "-far", farther = installed.built_in + "-farther",
                    unfit = installed.built_in + "-unfit";
  test::write_random_model(installed.built_in, schedule::Op::kSpmv, 1);
  test::write_random_model(far, schedule::Op::kSpmv, 2);
  test::write_random_model(farther, schedule::Op::kSpmv, 3);
  test::write_random_model(unfit, schedule::Op::kSpmv, 4);
  edit_manifest(unfit, [](auto& manifest) { manifest["rhs"] = {1024}; });
  const auto move_off = [](const std::string& model, int factor) {
    edit_manifest(model, [&](auto& manifest) {
      auto& caches = manifest["machine"]["caches"];
      if (caches.empty())
        caches.push_back(
            {{"level", 1}, {"bytes", 1}, {"line_bytes", 64}, {"instances", 1}, {"cores_sharing", 1}});
      const int64_t bytes = caches[0]["bytes"];
      caches[0]["bytes"] = bytes * factor;
    });
  };
  move_off(far, 4);
  move_off(farther, 16);
  move_off(unfit, 8);
  const std::string of_this_machine = installed.ranked("");
  CHECK(of_this_machine.find('+') == std::string::npos);

  move_off(installed.built_in, 2);
  CHECK(std::ranges::count(installed.ranked(""), '+') == 2);
  const std::string models = std::filesystem::path(installed.built_in).parent_path();
  const json plan = document_of(rank(installed.matrix).with("--model", models));
  CHECK(plan.at("model") == installed.built_in);
  CHECK(plan.at("other_models") == json{far, farther});
  CHECK_THAT(plan.at("warnings").dump(), Catch::Contains("the cost models were trained on other machines"));
  // The user's models and the built-in ones do not mix.
  test::write_random_model(installed.users, schedule::Op::kSpmv, 5);
  move_off(installed.users, 2);
  CHECK(installed.ranked("").find('+') == std::string::npos);
  std::filesystem::remove_all(installed.users);

  // One that can't be used leaves the others alone.
  edit_manifest(far, [](auto& manifest) { manifest["encoding_version"] = 0; });
  const std::string of_two = installed.ranked("to repair it, install WACO again");
  CHECK(std::ranges::count(of_two, '+') == 1);
}

TEST_CASE("cli: a default model that can't be used costs a warning and the next one ranks", "[cli]") {
  const Installed installed;
  CHECK(installed.ranked("") == "closed-form");
  test::write_random_model(installed.built_in, schedule::Op::kSpmv, 1);
  test::write_random_model(installed.users, schedule::Op::kSpmv, 2);
  const std::string of_user = installed.ranked("");
  CHECK(of_user != "closed-form");

  edit_manifest(installed.users, [](auto& manifest) { manifest["encoding_version"] = 0; });
  const std::string of_program = installed.ranked(
      "the next model ranks instead (to repair it, run waco-tune --calibrate --op spmv, or delete the "
      "folder " +
      installed.users + ")");
  CHECK(of_program != "closed-form");
  CHECK(of_program != of_user);
  check_refused(rank(installed.matrix).with("--model", installed.users), 3, "encoding_version is 0");

  std::filesystem::remove_all(installed.users);
  test::write_random_model(installed.users, schedule::Op::kSpmm);
  CHECK(installed.ranked("is a model of spmm; the next model ranks instead") == of_program);
  std::filesystem::create_directories(installed.built_in + "/index");
  write_file_atomically(installed.built_in + "/index/index.json", "{}");
  CHECK(installed.ranked("the closed-form model ranks instead (to repair it, install WACO again)") ==
        "closed-form");
  CHECK(installed.ranked("", {"--model", "none"}) == "closed-form");
}

TEST_CASE("cli: a list is not begun with a model that can't rank its op", "[cli]") {
  const Workspace work;
  const std::string model = work.path("model"), list = work.write("list", work.matrix() + "\n");
  test::write_random_model(model, schedule::Op::kSpmv);
  const auto batch = [&](const char* op) {
    return waco_tune().with("--list", list, "--op", op, "-o", work.path("r.jsonl"), "--model", model);
  };
  check_refused(batch("spmm"), 2, "the model is for spmv");
  check_refused(batch("spmv").with("--search", "exact"), 2, "its index");
  check_refused(waco_tune().with("--prepare", "3", "--op", "spmm", "--model", model), 2, "the model is for");
  CHECK_FALSE(std::filesystem::exists(work.path("r.jsonl")));
}

TEST_CASE("cli: of a list the first input that is tuned tells how long the model took", "[cli]") {
  const Workspace work;
  const Trained trained(work);
  const std::string matrix = work.matrix();
  std::filesystem::copy_file(matrix, work.path("other.mtx"));
  const RunResult result = waco_tune()
                               .with(work.path("missing.mtx"), matrix, work.path("other.mtx"), "--jsonl")
                               .with("--op", "spmv", "--effort", "none", "--model", trained.model)
                               .run();
  INFO(result.err);
  std::vector<double> load_s;
  for (const json& plan : documents_of(result.out))
    if (plan.contains("stages_s")) load_s.push_back(plan.at("stages_s").at("load"));
  REQUIRE(load_s.size() == 2);
  CHECK(load_s[0] > 0);
  CHECK(load_s[1] == 0);
}

TEST_CASE("cli: of two built-in models that of the more similar machine ranks", "[cli]") {
  const Installed installed;
  const std::string &plain = installed.built_in, near = plain + "-near";
  test::write_random_model(plain, schedule::Op::kSpmv, 1);
  test::write_random_model(near, schedule::Op::kSpmv, 3);
  const std::string text = read_file(plain + "/model.json");
  const auto move_elsewhere = [](auto& manifest) { manifest["machine"] = {{"cpu", "Abacus 9000"}}; };
  edit_manifest(plain, move_elsewhere);
  const std::string of_near = installed.ranked("", {"--model", near});
  CHECK(installed.ranked("") == of_near);
  // A folder of models stands for the same choice.
  const std::string folder = std::filesystem::path(near).parent_path();
  CHECK(installed.ranked("", {"--model", folder}) == of_near);
  check_refused(rank(installed.matrix).with("--model", folder, "--index", near + "/index"), 2,
                "is a folder of models");
  check_refused(rank(installed.matrix).with("--model", "none", "--index", near + "/index"), 2,
                "--model is none");
  check_refused(rank(installed.matrix).with("--model", installed.work.path("")), 3, "model.json");
  write_file_atomically(plain + "/model.json", text);
  edit_manifest(near, move_elsewhere);
  CHECK(installed.ranked("") == installed.ranked("", {"--model", plain}));
  CHECK(installed.ranked("") != of_near);
}

TEST_CASE("cli: --space lets only formats or only schedules vary", "[cli]") {
  const Workspace work;
  const std::string matrix = work.matrix();
  const Trained trained(work);
  for (const auto& model : {std::vector<std::string>{"none", ""}, {trained.model, trained.index}}) {
    auto program = rank(matrix).with("--model", model[0]);
    if (!model[1].empty()) program.with("--index", model[1]);
    const json formats = document_of(Program(program).with("--space", "format"));
    const json schedules = document_of(Program(program).with("--space", "schedule"));
    CHECK(formats["space"] == "format");
    CHECK(schedules["space"] == "schedule");
    CHECK(formats["candidates"].size() == 10);
    for (const json& candidate : schedules["candidates"])
      CHECK(candidate["plan"].get<std::string>().rfind("spmv f32 | A: i:U k:C |", 0) == 0);
    CHECK(document_of(program)["space"] == "all");
  }
  check_refused(rank(matrix).with("--space", "loops"), 2, "--space");
}

TEST_CASE("cli: given schedules meet in one interleaved round", "[cli]") {
  const Workspace work;
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: i static x2";
  const std::string slow = "spmv f32 | A: i:U k:C | loop: i k | par: serial";
  const std::string slices = "spmv f32 | A: i1:U i0:U k:L [i/8] | loop: i1 k i0 | par: i1 static x2";
  const RunResult result = waco_tune()
                               .with(work.matrix(2000, 1500, 0.01), "--schedule", csr, "--schedule", slow)
                               .with("--schedule", slices, "--effort", "quick", "--json")
                               .run();
  INFO(result.err);
  REQUIRE(result.ok());
  const json plan = json::parse(result.out);
  REQUIRE(plan["candidates"].size() == 3);
  size_t timed = 0;  // one that takes four times as long as fixed_csr is left out
  for (const json& candidate : plan["candidates"]) {
    CHECK(candidate["status"] == "ok");
    timed += candidate["censored"].get<bool>() ? 0 : 1;
  }
  CHECK(result.err.find(fmt::format("{} finalists", timed)) != std::string::npos);
}

TEST_CASE("cli: a run that can't keep anything says so once and works", "[cli]") {
  const Workspace work;
  const Trained trained(work);
  const RunResult result = waco_tune()
                               .with(work.matrix(), "--op", "spmv", "--effort", "quick")
                               .with("--model", trained.model, "--index", trained.index)
                               .environment("XDG_CACHE_HOME", "/dev/null")
                               .run();
  INFO(result.err);
  CHECK(result.ok());
  const std::string warning = "can't be created: Not a directory; nothing is kept for later runs";
  CHECK(result.err.find(warning) != std::string::npos);
  CHECK(result.err.find(warning) == result.err.rfind(warning));
}

TEST_CASE("cli: every op is ranked by its built-in model and its index", "[cli]") {
  const std::string samples = std::string(WACO_TEST_DATA_DIR) + "/../../data/samples/";
  for (const std::string op : {"spmv", "spmm", "sddmm", "mttkrp"}) {
    const std::string input = samples + (op == "mttkrp" ? "events.tns.gz" : "mesh_3dof.mtx.gz");
    const RunResult result = run_well(waco_tune().with(input, "--op", op, "--effort", "none", "--json"));
    INFO(op << "\n" << result.err);
    const json document = json::parse(result.out);
    CHECK(document.at("cost_model") != "closed-form");
    CHECK(document.at("search") == "exact");
    CHECK(result.err.find("warning") == std::string::npos);
  }
}
