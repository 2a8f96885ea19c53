#include "ir/window_indexing.h"

#include <algorithm>

#include "base/check.h"

namespace hlo {
namespace {

struct IndexingDims {
  int64_t index_vector_dim = 0;
  IntList index_map, operand_batching, indices_batching;
};

bool IsUnambiguous(const IndexingDims& dims, const Shape& operand, const Shape& indices) {
  if (dims.operand_batching.size() != dims.indices_batching.size()) return false;
  for (size_t k = 0; k < dims.operand_batching.size(); ++k) {
    const int64_t of_operand = dims.operand_batching[k], of_indices = dims.indices_batching[k];
    const bool is_indexed =
        std::find(dims.index_map.begin(), dims.index_map.end(), of_operand) != dims.index_map.end();
    if (is_indexed || of_indices == dims.index_vector_dim || of_indices >= indices.rank() ||
        indices.dim(of_indices) != operand.dim(of_operand))
      return false;
  }
  return true;
}

}  // namespace

bool HasUnambiguousIndices(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kGather) {
    return IsUnambiguous({instruction.Get<attr::index_vector_dim>(), instruction.Get<attr::start_index_map>(),
                          instruction.Get<attr::operand_batching_dims>(),
                          instruction.Get<attr::start_indices_batching_dims>()},
                         instruction.operand(0)->shape(), instruction.operand(1)->shape());
  }
  HLO_CHECK(instruction.opcode() == Opcode::kScatter);
  const int64_t count = (instruction.operand_count() - 1) / 2;
  return IsUnambiguous(
      {instruction.Get<attr::index_vector_dim>(), instruction.Get<attr::scatter_dims_to_operand_dims>(),
       instruction.Get<attr::input_batching_dims>(), instruction.Get<attr::scatter_indices_batching_dims>()},
      instruction.operand(0)->shape(), instruction.operand(count)->shape());
}

}  // namespace hlo
