// Records for tests, made without measuring anything.
#pragma once

#include <fmt/format.h>

#include <string>

#include "waco/dataset/dataset_file.hpp"

namespace waco::dataset::testing {

/// A record of a matrix and a chunk size (which makes the plan) with all fields set.
inline Record sample_record(const std::string& matrix = "mesh", int chunk = 16, double speedup = 1.25) {
  Record record;
  record.matrix = matrix;
  record.matrix_hash = "hash-of-" + matrix;
  record.original = matrix;
  record.source = matrix + ".mtx.gz";
  record.dims = {300, 200};
  record.num_nonzeros = 4000;
  record.problem = {schedule::Op::kSpmv, schedule::ValueType::kF32, 1};
  record.threads = 2;
  record.seed = 7;
  record.stratum = "csr_like";
  record.plan = fmt::format("spmv f32 | A: i:U k:C | loop: i k | par: i dynamic,{} x2", chunk);
  record.samples_ns = {1010, 1000, 990};
  record.time_ns = 1000;
  record.fixed_csr_ns = static_cast<int64_t>(1000 * speedup);
  record.speedup = speedup;
  record.rejected_share = 0.25;
  record.pack_ns = 5000;
  record.stored_bytes = 24000;
  return record;
}

inline Header sample_header(const std::string& cpu = "CPU A") {
  Header header;
  header.created_by = {{"program", "waco-collect"}, {"version", "0.1.0"}, {"command", "waco-collect"}};
  header.machine.cpu_model = cpu;
  header.machine.num_cores = 2;
  header.machine.compiler.version = "g++ 12";
  header.collection = {{"op", "spmv"}, {"per_matrix", 20}};
  return header;
}

/// Writes a dataset, or continues it, and returns its path.
inline std::filesystem::path write_dataset(const std::filesystem::path& file, const Header& header,
                                           const std::vector<Record>& records) {
  DatasetAppender appender(file, header, [](Record&&) {});
  for (const Record& record : records) appender.append(record);
  return file;
}

}  // namespace waco::dataset::testing
