// Points to vertices and back, their sources and their file.
#include "waco/index/vertex.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "../dataset/sample_records.hpp"
#include "waco/base/error.hpp"
#include "waco/base/file_replacement.hpp"
#include "waco/base/files.hpp"
#include "waco/index/vertex_list.hpp"
#include "waco/index/vertex_sources.hpp"

using namespace waco;
using index::VertexList;
using schedule::Op;
using schedule::parse;
using schedule::SuperSchedule;

namespace {

const auto kOps = {Op::kSpmv, Op::kSpmm, Op::kSddmm, Op::kMttkrp};

schedule::ScheduleSpace space_of(Op op, int threads, int64_t rhs = 0, int64_t rows = 30000) {
  std::vector<int64_t> dims(static_cast<size_t>(schedule::sparse_order(op)), 5000);
  dims[0] = rows;
  return {{op, schedule::ValueType::kF64, rhs > 0 ? rhs : schedule::default_rhs(op)}, dims, {threads}};
}

index::FastestRecords fastest_in(const std::filesystem::path& dataset) {
  VertexList vertices(Op::kSpmv);
  index::FastestRecords fastest;
  index::add_dataset(vertices, dataset, {}, fastest);
  return fastest;
}

}  // namespace

TEST_CASE("vertex: some of three threads are two", "[index]") {
  const auto space = space_of(Op::kSpmv, 3);
  const SuperSchedule point = parse("spmv f64 | A: i:U k:C | loop: i k | par: i static x2");
  const auto back = index::bind(index::as_vertex(point, 3), space);
  REQUIRE(back);
  CHECK(schedule::to_text(*back) == schedule::to_text(point));
  CHECK_FALSE(index::bind(index::as_vertex(point, 3), space_of(Op::kSpmv, 2)));
}

TEST_CASE("vertex: a point bound to its own problem again is the same point", "[index]") {
  for (const Op op : kOps) {
    const auto space = space_of(op, 8);
    Random random(3);
    for (int n = 0; n < 300; n++) {
      SuperSchedule point = space.sample_stratified(random, schedule::kStrata[n % schedule::kStrata.size()]);
      auto back = index::bind(index::as_vertex(point, 8), space);
      REQUIRE(back);
      CHECK_FALSE(schedule::illegal_reason(*back));
      CHECK(schedule::canonical(*back) == *back);
      if (point.compute.threads != 8 && point.compute.threads != 1) {
        CHECK(back->compute.threads == 4);
        back->compute.threads = point.compute.threads;
      }
      if (point.format.sort_window > 1) {
        CHECK(back->format.sort_window >= point.format.sort_window);
        CHECK(back->format.sort_window < 2 * point.format.sort_window);
        back->format.sort_window = point.format.sort_window;
      }
      CHECK(schedule::to_text(*back) == schedule::to_text(point));
    }
  }
}

TEST_CASE("vertex: type, size and machine make no difference", "[index]") {
  const auto a = parse("spmm f32 J=64 | A: i:U k:C | loop: i j1 k j0 [j/32] | par: i static x2");
  const auto b = parse("spmm f64 J=256 | A: i:U k:C | loop: i j1 k j0 [j/32] | par: i static x96");
  VertexList list(Op::kSpmm);
  CHECK(list.add(a, 2));
  CHECK_FALSE(list.add(b, 96));
  CHECK(list.add(b, 128));  // not all of the threads
  CHECK(list.add(parse("spmm f64 J=256 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i static x96"), 96));
  CHECK(list.size() == 3);
}

TEST_CASE("vertex: what does not fit is not bound", "[index]") {
  const auto tiled = parse("spmm f32 J=256 | A: i:U k:C | loop: i j1 k j0 [j/64] | par: i static x2");
  const auto vertex = index::as_vertex(tiled, 2);
  CHECK(index::bind(vertex, space_of(Op::kSpmm, 2, 65)));
  CHECK_FALSE(index::bind(vertex, space_of(Op::kSpmm, 2, 64)));

  const auto split = parse("spmv f32 | A: i1:U k:C i0:U [i/8] | loop: i1 k i0 | par: i1 static x2");
  CHECK(index::bind(index::as_vertex(split, 2), space_of(Op::kSpmv, 2, 0, 9)));
  CHECK_FALSE(index::bind(index::as_vertex(split, 2), space_of(Op::kSpmv, 2, 0, 8)));

  const auto some = index::as_vertex(split, 4);  // two of four threads
  CHECK(index::bind(some, space_of(Op::kSpmv, 6))->compute.threads == 3);
  CHECK_FALSE(index::bind(some, space_of(Op::kSpmv, 2)));
  CHECK(index::bind(index::as_vertex(split, 2), space_of(Op::kSpmv, 1))->compute.parallel == -1);
}

TEST_CASE("vertex: samples are distinct, as many as asked for, and the same for a seed", "[index]") {
  for (const Op op : kOps) {
    VertexList list(op), again(op), other(op);
    CHECK(index::add_samples(list, 3000, 1) == 3000);
    index::add_samples(again, 3000, 1);
    index::add_samples(other, 3000, 2);
    std::set<std::string> texts;
    for (int64_t v = 0; v < list.size(); v++) {
      texts.emplace(list.text(v));
      CHECK(list.text(v) == again.text(v));
    }
    CHECK(texts.size() == 3000);
    CHECK(list.compressed() != other.compressed());
  }
}

TEST_CASE("vertex: a list that was sampled already gets new points", "[index]") {
  VertexList list(Op::kSpmm);
  CHECK(index::add_samples(list, 9000, 1) == 9000);
  CHECK(index::add_samples(list, 1000, 1) == 1000);
  CHECK(list.size() == 10000);
}

TEST_CASE("vertex: a dataset gives its points that ran, each once", "[index]") {
  const TemporaryFolder folder;
  using dataset::testing::sample_record;
  auto failed = sample_record("mesh", 64);
  failed.status = measure::Status::kWrong;
  const auto file = dataset::testing::write_dataset(
      folder.path() / "d.jsonl", dataset::testing::sample_header(),
      {sample_record("mesh", 16), sample_record("graph", 16), sample_record("mesh", 32), failed});
  VertexList vertices(Op::kSpmv);
  index::FastestRecords fastest, again;
  CHECK(index::add_dataset(vertices, file, {}, fastest) == 2);
  CHECK(index::add_dataset(vertices, file, {}, again) == 0);
  CHECK(vertices.text(0) == "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,16 x4");
  VertexList wrong_op(Op::kSpmm);
  CHECK_THROWS_AS(index::add_dataset(wrong_op, file, {}, fastest), InputError);
}

TEST_CASE("vertex: what a model is judged by gives no points, nor do copies of it", "[index]") {
  const TemporaryFolder folder;
  using dataset::testing::sample_record;
  auto copy = sample_record("mesh-copy", 64);
  copy.original = "mesh";
  const auto file =
      dataset::testing::write_dataset(folder.path() / "d.jsonl", dataset::testing::sample_header(),
                                      {sample_record("mesh", 16), copy, sample_record("graph", 32)});
  VertexList vertices(Op::kSpmv);
  index::FastestRecords fastest;
  CHECK(index::add_dataset(vertices, file, {"mesh"}, fastest) == 1);
  CHECK_THAT(std::string(vertices.text(0)), Catch::Contains("dynamic,32"));
  CHECK(fastest.records.size() == 1);
}

TEST_CASE("vertex: neighbours are those of the fastest points of each matrix", "[index]") {
  const TemporaryFolder folder;
  using dataset::testing::sample_record;
  std::vector<dataset::Record> records;
  for (const int chunk : {1, 2, 4, 8, 16}) records.push_back(sample_record("mesh", chunk, 0.1 * chunk));
  const auto file =
      dataset::testing::write_dataset(folder.path() / "d.jsonl", dataset::testing::sample_header(), records);
  VertexList vertices(Op::kSpmv);
  const int64_t added = index::add_neighbours(vertices, fastest_in(file), 1000);
  CHECK(added > 20);
  CHECK(added == vertices.size());
  std::set<std::string> texts;
  for (int64_t v = 0; v < vertices.size(); v++) texts.emplace(vertices.text(v));
  const std::string csr = "spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,";
  CHECK(texts.count(csr + "32 x4") == 1);  // beside the fastest
  CHECK(texts.count(csr + "2 x4") == 1);   // beside the third
  CHECK(texts.count(csr + "1 x4") == 0);   // beside the fourth only
  VertexList few(Op::kSpmv);
  CHECK(index::add_neighbours(few, fastest_in(file), 5) == 5);
}

TEST_CASE("vertex: a damaged plan is refused with its file and matrix", "[index]") {
  const TemporaryFolder folder;
  dataset::Record damaged = dataset::testing::sample_record("mesh");
  damaged.plan = "spmv f32 | nonsense";
  const auto file = dataset::testing::write_dataset(folder.path() / "d.jsonl",
                                                    dataset::testing::sample_header(), {damaged});
  CHECK_THROWS_AS(fastest_in(file), InputError);
  CHECK_THROWS_WITH(fastest_in(file), Catch::Contains("d.jsonl: a record of mesh: "));
}

TEST_CASE("vertex: a small number of neighbours is spread over all matrices", "[index]") {
  const TemporaryFolder folder;
  std::vector<dataset::Record> records;
  for (const int chunk : {1, 8, 64, 512})
    records.push_back(dataset::testing::sample_record(fmt::format("mesh{}", chunk), chunk));
  const auto file =
      dataset::testing::write_dataset(folder.path() / "d.jsonl", dataset::testing::sample_header(), records);
  const auto neighbours = [](const std::filesystem::path& dataset, int64_t count) {
    VertexList vertices(Op::kSpmv);
    index::add_neighbours(vertices, fastest_in(dataset), count);
    std::set<std::string> texts;
    for (int64_t v = 0; v < vertices.size(); v++) texts.emplace(vertices.text(v));
    return texts;
  };
  const std::set<std::string> few = neighbours(file, 8);
  CHECK(few.size() == 8);
  for (size_t r = 0; r < records.size(); ++r) {
    const auto alone = dataset::testing::write_dataset(folder.path() / fmt::format("{}.jsonl", r),
                                                       dataset::testing::sample_header(), {records[r]});
    const std::set<std::string> all = neighbours(alone, 1000);
    INFO(r);
    CHECK(std::count_if(few.begin(), few.end(), [&](const auto& text) { return all.contains(text); }) >= 2);
  }
}

TEST_CASE("vertex: a list comes back from its file, and damage is refused", "[index]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "v.txt.gz";
  VertexList list(Op::kSddmm);
  index::add_samples(list, 500, 1);
  const std::string content = list.compressed();
  write_file_atomically(file, content);
  const VertexList read = VertexList::read(file, Op::kSddmm);
  REQUIRE(read.size() == 500);
  for (int64_t v = 0; v < 500; v++) {
    CHECK(read.text(v) == list.text(v));
    CHECK(read.vertex(v) == list.vertex(v));
  }
  CHECK(read.compressed() == content);
  CHECK_THROWS_AS(VertexList::read(file, Op::kSpmm).vertex(0), InputError);
  const auto plain = folder.path() / "v.txt";
  write_file_atomically(plain, list.plain());
  VertexList viewed = VertexList::view(plain.string(), MappedFile(plain), Op::kSddmm);
  REQUIRE(viewed.size() == 500);
  for (int64_t v = 0; v < 500; v++) CHECK(viewed.text(v) == list.text(v));
  CHECK(index::add_samples(viewed, 3, 2) == 3);
  CHECK_FALSE(viewed.add(list.vertex(7), index::kAllThreads));
  CHECK(viewed.size() == 503);
  CHECK(viewed.text(0) == list.text(0));
  CHECK(viewed.vertex(502).problem.op == Op::kSddmm);
  write_file_atomically(plain, list.plain().substr(0, list.plain().size() - 1));
  CHECK_THROWS_AS(VertexList::view(plain.string(), MappedFile(plain), Op::kSddmm), InputError);
  write_file_atomically(file, std::string_view(content).substr(0, content.size() / 2));
  CHECK_THROWS_AS(VertexList::read(file, Op::kSddmm), InputError);
  CHECK_THROWS_AS(VertexList::read(folder.path() / "absent", Op::kSddmm), InputError);
}
