// ragged-all-to-all between devices on GPUs: the host reads the offsets and sizes, and rows go from GPU to
// GPU.

#include <utility>
#include <vector>

#include "base/status.h"
#include "exec/gpu_exchange.h"
#include "reference/exchange.h"
#include "spmd/ragged_exchange.h"

namespace hlo::exec {

absl::StatusOr<spmd::RaggedMember> GpuExchange::ReadRaggedLists(const Call& call) {
  HLO_RETURN_IF_ERROR(gpu_->MakeCurrent());
  const auto shape_of = [&](int64_t k) -> const Shape& { return call.instruction.operand(k)->shape(); };
  std::vector<Literal> lists;
  for (int64_t k = 2; k < 6; ++k) {
    HLO_ASSIGN_OR_RETURN(Literal list, Literal::Create(shape_of(k).WithoutLayouts()));
    HLO_RETURN_IF_ERROR(
        gpu_->ToHost(list.mutable_data(), operands_[static_cast<size_t>(k)], list.byte_count()));
    lists.push_back(std::move(list));
  }
  return reference::RaggedMemberOf(lists, shape_of(0).dim(0), shape_of(1).dim(0));
}

absl::Status GpuExchange::ExchangeRows(const Call& call, const Members& members) {
  std::vector<spmd::RaggedMember> lists;
  for (GpuExchange* member : members) {
    HLO_ASSIGN_OR_RETURN(spmd::RaggedMember own, member->ReadRaggedLists(call));
    lists.push_back(std::move(own));
  }
  HLO_ASSIGN_OR_RETURN(const spmd::RaggedExchange exchange, spmd::RaggedExchangeOf(lists));
  const Shape& output = call.instruction.operand(1)->shape();
  const int64_t bytes = *DenseByteCount(output);
  for (const GpuExchange* member : members) {
    if (member->results_[0] == nullptr || bytes == 0) continue;
    HLO_RETURN_IF_ERROR(member->gpu_->MakeCurrent());
    HLO_RETURN_IF_ERROR(member->gpu_->Copy(member->results_[0], member->operands_[1], bytes));
  }
  for (const spmd::RowMove& move : exchange.moves) {
    const GpuExchange &source = *members[move.source], &target = *members[move.target];
    if (target.results_[0] == nullptr) continue;
    const int64_t row = bytes / output.dim(0), moved = move.count * row;
    HLO_RETURN_IF_ERROR(target.gpu_->MakeCurrent());
    HLO_RETURN_IF_ERROR(target.gpu_->CopyRowsFrom(
        *source.gpu_, static_cast<std::byte*>(target.results_[0]) + move.to * row, moved,
        static_cast<const std::byte*>(source.operands_[0]) + move.from * row, moved, moved, 1));
  }
  for (int64_t i = 0; i < exchange.overlaps; ++i)
    call.link.Warn(call.instruction, "two updates write the same rows");
  return absl::OkStatus();
}

}  // namespace hlo::exec
