// Counts the instructions that emission produces for a register tile.
#include "waco/model/kernel_code.hpp"

#include <algorithm>
#include <cmath>

namespace waco::model {

using codegen::KernelShape;
using codegen::VectorAxis;
using schedule::Op;

namespace {

// Sums kept in memory wait for what was stored a moment ago: times slower than loads and stores on their own.
constexpr double kThroughMemory = 3;

// Multiply-adds of an unrolled body that is too long.
constexpr double kLongBody = 200;

/// Numbers of the unrolled block: rows of the output and of the reduction that one body covers.
struct Block {
  double outputs = 1;  ///< output elements (rows, for a dense index)
  double reduced = 1;  ///< coordinates of the reduction
  double leaves = 1;
  double rows_read = 1;  ///< different rows of a dense operand that one body reads
};

Block block_of(const KernelShape& shape) {
  Block block;
  for (const auto& loop : shape.nest.loops) {
    if (!loop.unrolled) continue;
    const int index = loop.vars[0].index;
    const double split = shape.point.format.split[index];
    block.leaves *= split;
    if (loop.kind == schedule::LoopKind::kLanes)
      block.rows_read *= split;  // every lane has its own coordinate
    if (!schedule::mode_is_output(shape.point.problem.op, index)) block.rows_read *= split;
    (schedule::mode_is_output(shape.point.problem.op, index) ? block.outputs : block.reduced) *= split;
  }
  return block;
}

/// Vectors of a dense block's column where each column has its own.
int vectors_of_column(const KernelShape& shape) {
  const int lanes = shape.binding.vector_bytes / schedule::value_bytes(shape.point.problem.type);
  return codegen::column_vectors(shape.point.format.split[0], lanes).count;
}

/// Whether every nonzero in flight has sums of its own. Where several share one they count as if all did:
/// learned models were trained with these terms.
bool has_own_sums(const KernelShape& shape) {
  if (shape.axis == VectorAxis::kBlock)
    return shape.copies > 1 && !shape.copies_are_outputs &&
           shape.nest.innermost_sparse >= shape.scope_depth &&
           vectors_of_column(shape) * shape.copies <= codegen::num_registers(shape.binding) - 3;
  return shape.copies > 1 && shape.accumulator_groups == shape.copies;
}

/// Whether nonzeros that follow each other add to different outputs, as in tiles stored column after column.
bool scatters(const KernelShape& shape) {
  const int inner = shape.nest.innermost_sparse;
  return inner >= 0 && inner < shape.scope_depth &&
         schedule::mode_is_output(shape.point.problem.op,
                                  shape.nest.loops[static_cast<size_t>(inner)].vars.back().index);
}

/// Instructions of `lanes` values picked by coordinates. In hardware wherever vectors have 64 bytes, also on
/// Zen, whose kernels load one value after the other: learned models were trained with these terms.
Instructions gather(double lanes, bool in_hardware) {
  if (in_hardware) return {0, lanes * 1.4, 0, lanes * 0.5};
  return {0, lanes * 2, 0, lanes * 1.5};  // a coordinate and a value each, and inserting it
}

void spmv_code(const KernelShape& shape, const Block& block, const CoreRates& rates, int vector_bytes,
               KernelCode& code) {
  const double lanes = shape.lanes, vectors = shape.num_vectors;
  const bool hardware =
      vector_bytes == 64 && shape.lanes * schedule::value_bytes(shape.point.problem.type) == 64;
  const double sum_cycles = 4 + 3 * std::log2(std::max(1.0, lanes));
  Instructions body;
  double chain = 1;
  switch (shape.axis) {
    case VectorAxis::kLanes: {
      body = gather(lanes, hardware);
      body = {vectors, vectors * (body.loads + 1), 0, vectors * (body.other + 1)};
      code.scope_cycles += vectors * 2;
      break;
    }
    case VectorAxis::kBlock:  // as if along the columns: learned models were trained with these terms
    case VectorAxis::kBlockOutput: {
      const double each = vectors_of_column(shape);
      body = {block.reduced * each, block.reduced * (each + 1), 0, 2};
      chain = block.reduced;
      code.scope_cycles += each * 2;
      break;
    }
    case VectorAxis::kBlockReduced:
      body = {block.outputs * vectors, (block.outputs + 1) * vectors, 0, 2};
      code.scope_cycles += block.outputs * sum_cycles;
      break;
    case VectorAxis::kPositions: {
      // Counted for one nonzero: a vector of them costs `lanes` times as much.
      body = gather(lanes, hardware);
      body = {1 / lanes, (body.loads + 1) / lanes, 0, (body.other + 2) / lanes};
      chain = 1 / (lanes * vectors);
      code.vector_step = lanes;
      code.scope_cycles += sum_cycles + 3;
      break;
    }
    default:
      body = {block.leaves, 2 * block.leaves, 0, block.leaves};
      chain = block.reduced;
      code.scope_cycles += 2 * block.outputs;
      break;
  }
  if (scatters(shape)) {
    // No addition waits for the one before, and sums go from memory to memory without being set to 0.
    chain = 0;
    code.scope_cycles /= 2;
  }
  code.body_cycles = body.cycles(rates);
  code.chain_cycles = chain * rates.latency / (has_own_sums(shape) ? shape.copies : 1);
}

/// Accumulators beyond the registers are kept on the stack by the compiler.
double spilled(const KernelShape& shape, const Block& block) {
  if (shape.tile_in_memory) return block.outputs * shape.num_vectors;
  const double copies = has_own_sums(shape) ? shape.copies : 1;
  return std::max(0.0,
                  copies * block.outputs * shape.num_vectors - codegen::num_registers(shape.binding) + 3);
}

void dense_code(const KernelShape& shape, const Block& block, const CoreRates& rates, KernelCode& code) {
  const double vectors = shape.num_vectors;
  const double copies = shape.copies;
  const Op op = shape.point.problem.op;
  Instructions body;
  double chains = 1;  // independent sums that one body feeds
  if (op == Op::kSddmm) {
    const double rows = block.outputs;  // both modes are outputs: the block's sides are not told apart
    const double side = std::sqrt(rows);
    body = {rows * vectors, vectors * (side + side / copies), 0, rows};
    if (rows == 1) body.loads = vectors * (1 + 1 / copies);
    body.other += rows * (copies > 1 ? 8 : 12);  // adding up the lanes
    body.stores += rows;
    chains = std::max(8.0, rows * copies);
  } else if (op == Op::kMttkrp && shape.factored < 0) {
    body = {2 * block.leaves * vectors, 2 * block.leaves * vectors + block.leaves, 0, 2};
    chains = block.outputs * vectors;
  } else {
    body = {block.leaves * vectors, block.rows_read * vectors + block.leaves, 0, 2 * block.rows_read};
    chains = block.outputs * vectors;
  }
  if (const double spills = spilled(shape, block); spills > 0 && op != Op::kSddmm) {
    body.loads += kThroughMemory * spills;
    body.stores += kThroughMemory * spills;
    chains = std::max(chains, 16.0);
  }
  if (has_own_sums(shape)) chains *= copies;
  code.body_cycles = body.cycles(rates);
  // Lanes gather rows of a dense operand one by one, with an address and a bound for each.
  if (block.rows_read > block.reduced) code.body_cycles *= 1.6;
  // Long straight code leaves the cache of decoded instructions.
  if (copies * block.leaves * vectors > kLongBody) code.body_cycles *= 1.25;
  // With the registers full of sums, nonzeros in flight only make the compiler spill.
  const bool full = block.outputs * vectors >= 8 && !has_own_sums(shape) && op != Op::kSddmm;
  if (full) code.body_cycles *= 1 + 0.2 * std::log2(copies);
  code.chain_cycles = block.leaves * vectors / chains * rates.latency;
  if (op == Op::kSddmm) return;
  if (!shape.tile_in_memory) {
    const double moved = block.outputs * vectors;
    const Instructions flush{0, shape.stores ? 0 : moved, moved, moved * (has_own_sums(shape) ? copies : 1)};
    code.scope_cycles += flush.cycles(rates) + 2;
  }
  if (shape.factored >= 0) {
    const Instructions once{vectors * block.outputs, vectors, 0, vectors * copies};
    code.entry_cycles += once.cycles(rates);
  }
}

/// Prefetch instructions of one nonzero.
double prefetch_cycles(const KernelShape& shape, const CoreRates& rates) {
  const auto& point = shape.point;
  if (point.compute.prefetch == 0) return 0;
  const double row = static_cast<double>(point.problem.rhs) * schedule::value_bytes(point.problem.type);
  const double tile = point.compute.dense_tile > 0
                          ? point.compute.dense_tile * schedule::value_bytes(point.problem.type)
                          : row;
  const double lines = std::clamp(std::ceil(tile / 64), 1.0, 16.0);
  return Instructions{0, lines + 1, 0, 3}.cycles(rates);
}

}  // namespace

CoreRates core_rates(const Ceilings& ceilings) {
  CoreRates rates;
  const double lanes = ceilings.vector_bytes / 4.0;
  rates.cycle_ns = rates.fmas * 2 * lanes / ceilings.fma_f32_one;
  // Streaming through L1 falls a little short of the load units.
  rates.loads =
      std::clamp(1.3 * ceilings.levels[0].read_one / ceilings.vector_bytes * rates.cycle_ns, 1.2, 3.0);
  return rates;
}

double Instructions::cycles(const CoreRates& rates) const {
  return std::max({fmas / rates.fmas, loads / rates.loads, stores / rates.stores,
                   (fmas + loads * 0.5 + stores + other) / rates.issue});
}

KernelCode kernel_code(const KernelShape& shape, const CoreRates& rates, int vector_bytes) {
  KernelCode code;
  const Block block = block_of(shape);
  if (shape.axis == VectorAxis::kDense) {
    dense_code(shape, block, rates, code);
  } else {
    spmv_code(shape, block, rates, vector_bytes, code);
  }
  code.body_cycles += prefetch_cycles(shape, rates);
  return code;
}

}  // namespace waco::model
