#include "exec/gpu_exchange.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "base/arithmetic.h"
#include "base/status.h"
#include "device/align.h"
#include "device/copy.h"
#include "fmt/format.h"

namespace hlo::exec {
namespace {

using Kind = plan::PeerCollective::Kind;
using spmd::Values;

// Below this size every member folds the whole arrays. Above, each folds a part and gathers the others.
constexpr int64_t kMaxWholeFoldBytes = 64 << 10;

const Shape& ShapeOf(const Instruction& instruction, size_t k) {
  return instruction.operand(static_cast<int64_t>(k))->shape();
}
int64_t BytesOf(const Instruction& instruction, size_t k) { return *DenseByteCount(ShapeOf(instruction, k)); }

const std::byte* At(const void* data, int64_t offset) { return static_cast<const std::byte*>(data) + offset; }
std::byte* At(void* data, int64_t offset) { return static_cast<std::byte*>(data) + offset; }

// An array as rows that extend over a dimension and all further ones.
struct Rows {
  int64_t count, elements;
};
Rows RowsAlong(const Shape& shape, int64_t dimension) {
  Rows rows{1, 1};
  for (int64_t d = 0; d < shape.rank(); ++d) (d < dimension ? rows.count : rows.elements) *= shape.dim(d);
  return rows;
}

// Wraps device memory for the rendezvous, which only asks for its shape.
Literal OnDevice(const Shape& shape, const void* memory, std::function<void()> release) {
  return Literal::FromBuffer(shape.WithoutLayouts(),
                             Buffer::Wrap(memory, *DenseByteCount(shape), std::move(release)));
}

Shape WithSize(const Shape& shape, int64_t dimension, int64_t size) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[dimension] = size;
  return Shape::Array(shape.type(), dims);
}

int64_t DimensionOf(const Instruction& instruction) { return instruction.Get<attr::dimensions>()[0]; }

absl::Status CheckParts(const Shape& shape, int64_t dimension, int64_t count) {
  if (shape.dim(dimension) % count == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("dimension {} of {} has no {} equal parts", dimension, ToString(shape), count));
}

}  // namespace

absl::Status GpuExchange::Run(Call call) {
  if (plan::IsTransfer(call.kind)) return Transfer(call);
  HLO_RETURN_IF_ERROR(CopyOverwrittenOperands(call));
  if (call.kind == Kind::kPermute) return Permute(call);
  return call.kind == Kind::kConvertShapes ? ConvertShapes(call) : Meet(call);
}

absl::StatusOr<std::byte*> GpuExchange::Scratch(device::GpuMemory& memory, int64_t& allocated,
                                                int64_t byte_count) {
  if (memory.data() == nullptr || allocated < byte_count) {
    memory = device::GpuMemory();
    HLO_ASSIGN_OR_RETURN(void* data, gpu_->Allocate(byte_count, "values of other devices"));
    memory = device::GpuMemory(*gpu_, data);
    allocated = byte_count;
  }
  return memory.data();
}

// Other devices read operands while results are written, so operands that overlap a result are copied first.
absl::Status GpuExchange::CopyOverwrittenOperands(Call& call) {
  const spmd::Groups* groups = call.link.table().groups(call.instruction);
  const int32_t group = groups == nullptr ? -1 : groups->places[call.link.device()].group;
  const auto arrays = call.kind == Kind::kAllGather && group >= 0
                          ? static_cast<int64_t>(groups->members[group].size())
                          : int64_t{1};
  // The result of a ragged-all-to-all has the shape of the second operand.
  const size_t shaped_as = call.kind == Kind::kRaggedAllToAll ? 1 : 0;
  std::vector<size_t> overwritten;
  int64_t byte_count = 0;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    const int64_t bytes = BytesOf(call.instruction, k);
    for (size_t r = 0; r < call.results.size(); ++r) {
      const std::byte* result = At(static_cast<const void*>(call.results[r]), 0);
      const std::byte* operand = At(call.operands[k], 0);
      if (result == nullptr || operand + bytes <= result ||
          result + arrays * BytesOf(call.instruction, shaped_as + r) <= operand)
        continue;
      overwritten.push_back(k);
      byte_count += device::Aligned(bytes);
      break;
    }
  }
  if (overwritten.empty()) return absl::OkStatus();
  HLO_ASSIGN_OR_RETURN(std::byte * held, Scratch(held_, held_bytes_, byte_count));
  for (const size_t k : overwritten) {
    const int64_t bytes = BytesOf(call.instruction, k);
    HLO_RETURN_IF_ERROR(gpu_->Copy(held, call.operands[k], bytes));
    call.operands[k] = held;
    held += device::Aligned(bytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<GpuExchange::SendBuffer>> GpuExchange::TakeSendBuffer(int64_t byte_count) {
  for (const std::shared_ptr<SendBuffer>& buffer : send_buffers_) {
    if (buffer->byte_count >= byte_count && buffer->is_free.exchange(false)) return buffer;
  }
  auto buffer = std::make_shared<SendBuffer>();
  HLO_ASSIGN_OR_RETURN(void* memory, gpu_->Allocate(byte_count, "values for other devices"));
  buffer->gpu = gpu_;
  buffer->memory = device::GpuMemory(*gpu_, memory);
  buffer->byte_count = byte_count;
  send_buffers_.push_back(buffer);
  return buffer;
}

absl::Status GpuExchange::FillWithZeros(const Call& call) {
  for (size_t k = 0; k < call.results.size(); ++k) {
    if (call.results[k] == nullptr) continue;
    HLO_RETURN_IF_ERROR(
        device::FillOnDevice(call.results[k], 0, BytesOf(call.instruction, k), gpu_->stream()));
  }
  return absl::OkStatus();
}

absl::Status GpuExchange::SendCopies(const Call& call, size_t count, std::string_view chain,
                                     absl::Span<const int64_t> targets) {
  std::vector<Values> sent(targets.size());
  for (size_t k = 0; k < count; ++k) {
    const Shape& shape = ShapeOf(call.instruction, k);
    const int64_t bytes = BytesOf(call.instruction, k);
    for (Values& values : sent) {
      HLO_ASSIGN_OR_RETURN(std::shared_ptr<SendBuffer> buffer, TakeSendBuffer(bytes));
      HLO_RETURN_IF_ERROR(gpu_->Copy(buffer->memory.data(), call.operands[k], bytes));
      values.push_back(OnDevice(shape, buffer->memory.data(), [buffer] { buffer->is_free = true; }));
    }
  }
  if (!sent.empty()) HLO_RETURN_IF_ERROR(gpu_->Synchronize());
  for (size_t t = 0; t < targets.size(); ++t) {
    HLO_RETURN_IF_ERROR(
        call.link.Send({&call.instruction, chain, call.link.device(), targets[t]}, std::move(sent[t])));
  }
  return absl::OkStatus();
}

absl::Status GpuExchange::CopyReceived(const Call& call, const Values& values, int64_t source) {
  const device::Gpu& from = *call.peer(source).gpu_;
  for (size_t k = 0; k < values.size(); ++k) {
    const int64_t bytes = values[k].byte_count();
    if (call.results[k] == nullptr) continue;
    HLO_RETURN_IF_ERROR(gpu_->CopyRowsFrom(from, call.results[k], bytes, values[k].data(), bytes, bytes, 1));
  }
  return gpu_->Synchronize();
}

absl::Status GpuExchange::Permute(const Call& call) {
  const spmd::Routes* routes = call.link.table().routes(call.instruction);
  if (routes == nullptr) return absl::InternalError("its pairs are not known");
  const int64_t device = call.link.device(), source = routes->sources[device];
  HLO_RETURN_IF_ERROR(SendCopies(call, call.operands.size(), "", routes->targets[device]));
  if (source < 0) return FillWithZeros(call);
  HLO_ASSIGN_OR_RETURN(const Values received, call.link.Receive({&call.instruction, "", source, device}));
  return CopyReceived(call, received, source);
}

absl::Status GpuExchange::Meet(const Call& call) {
  const spmd::Groups* groups = call.link.table().groups(call.instruction);
  const int64_t device = call.link.device();
  if (call.kind == Kind::kBroadcast && groups != nullptr && groups->places[device].group < 0)
    return FillWithZeros(call);
  Values shapes;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    shapes.push_back(OnDevice(ShapeOf(call.instruction, k), call.operands[k], [] {}));
  }
  HLO_RETURN_IF_ERROR(gpu_->Synchronize());
  operands_ = call.operands;
  results_ = call.results;
  result_bytes_ = call.result_bytes;
  is_waiting_ = true;
  const absl::Cleanup leave = [this] { is_waiting_ = false; };
  const auto combine = [&](absl::Span<const Values> values) -> absl::StatusOr<std::vector<Values>> {
    Members members;
    for (const int64_t member : groups->members[groups->places[device].group])
      members.push_back(&call.peer(member));
    absl::Status status = RunForAll(call, members);
    // The members may continue only when all copies are complete.
    for (GpuExchange* member : members) status.Update(member->gpu_->Synchronize());
    status.Update(gpu_->MakeCurrent());
    if (!status.ok()) return status;
    return std::vector<Values>(values.size());
  };
  return call.link.Meet(call.instruction, std::move(shapes), combine).status();
}

absl::Status GpuExchange::RunForAll(const Call& call, const Members& members) {
  for (const GpuExchange* member : members) {
    if (!member->is_waiting_) return absl::InternalError("a member of its group is on no GPU");
  }
  if (call.kind == Kind::kRaggedAllToAll) return ExchangeRows(call, members);
  for (size_t k = 0; k < call.operands.size(); ++k) {
    for (const GpuExchange* member : members) {
      if (member->results_[k] != nullptr)
        HLO_RETURN_IF_ERROR(member->CheckSizes(call, static_cast<int64_t>(members.size()), k));
    }
    if (call.kind == Kind::kAllReduce) {
      HLO_RETURN_IF_ERROR(AllReduce(call, members, k));
      continue;
    }
    for (size_t position = 0; position < members.size(); ++position) {
      GpuExchange& member = *members[position];
      if (member.results_[k] == nullptr) continue;
      HLO_RETURN_IF_ERROR(member.gpu_->MakeCurrent());
      HLO_RETURN_IF_ERROR(member.Receive(call, members, position, k));
    }
  }
  return absl::OkStatus();
}

// Enqueues the copies of an all-to-all for result k of this member: part `own` of each member's operand.
absl::Status GpuExchange::ReceiveParts(const Call& call, const Members& members, int64_t own, size_t k) {
  const auto count = static_cast<int64_t>(members.size());
  const Shape& shape = ShapeOf(call.instruction, k);
  const int64_t dimension = DimensionOf(call.instruction);
  HLO_RETURN_IF_ERROR(CheckParts(shape, dimension, count));
  const Rows rows = RowsAlong(shape, dimension);
  const int64_t pitch = rows.elements * ByteCount(shape.type()), bytes = pitch / count;
  for (int64_t i = 0; i < count; ++i) {
    HLO_RETURN_IF_ERROR(gpu_->CopyRowsFrom(*members[i]->gpu_, At(results_[k], i * bytes), pitch,
                                           At(members[i]->operands_[k], own * bytes), pitch, bytes,
                                           rows.count));
  }
  return absl::OkStatus();
}

// Refuses operands that do not fit the members of the group, and results of other sizes than those that this
// member receives: the checker does not compare shapes with groups of one member.
absl::Status GpuExchange::CheckSizes(const Call& call, int64_t members, size_t k) const {
  Shape made = ShapeOf(call.instruction, k);
  switch (call.kind) {
    case Kind::kAllGather: {
      const int64_t dimension = DimensionOf(call.instruction);
      made = WithSize(made, dimension, made.dim(dimension) * members);
      break;
    }
    case Kind::kReduceScatter: {
      const int64_t dimension = DimensionOf(call.instruction);
      HLO_RETURN_IF_ERROR(CheckParts(made, dimension, members));
      made = WithSize(made, dimension, made.dim(dimension) / members);
      break;
    }
    case Kind::kAllToAllOperands:
      if (static_cast<int64_t>(operands_.size()) != members)
        return absl::FailedPreconditionError(
            fmt::format("there are {} operands, but the group has {} members", operands_.size(), members));
      break;
    case Kind::kConvertShapes:
      return absl::OkStatus();
    default:
      break;
  }
  if (*DenseByteCount(made) == result_bytes_[k]) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("the value is {}, which is not the declared shape", ToString(made)));
}

// Enqueues the copies or the fold for result k of this member.
absl::Status GpuExchange::Receive(const Call& call, const Members& members, size_t position, size_t k) {
  const auto count = static_cast<int64_t>(members.size()), own = static_cast<int64_t>(position);
  const Shape& shape = ShapeOf(call.instruction, k);
  const int64_t element_bytes = ByteCount(shape.type());
  void* const result = results_[k];
  const auto copy = [&](int64_t source, int64_t to, int64_t to_pitch, const void* from, int64_t from_pitch,
                        int64_t row_bytes, int64_t row_count) {
    return gpu_->CopyRowsFrom(*members[source]->gpu_, At(result, to), to_pitch, from, from_pitch, row_bytes,
                              row_count);
  };
  switch (call.kind) {
    case Kind::kAllGather: {
      const Rows rows = RowsAlong(shape, DimensionOf(call.instruction));
      const int64_t bytes = rows.elements * element_bytes;
      for (int64_t i = 0; i < count; ++i) {
        HLO_RETURN_IF_ERROR(
            copy(i, i * bytes, count * bytes, members[i]->operands_[k], bytes, bytes, rows.count));
      }
      return absl::OkStatus();
    }
    case Kind::kAllToAll:
      return ReceiveParts(call, members, own, k);
    case Kind::kAllToAllOperands: {
      const int64_t bytes = BytesOf(call.instruction, k);
      return copy(static_cast<int64_t>(k), 0, bytes, members[k]->operands_[position], bytes, bytes, 1);
    }
    case Kind::kBroadcast: {
      const int64_t bytes = BytesOf(call.instruction, k);
      return copy(0, 0, bytes, members[0]->operands_[k], bytes, bytes, 1);
    }
    case Kind::kReduceScatter: {
      const Rows rows = RowsAlong(shape, DimensionOf(call.instruction));
      const int64_t part = rows.elements / count;
      return Fold(call, members, k, {own * part, rows.elements, part, rows.count}, result);
    }
    case Kind::kConvertShapes:
      return ReceiveTiles(call, members, position, k);
    case Kind::kAllReduce:
    case Kind::kPermute:
    case Kind::kRaggedAllToAll:
    case Kind::kSend:
    case Kind::kSendDone:
    case Kind::kRecv:
    case Kind::kRecvDone:
      break;
  }
  return absl::InternalError("not a collective of members that receive independently");
}

absl::Status GpuExchange::AllReduce(const Call& call, const Members& members, size_t k) {
  const Shape& shape = ShapeOf(call.instruction, k);
  const int64_t elements = *shape.ElementCount(), element_bytes = ByteCount(shape.type());
  const auto count = static_cast<int64_t>(members.size());
  const bool all_read = std::all_of(members.begin(), members.end(),
                                    [&](const GpuExchange* m) { return m->results_[k] != nullptr; });
  const bool in_parts = all_read && count > 1 && elements * element_bytes > kMaxWholeFoldBytes;
  const int64_t part =
      in_parts ? device::Aligned(CeilDiv(elements, count) * element_bytes) / element_bytes : elements;
  const auto first = [&](int64_t position) { return std::min(elements, in_parts ? position * part : 0); };
  const auto length = [&](int64_t position) { return std::min(part, elements - first(position)); };
  for (int64_t position = 0; position < count; ++position) {
    GpuExchange& member = *members[position];
    if (member.results_[k] == nullptr) continue;
    HLO_RETURN_IF_ERROR(member.gpu_->MakeCurrent());
    HLO_RETURN_IF_ERROR(member.Fold(call, members, k, {first(position), elements, length(position), 1},
                                    At(member.results_[k], first(position) * element_bytes)));
  }
  if (!in_parts) return absl::OkStatus();
  for (GpuExchange* member : members) HLO_RETURN_IF_ERROR(member->gpu_->Synchronize());
  for (GpuExchange* member : members) {
    HLO_RETURN_IF_ERROR(member->gpu_->MakeCurrent());
    for (int64_t position = 0; position < count; ++position) {
      const GpuExchange& source = *members[position];
      const int64_t offset = first(position) * element_bytes, bytes = length(position) * element_bytes;
      if (&source == member) continue;
      HLO_RETURN_IF_ERROR(member->gpu_->CopyRowsFrom(*source.gpu_, At(member->results_[k], offset), bytes,
                                                     At(source.results_[k], offset), bytes, bytes, 1));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<cuda::LoweredProgram*> GpuExchange::FoldProgram(const Instruction& instruction,
                                                               ElementType type, int64_t array_count,
                                                               int64_t element_count) {
  const auto [at, is_new] = folds_.try_emplace({&instruction, array_count, element_count});
  if (is_new) {
    absl::StatusOr<cuda::LoweredProgram> program =
        plan::LowerFold(instruction, type, array_count, element_count, gpu_->properties());
    if (!program.ok() || program->workspace_bytes > 0) {
      folds_.erase(at);
      return program.ok() ? absl::InternalError("a fold needs memory") : program.status();
    }
    at->second = *std::move(program);
  }
  return &at->second;
}

absl::Status GpuExchange::Fold(const Call& call, const Members& members, size_t k, const RowBlock& rows,
                               void* to) {
  const ElementType type = ShapeOf(call.instruction, k).type();
  const int64_t element_bytes = ByteCount(type), row_bytes = rows.length * element_bytes;
  const int64_t elements = rows.length * rows.count, bytes = elements * element_bytes;
  if (elements == 0) return absl::OkStatus();
  std::vector<const void*> sources;
  const auto is_here = [&](const GpuExchange& member) {
    return rows.count == 1 && member.gpu_->properties().number == gpu_->properties().number;
  };
  const auto away = static_cast<int64_t>(std::count_if(
      members.begin(), members.end(), [&](const GpuExchange* member) { return !is_here(*member); }));
  // Operands of one call share this memory, one after the other in the order of the stream.
  std::byte* gathered = nullptr;
  if (away > 0) {
    HLO_ASSIGN_OR_RETURN(gathered, Scratch(gathered_, gathered_bytes_, away * device::Aligned(bytes)));
  }
  for (const GpuExchange* member : members) {
    const std::byte* from = At(member->operands_[k], rows.begin * element_bytes);
    if (is_here(*member)) {
      sources.push_back(from);
      continue;
    }
    HLO_RETURN_IF_ERROR(gpu_->CopyRowsFrom(*member->gpu_, gathered, row_bytes, from,
                                           rows.pitch * element_bytes, row_bytes, rows.count));
    sources.push_back(gathered);
    gathered += device::Aligned(bytes);
  }
  // Each launch continues the fold of those before it.
  for (size_t next = 0; next < sources.size();) {
    const bool is_first = next == 0;
    std::vector<void*> pointers;
    if (!is_first) pointers.push_back(to);
    while (next < sources.size() && pointers.size() < plan::kMaxFoldedArrays)
      pointers.push_back(const_cast<void*>(sources[next++]));
    pointers.push_back(to);
    HLO_ASSIGN_OR_RETURN(
        cuda::LoweredProgram * program,
        FoldProgram(call.instruction, type, static_cast<int64_t>(pointers.size()) - 1, elements));
    HLO_RETURN_IF_ERROR(program->run(pointers.data(), nullptr, gpu_->stream()));
  }
  return absl::OkStatus();
}

}  // namespace hlo::exec
