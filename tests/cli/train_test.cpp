// waco-train as users run it: a model from a dataset, judged, continued, refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "../model/learned/random_model.hpp"
#include "../train/small_dataset.hpp"
#include "program.hpp"
#include "waco/base/content_hash.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"

using namespace waco;
using namespace waco::cli;
using nlohmann::json;

namespace {

/// A small dataset with its matrices, and commands on it.
class SmallTraining {
 public:
  /// What one of another size needs is not in the cache, whichever test ran before.
  explicit SmallTraining(int per_matrix = 16)
      : dataset_(train::testing::write_small_dataset(work_.path("data"), 8, per_matrix)) {}
  Program train(const std::string& output, const char* epochs = "4") const {
    return Program("waco-train")
        .with(dataset_, "--matrices", work_.path("data"), "-o", work_.path(output), "--threads", "1")
        .with("--extractor", "human", "--epochs", epochs);
  }
  /// Judges the model `model` by the dataset.
  Program evaluate() const {
    return Program("waco-train").with("evaluate", path("model"), dataset_, "--matrices", path("data"));
  }
  std::string path(const std::string& name) const { return work_.path(name); }
  const std::string& dataset() const { return dataset_; }

 private:
  struct Folder : Workspace {
    Folder() { std::filesystem::create_directories(path("data")); }
  };
  Folder work_;
  std::string dataset_;
};

/// Ends a training after its first epochs. Returns what it said.
std::string stop_training(Program program) {
  const SignalledRun run = signal_when(program.with("-v"), SIGTERM, says("epoch 3:"));
  INFO(run.end.describe() << "\n" << run.err);
  CHECK(run.in_time);
  REQUIRE(run.end.exited);
  REQUIRE(run.end.code == 0);
  return run.err;
}

/// Does something while a program loads its data: that waits for a list of matrices, a pipe.
class WhileLoading {
 public:
  WhileLoading(const std::string& pipe, std::function<void()> action) {
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    writer_ = std::jthread([pipe, action = std::move(action)](const std::stop_token& stop) {
      int file = -1;  // opens when the program reads
      while ((file = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && !stop.stop_requested())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (file < 0) return;
      action();
      ::close(file);
    });
  }

 private:
  std::jthread writer_;
};

}  // namespace

TEST_CASE("cli: waco-train shows examples and its commit", "[cli]") {
  check_help_and_version("waco-train");
}

TEST_CASE("cli: what follows the value of a repeated option of waco-train is a dataset", "[cli]") {
  const Workspace work;
  const std::string list = work.write("list", "matrix.mtx\n"), missing = work.path("missing");
  const auto train = [&] { return Program("waco-train").with("-o", work.path("model")); };
  check_refused(train().with("--matrices", list, missing), 3, missing);
  check_refused(train().with("--set", "warm_up=0.1", missing), 3, missing);
}

TEST_CASE("cli: waco-train writes a model, reports its metrics and draws curves", "[cli]") {
  const SmallTraining small;
  const json report = document_of(small.train("model").with("--json", "--plot", small.path("curves.html")));
  CHECK(report.at("complete") == true);
  CHECK(report.at("epochs").size() == 4);
  for (const char* name : {"learned", "retrieval", "closed_form", "random", "fixed_csr"})
    CHECK(report.at("metrics").at(name).at("groups") == 2);
  const json manifest = parse_file(small.path("model/model.json"));
  CHECK(manifest.at("format") == "waco-model");
  CHECK(manifest.at("op") == "spmv");
  CHECK(manifest.at("weights_hash") == content_hash(read_file(small.path("model/weights.safetensors"))));
  CHECK(manifest.at("dataset").at("validation").at("records") == 32);
  CHECK(manifest.at("clustered_costs") == json::array());
  CHECK(!manifest.at("families").empty());
  CHECK_FALSE(std::filesystem::exists(small.path("model/checkpoint")));
  const std::string page = read_file(small.path("curves.html"));
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("http") == std::string::npos);

  const json judged = document_of(small.evaluate().with("--threads", "1", "--json"));
  CHECK(judged.at("metrics") == report.at("metrics"));
  const json all = document_of(small.evaluate().with("--threads", "1", "--json", "--all"));
  CHECK(all.at("metrics").at("learned").at("groups") == 8);
}

TEST_CASE("cli: the same command writes the same model and another seed another", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("a").run().ok());
  REQUIRE(small.train("b").run().ok());
  REQUIRE(small.train("c").with("--seed", "2").run().ok());
  const auto weights = [&](const std::string& name) {
    return read_file(small.path(name + "/weights.safetensors"));
  };
  CHECK(weights("a") == weights("b"));
  CHECK(weights("a") != weights("c"));
}

TEST_CASE("cli: a stopped training keeps its best weights and --resume finishes it", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("whole", "120").with("--patience", "0").run().ok());
  const auto part = [&] { return small.train("part", "120").with("--patience", "0", "--resume"); };
  const std::string err = stop_training(part());
  CHECK_THAT(err, Catch::Contains("stopped (SIGTERM); --resume continues"));
  CHECK(parse_file(small.path("part/model.json")).at("training").at("complete") == false);
  REQUIRE(part().run().ok());
  CHECK(parse_file(small.path("part/model.json")).at("training").at("complete") == true);
  CHECK(read_file(small.path("whole/weights.safetensors")) ==
        read_file(small.path("part/weights.safetensors")));
}

TEST_CASE("cli: a second training into the same folder is refused", "[cli]") {
  const SmallTraining small;
  std::filesystem::create_directories(small.path("model/checkpoint"));
  {
    const LockFile running(small.path("model/checkpoint/lock"), "another test has it");
    check_refused(small.train("model", "1"), 1, "another training of it is running");
  }
  REQUIRE(small.train("model", "1").run().ok());
  CHECK_FALSE(std::filesystem::exists(small.path("model/checkpoint")));
}

TEST_CASE("cli: what another training left while the data was loaded is kept", "[cli]") {
  const SmallTraining small;
  const std::string state = small.path("model/checkpoint/checkpoint.json"), pipe = small.path("list");
  const auto train = [&] { return small.train("model", "1").with("--matrices", pipe); };
  SECTION("a checkpoint") {
    const WhileLoading other(pipe, [&] {
      std::filesystem::create_directories(small.path("model/checkpoint"));
      write_file_atomically(state, "of another");
    });
    check_refused(train(), 2, "--resume continues it");
    CHECK(read_file(state) == "of another");
  }
  SECTION("a complete model") {
    REQUIRE(small.train("model", "1").run().ok());
    std::filesystem::create_directories(small.path("model/checkpoint"));
    write_file_atomically(state, R"({"format": "waco-checkpoint", "version": 1})");
    const WhileLoading other(pipe, [&] { std::filesystem::remove_all(small.path("model/checkpoint")); });
    const RunResult run = train().with("--resume").run();
    INFO(run.err);
    REQUIRE(run.ok());
    CHECK_THAT(run.err, Catch::Contains("nothing is left to do"));
    CHECK_FALSE(std::filesystem::exists(small.path("model/checkpoint")));
  }
}

TEST_CASE("cli: a training out of time is stopped", "[cli]") {
  const SmallTraining small;
  // One epoch is done by then, however slow this machine is.
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(small.train("short", "1").run().ok());
  const std::string limit = fmt::format("{:.2f}", 1 + 3 * seconds_since(start));
  const RunResult run = small.train("model", "100000").with("--patience", "0", "--time-limit", limit).run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK_THAT(run.err, Catch::Contains("stopped (the time budget is spent); --resume continues"));
}

TEST_CASE("cli: a model is trained on from the weights of another", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("first", "10").run().ok());
  const json report =
      document_of(small.train("second", "1").with("--init", small.path("first"), "--lr", "1e-9", "--json"));
  const json before = parse_file(small.path("first/model.json")).at("metrics").at("learned");
  CHECK(report.at("metrics").at("learned") == before);
  // Ended early, such a training could not go on: what it began from would be gone.
  check_refused(small.train("first", "1").with("--init", small.path("first")), 2, "is an input");
}

TEST_CASE("cli: a run that fails leaves the checkpoint of the one before", "[cli]") {
  const SmallTraining small;
  const auto train = [&] { return small.train("model", "120").with("--patience", "0"); };
  stop_training(train());
  REQUIRE(std::filesystem::exists(small.path("model/checkpoint")));
  REQUIRE(Program("waco-train")
              .with(small.dataset(), "--matrices", small.path("data"), "-o", small.path("other"))
              .with("--threads", "1", "--epochs", "1")
              .run()
              .ok());
  check_refused(train(), 2, "--resume continues it");
  check_refused(train().with("--resume", "--init", small.path("other")), 2, "extractor");
  // Before any matrix is looked for.
  check_refused(Program("waco-train")
                    .with(small.dataset(), "--extractor", "human", "--init", small.path("other"))
                    .with("-o", small.path("third")),
                2, "extractor");
  const RunResult resumed = train().with("--resume").run();
  INFO(resumed.err);
  REQUIRE(resumed.ok());
  CHECK(resumed.err.find("continues after epoch") != std::string::npos);
  const std::string weights = read_file(small.path("model/weights.safetensors"));
  const RunResult again = train().with("--resume", "--json").run();
  CHECK(again.ok());
  CHECK_THAT(again.err, Catch::Contains("is complete, nothing is left to do"));
  CHECK(json::parse(again.out).at("complete") == true);
  CHECK(read_file(small.path("model/weights.safetensors")) == weights);
  // Another recipe is another training, though there is nothing to resume.
  REQUIRE(train().with("--seed", "5", "--resume").run().ok());
  CHECK(read_file(small.path("model/weights.safetensors")) != weights);
}

TEST_CASE("cli: a model is complete for --resume only where nothing that decides it differs", "[cli]") {
  const SmallTraining small;
  const auto stays = [&](Program program) {
    const RunResult run = program.with("--resume").environment("XDG_CACHE_HOME", small.path("cache")).run();
    INFO(run.err);
    REQUIRE(run.ok());
    return run.err.find("nothing is left to do") != std::string::npos;
  };
  const std::string matrix = small.path("data/band-80-3.mtx"), away = small.path("away");
  std::filesystem::rename(matrix, away);
  CHECK_FALSE(stays(small.train("model", "1")));
  CHECK(stays(small.train("model", "1")));
  std::filesystem::rename(away, matrix);
  CHECK_FALSE(stays(small.train("model", "1")));
  CHECK(parse_file(small.path("model/model.json")).at("dataset").at("missing_records") == 0);

  // One that has learned from what is not found now gives way to no other but of another recipe.
  std::filesystem::rename(matrix, away);
  const auto poorer = [&](const char* epochs) {
    return small.train("model", epochs)
        .with("--resume")
        .environment("XDG_CACHE_HOME", small.path("other cache"));
  };
  check_refused(poorer("1"), 1, "16 records left out, 0 before");
  CHECK(parse_file(small.path("model/model.json")).at("dataset").at("missing_records") == 0);
  REQUIRE(poorer("2").run().ok());
  CHECK(parse_file(small.path("model/model.json")).at("dataset").at("missing_records") == 16);
  std::filesystem::rename(away, matrix);

  REQUIRE(small.train("first", "1").run().ok());
  const auto train = [&] { return small.train("model", "1").with("--init", small.path("first")); };
  CHECK_FALSE(stays(train().with("--freeze-embeddings")));
  CHECK_FALSE(stays(train()));
  REQUIRE(small.train("first", "2").run().ok());
  CHECK_FALSE(stays(train()));
  CHECK(stays(train()));
}

TEST_CASE("cli: judging by matrices that a model may have learned from is told", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("model", "1").with("--split", "5").run().ok());
  const std::string warning = "of the originals that are judged by, and looks better than it is";
  const RunResult same = small.evaluate().with("--split", "5").run();
  CHECK(same.ok());
  CHECK_THAT(same.err, !Catch::Contains(warning));
  const RunResult other = small.evaluate().run();
  CHECK(other.ok());
  CHECK_THAT(other.err, Catch::Contains(warning));
  // A smaller share judges by some of the same, a larger one by what was learned from.
  CHECK_THAT(small.evaluate().with("--split", "5", "--validation-share", "0.9").run().err,
             Catch::Contains(warning));

  // What it began from learned from others: both count.
  REQUIRE(small.train("next", "1").with("--init", small.path("model")).run().ok());
  const auto learned = [&](const std::string& model) {
    return parse_file(small.path(model) + "/model.json")
        .at("dataset")
        .at("training_originals")
        .get<std::set<std::string>>();
  };
  const std::set<std::string> before = learned("model"), after = learned("next");
  CHECK(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  CHECK(after.size() > before.size());
  const json known = parse_file(small.path("model") + "/model.json").at("families"),
             more = parse_file(small.path("next") + "/model.json").at("families");
  for (const auto& [family, patterns] : known.items())
    if (patterns > 1) CHECK(more.at(family) >= patterns.get<int64_t>() / 2);

  // A model that does not say it is known by what it was judged by.
  test::edit_manifest(small.path("model"),
                      [](auto& manifest) { manifest.at("dataset").erase("training_originals"); });
  CHECK_THAT(small.evaluate().run().err, Catch::Contains("it may have learned from what is judged by now"));
}

TEST_CASE("cli: a convolutional model is judged by the patterns that it was trained on", "[cli]") {
  const SmallTraining small;
  REQUIRE(Program("waco-train")
              .with(small.dataset(), "--matrices", small.path("data"), "-o", small.path("model"))
              .with("--extractor", "waconet", "--epochs", "1", "--threads", "1")
              .run()
              .ok());
  const auto worst_pairs = [&] {
    return document_of(small.evaluate().with("--threads", "1", "--json")).at("metrics").at("worst_pairs");
  };
  const json whole = worst_pairs();
  REQUIRE_FALSE(whole.empty());
  test::edit_weights(small.path("model"),
                     [](auto& tensors) { tensors.set("extractor.max_sites", {1}, {64}); });
  CHECK(worst_pairs() != whole);
}

TEST_CASE("cli: records of missing matrices are dropped with one warning", "[cli]") {
  const SmallTraining small(17);
  std::filesystem::remove(small.path("data/band-80-3.mtx"));
  const RunResult run = small.train("model").run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK(run.err.find("17 records in 1 group left out") != std::string::npos);
  CHECK(parse_file(small.path("model/model.json")).at("dataset").at("missing_records") == 17);
}

TEST_CASE("cli: records of several machines and those without ceilings are told", "[cli]") {
  const SmallTraining small;
  const std::string text = read_file(small.dataset());
  const size_t end = text.find('\n');
  json header = json::parse(text.substr(0, end));
  header.erase("ceilings");
  header.at("machine").at("cpu") = "CPU B";
  write_file_atomically(small.path("data/other.jsonl"), header.dump() + text.substr(end));
  const RunResult quiet = small.train("model", "1").run();
  INFO(quiet.err);
  REQUIRE(quiet.ok());
  CHECK_THAT(quiet.err, !Catch::Contains("machines") && !Catch::Contains("ceilings"));
  CHECK_FALSE(parse_file(small.path("model/model.json")).at("dataset").contains("borrowed_ceilings"));

  const RunResult run = small.train("mixed", "1").with(small.path("data/other.jsonl")).run();
  INFO(run.err);
  REQUIRE(run.ok());
  CHECK_THAT(run.err, Catch::Contains("of 2 machines") && Catch::Contains("CPU A"));
  CHECK_THAT(run.err, Catch::Contains("8 groups of CPU B, of which no ceilings are known"));
  const json dataset = parse_file(small.path("mixed/model.json")).at("dataset");
  CHECK(dataset.at("machines").size() == 2);
  REQUIRE(dataset.at("borrowed_ceilings").size() == 1);
  CHECK(dataset.at("borrowed_ceilings")[0].at("threads") == 2);
}

TEST_CASE("cli: waco-train goes on without a cache folder, and says so once", "[cli]") {
  const SmallTraining small;
  write_file_atomically(small.path("file"), "x");
  const RunResult run = small.train("model").environment("XDG_CACHE_HOME", small.path("file")).run();
  INFO(run.err);
  REQUIRE(run.ok());
  const std::string warning = "nothing is kept for later runs";
  CHECK(run.err.find(warning) != std::string::npos);
  CHECK(run.err.find(warning) == run.err.rfind(warning));
  CHECK(read_file(small.path("file")) == "x");
}

TEST_CASE("cli: common options of waco-train are known after evaluate, others are not", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("model", "1").run().ok());
  const RunResult run = small.evaluate().with("--threads", "1", "-q").run();
  CHECK(run.ok());
  CHECK(run.err.empty());
  check_refused(small.evaluate().with("--epochs", "3"), 2, "--epochs");
  const auto before = [&](const char* option, const char* value) {
    return Program("waco-train").with(option, value, "evaluate", small.path("model"), small.dataset());
  };
  check_refused(before("--epochs", "3"), 2, "--epochs");
  check_refused(before("-q", small.dataset().c_str()), 2, "DATASET");
  CHECK(before("--threads", "1").with("--matrices", small.path("data")).run().ok());
  check_refused(small.evaluate().with("--compiler", "c++"), 2, "--compiler");
}

TEST_CASE("cli: waco-train judges and trains on no model of another encoding", "[cli]") {
  const SmallTraining small;
  REQUIRE(small.train("model", "1").run().ok());
  test::edit_manifest(small.path("model"),
                      [](auto& manifest) { manifest["encoding_version"] = schedule::kEncodingVersion + 1; });
  check_refused(small.train("other").with("--init", small.path("model")), 3, "encoding_version");
  check_refused(Program("waco-train").with("evaluate", small.path("model"), small.dataset()), 3,
                "encoding_version");
  test::edit_manifest(small.path("model"), [](auto& manifest) {
    manifest["encoding_version"] = schedule::kEncodingVersion;
    manifest.erase("extractor");
  });
  check_refused(Program("waco-train").with("evaluate", small.path("model"), small.dataset()), 3,
                "a key is missing");
}

TEST_CASE("cli: wrong uses of waco-train end with code 2 or 3 and touch nothing", "[cli]") {
  const SmallTraining small(18);
  const std::string dataset = small.dataset();
  const std::string output = small.path("model");
  const auto train = [&] { return Program("waco-train").with("-o", output, "--threads", "1"); };
  check_refused(Program("waco-train").with(dataset), 2, "-o is required");
  check_refused(train(), 2, "at least one dataset");
  check_refused(train().with(dataset, "--extractor", "resnet"), 2, "waconet");
  check_refused(train().with(dataset, "--loss", "l1"), 2, "--loss");
  check_refused(train().with(dataset, "--epochs", "0"), 2, "--epochs");
  for (const char* rate : {"1e300", "1.5", "0", "nan"})
    check_refused(train().with(dataset, "--lr", rate), 2, "is not a positive number up to 1");
  check_refused(train().with(dataset, "--set", "speed=2"), 2, "speed");
  check_refused(train().with(dataset, "--set", "anchor"), 2, "NAME=NUMBER");
  check_refused(train().with(dataset, "--set", "groups_per_step=0"), 2, "is not from 1 to");
  check_refused(train().with(dataset, "--set", "hidden_dropout=nan"), 2, "is not from 0 to");
  check_refused(train().with(dataset, "--set", "warm_up=1"), 2, "is not from 0 to 0.99");
  check_refused(train().with(dataset, "--set", "points_per_group=2.7"), 2, "not a whole number");
  check_refused(train().with(dataset, "--validation-share", "0.3"), 2, "--split");
  check_refused(train().with(small.path("data/none.jsonl")), 3, "none.jsonl");
  check_refused(train().with(small.path("data/band-80-3.mtx")), 3, "waco-dataset");
  check_refused(train().with(dataset, "--matrices", small.path("nowhere")), 3, "nowhere");
  check_refused(train().with(dataset), 3, "--matrices");
  check_refused(train().with(dataset, "--init", small.path("nowhere"), "--matrices", small.path("data")), 3,
                "model.json");
  check_refused(Program("waco-train").with("evaluate", small.path("data"), dataset), 3, "model.json");
  check_refused(Program("waco-train").with(dataset, "-o", small.path("data")), 2, "not a model");
  check_refused(Program("waco-train").with(dataset, "-o", dataset), 2, "is an input");
  check_refused(Program("waco-train").with(dataset, "-o", small.path("data/band-80-3.mtx")), 2, "is a file");
  const std::string missing = small.path("no/such/folder/x");
  check_refused(train().with(small.path("data/none.jsonl"), "--plot", missing), 1, missing);
  check_refused(train().with(dataset, "--plot", dataset), 2, "is an input");
  check_refused(train().with(dataset, "--plot", "-", "--json"), 2, "would mix");
  check_refused(train().with(dataset, "--plot", output), 2, "the same file");
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("cli: waco-train reports even where its curves can't be written", "[cli]") {
  const SmallTraining small;
  const RunResult run = small.train("model", "1").with("--json", "--plot", "/dev/full").run();
  INFO(run.err);
  CHECK(run.end.code == 1);
  CHECK(run.err.find("/dev/full: can't be written") != std::string::npos);
  CHECK(json::parse(run.out).at("complete") == true);
}

TEST_CASE("cli: waco-train leaves folders alone that only look like a model", "[cli]") {
  const SmallTraining small;
  std::filesystem::create_directories(small.path("site/checkpoint"));
  write_file_atomically(small.path("site/model.json"), R"({"layers": 3})");
  check_refused(small.train("site"), 2, "not a model");
  CHECK(read_file(small.path("site/model.json")) == R"({"layers": 3})");
  std::filesystem::create_directories(small.path("run/checkpoint"));
  write_file_atomically(small.path("run/checkpoint/letter.txt"), "dear");
  check_refused(small.train("run"), 2, "not a model");
  CHECK(read_file(small.path("run/checkpoint/letter.txt")) == "dear");
}

TEST_CASE("cli: a comparison of networks trains each once and draws one table", "[cli]") {
  const SmallTraining small;
  const std::string page = small.path("page.md");
  write_file_atomically(page, "before\n<!-- ablations: begin -->\nold\n<!-- ablations: end -->\nafter\n");
  const auto compare = [&](const std::string& target) {
    RunOptions options;
    options.environment = {{"WACO_BIN", WACO_BIN_DIR}, {"XDG_CACHE_HOME", small.path("cache")}};
    return run_process({std::string(WACO_TEST_DATA_DIR) + "/../../scripts/ablations.sh", "-o",
                        small.path("compared"), "--matrices", small.path("data"), "--networks",
                        "human human:l2", "--epochs", "2", "--page", target, small.dataset()},
                       options);
  };
  const RunResult first = compare(page);
  INFO(first.err);
  REQUIRE(first.ok());
  CHECK_THAT(first.err, Catch::Contains(": human\n") && Catch::Contains(": human:l2\n"));
  const std::string drawn = read_file(page);
  CHECK_THAT(drawn, Catch::StartsWith("before\n") && Catch::EndsWith("<!-- ablations: end -->\nafter\n"));
  CHECK_THAT(drawn, Catch::Contains("| human | 2 |") && Catch::Contains("| human, squared errors | 2 |") &&
                        Catch::Contains("| closed-form model |") && !Catch::Contains("old"));

  const RunResult again = compare(page);
  REQUIRE(again.ok());
  CHECK(again.err.empty());  // nothing was left to train
  CHECK(read_file(page) == drawn);

  write_file_atomically(small.path("bare.md"), "no markers\n");
  CHECK(compare(small.path("bare.md")).end.code == 3);
}
