// How far two measurements of the same points agree on which is faster: the noise of the labels.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "waco/dataset/dataset_file.hpp"
#include "waco/dataset/record.hpp"

namespace waco::dataset {

/// Over pairs of records of one group, see group(), that both datasets timed.
struct Agreement {
  int64_t num_common = 0;    ///< records that both hold
  int64_t num_pairs = 0;     ///< of them, whose times differ by more than 10 % in the first dataset
  int64_t num_reversed = 0;  ///< of these, the other one is faster in the second
  double median_change = 0;  ///< over common records: |time in the second / time in the first - 1|
  double reversed_share() const {
    return num_pairs > 0 ? static_cast<double>(num_reversed) / static_cast<double>(num_pairs) : 0;
  }
};

/// What records are ordered by: their own times, or these as shares of fixed_csr's times of the same rounds.
/// The share does not feel a machine that becomes slower or faster, but has the noise of both times.
enum class Order { kTime, kRatio };

/// The records of `dataset` that were measured on machines of `header`, with the machine's place there: those
/// that compare with the records of its file.
std::vector<Record> records_on_machines_of(const Header& header, Dataset dataset);

/// Both count machines by the same header. Censored records count with the time they took at least: they make
/// pairs only with those that are faster.
Agreement compare(const std::vector<Record>& first, const std::vector<Record>& second, Order order);

nlohmann::ordered_json to_json(const Agreement& agreement);
std::string to_text(const Agreement& agreement, Order order);

}  // namespace waco::dataset
