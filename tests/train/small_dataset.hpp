// A dataset without measurements: small matrices on the disk, and times that follow from pattern and point by
// a rule that a network can learn.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "waco/base/file_replacement.hpp"
#include "waco/base/random.hpp"
#include "waco/dataset/dataset_file.hpp"
#include "waco/matrix/read.hpp"
#include "waco/model/ceilings.hpp"
#include "waco/schedule/space.hpp"

namespace waco::train::testing {

/// Writes a band matrix of n rows with `width` nonzeros each and returns its name.
inline std::string write_band(const std::filesystem::path& folder, int n, int width) {
  const std::string name = fmt::format("band-{}-{}.mtx", n, width);
  std::ofstream out(folder / name);
  std::string entries;
  int64_t count = 0;
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < width && r + k < n; ++k, ++count)
      entries += fmt::format("{} {} 1\n", r + 1, r + k + 1);
  out << fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n{}", n, n, count, entries);
  return name;
}

/// log2(time / fixed_csr): wide rows like large row splits, narrow ones do not; threads help always.
inline double made_up_cost(const schedule::SuperSchedule& point, int width) {
  const double split = std::log2(point.format.split[0]);
  const double wanted = width > 8 ? 4 : 0;
  return 0.3 * std::abs(split - wanted) + (point.compute.threads > 1 ? 0 : 0.8) +
         (point.compute.unroll > 1 ? 0.2 : 0);
}

inline dataset::Record made_up_record(const matrix::SparseTensor& tensor, const std::string& source,
                                      int width, const schedule::SuperSchedule& point) {
  dataset::Record record;
  record.matrix = record.original = tensor.name;
  record.matrix_hash = matrix::pattern_hash(tensor);
  record.source = source;
  record.dims = tensor.dims;
  record.num_nonzeros = tensor.num_nonzeros();
  record.problem = point.problem;
  record.threads = 2;
  record.stratum = "uniform";
  record.plan = to_text(point);
  record.speedup = std::exp2(-made_up_cost(point, width));
  record.fixed_csr_ns = 100000;
  record.time_ns = std::llround(100000 / record.speedup);
  record.samples_ns.assign(7, record.time_ns);
  return record;
}

/// Writes `num_matrices` matrices and a dataset of them with `per_matrix` points; the last quarter of the
/// matrices is for validation.
inline std::filesystem::path write_small_dataset(const std::filesystem::path& folder, int num_matrices = 12,
                                                 int per_matrix = 24) {
  const schedule::Problem problem{schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  dataset::Header header;
  header.created_by = {{"program", "waco-collect"}, {"version", "0.1.0"}, {"command", "waco-collect"}};
  header.machine.cpu_model = "CPU A";
  header.ceilings = {model::to_json(model::default_ceilings(2))};
  header.collection = {{"op", "spmv"}};
  std::string text = dataset::header_line(header) + "\n";
  for (int m = 0; m < num_matrices; ++m) {
    const int width = m % 2 == 0 ? 3 + m / 2 : 12 + m / 2;
    const std::string name = write_band(folder, 80 + 10 * m, width);
    const matrix::SparseTensor tensor = matrix::read_tensor((folder / name).string()).tensor;
    const schedule::ScheduleSpace space(problem, tensor.dims, {.max_threads = 2});
    Random random(3, static_cast<uint64_t>(m));
    std::vector<schedule::SuperSchedule> points{schedule::csr_point(problem, 2)};
    while (static_cast<int>(points.size()) < per_matrix) {
      const schedule::SuperSchedule point = space.sample_stratified(random, schedule::Stratum::kUniform);
      if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(point);
    }
    for (const schedule::SuperSchedule& point : points) {
      dataset::Record record = made_up_record(tensor, name, width, point);
      if (4 * m >= 3 * num_matrices) record.split = dataset::Split::kValidation;
      text += dataset::to_json(record).dump() + "\n";
    }
  }
  const std::filesystem::path file = folder / "small.jsonl";
  write_file_atomically(file, text);
  return file;
}

}  // namespace waco::train::testing
