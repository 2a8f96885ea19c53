#include "kernels/cuda/vm/vm_builder.h"

#include <algorithm>
#include <cstring>

#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cuda/vm/vm_complex.h"

namespace hlo::cuda {

using loops::ComputeType;

VmType VmTypeOf(ComputeType compute_type) {
  switch (compute_type) {
    case ComputeType::kS8:
    case ComputeType::kS16:
    case ComputeType::kS32:
      return VmType::kI32;
    case ComputeType::kPred:
    case ComputeType::kU8:
    case ComputeType::kU16:
    case ComputeType::kU32:
      return VmType::kU32;
    case ComputeType::kS64:
      return VmType::kI64;
    case ComputeType::kU64:
      return VmType::kU64;
    case ComputeType::kF32:
      return VmType::kF32;
    case ComputeType::kF64:
      return VmType::kF64;
    case ComputeType::kC64:
      return VmType::kC64;
    case ComputeType::kC128:
      return VmType::kC128;
  }
  return VmType::kU32;
}

namespace {

bool IsInteger(VmType type) { return type <= VmType::kU64; }
bool IsComplexType(VmType type) { return type >= VmType::kC64; }

VmMemory MemoryOf(ElementType type) {
  if (type == ElementType::kBF16) return VmMemory::kBF16;
  if (type == ElementType::kF16) return VmMemory::kF16;
  const bool is_signed = IsIntegral(type) && IsSigned(type);
  switch (ByteCount(type)) {
    case 1:
      if (IsFloat(type)) return VmMemory::kSmallFloat;
      return is_signed ? VmMemory::kS8 : VmMemory::kU8;
    case 2:
      return is_signed ? VmMemory::kS16 : VmMemory::kU16;
    case 4:
      return VmMemory::k4;
    case 8:
      return VmMemory::k8;
    default:
      return VmMemory::k16;
  }
}

std::optional<VmOp> OpOf(Opcode opcode) {
  switch (opcode) {
#define HLO_SCALAR_OP(name, ...) \
  case Opcode::k##name:          \
    return VmOp::k##name;
#include "hlo_run/opcodes.def"
    default:
      return std::nullopt;
  }
}

// Distinguishes the ways in which the VM computes operations on complex numbers.
enum class ComplexOp : uint8_t { kNone, kArithmetic, kFunction };

ComplexOp ComplexOpOf(VmOp op) {
  switch (op) {
    case VmOp::kAdd:
    case VmOp::kSubtract:
    case VmOp::kMultiply:
    case VmOp::kNegate:
    case VmOp::kReal:
    case VmOp::kImag:
      return ComplexOp::kArithmetic;
#define HLO_CASE(name, ...) case VmOp::k##name:
      HLO_VM_COMPLEX_FUNCTIONS(HLO_CASE)
#undef HLO_CASE
    case VmOp::kAbs:
      return ComplexOp::kFunction;
    default:
      return ComplexOp::kNone;
  }
}

// Allocates slots to values by linear scan.
class SlotAllocator {
 public:
  SlotAllocator(size_t value_count, int32_t pinned_count)
      : slots_(value_count, kNoSlot), used_(pinned_count) {}

  // Returns the slot of a value that has one.
  uint8_t SlotOf(size_t value) const { return static_cast<uint8_t>(slots_[value]); }
  // Returns the slot of a value, which is allocated on the first call; nullopt if all slots are in use.
  std::optional<uint8_t> Allocate(size_t value) {
    int16_t& slot = slots_[value];
    if (slot != kNoSlot) return static_cast<uint8_t>(slot);
    if (free_.empty()) {
      if (used_ == VmInstruction::kMaxSlots) return std::nullopt;
      free_.push_back(static_cast<uint8_t>(used_++));
    }
    slot = free_.back();
    free_.pop_back();
    return static_cast<uint8_t>(slot);
  }
  void Free(size_t value) { free_.push_back(SlotOf(value)); }
  // Returns the number of slots that values have had so far.
  int32_t used() const { return used_; }

 private:
  static constexpr int16_t kNoSlot = -1;
  std::vector<int16_t> slots_;
  std::vector<uint8_t> free_;
  int32_t used_;
};

}  // namespace

void VmBuilder::Widen(int64_t bytes) {
  result_.words = std::max(result_.words, bytes <= 4 ? 1 : bytes <= 8 ? 2 : 4);
}

VmBuilder::Value VmBuilder::Emit(VmOp op, VmType type, absl::Span<const Value> operands, int64_t parameter) {
  Node node{.instruction = {.op = op, .type = type, .parameter = static_cast<uint16_t>(parameter)},
            .out = next_++};
  std::copy(operands.begin(), operands.end(), node.in);
  nodes_.push_back(node);
  return node.out;
}

VmBuilder::Value VmBuilder::CutToComputeType(Value value, ComputeType compute_type) {
  if (compute_type == ComputeType::kS8 || compute_type == ComputeType::kS16 ||
      compute_type == ComputeType::kU8 || compute_type == ComputeType::kU16)
    return Emit(VmOp::kCut, VmTypeOf(compute_type), {value}, 8 * loops::ComputeTypeBytes(compute_type));
  return value;
}

void VmBuilder::AddWalk(Walk::Kind kind, int32_t number, const loops::Strides& outer,
                        const loops::Strides& inner) {
  std::vector<int64_t> strides(outer.begin(), outer.end());
  strides.insert(strides.end(), inner.begin(), inner.end());
  walks_.push_back({kind, number, std::move(strides)});
}

absl::StatusOr<int32_t> VmBuilder::AddAccess(const loops::Access& access) {
  VmProgram& program = result_.program;
  const auto number = program.access_count;
  if (number == VmProgram::kAccesses)
    return absl::UnimplementedError("the loop reads and writes too many arrays");
  if (program.start_count + static_cast<int>(access.starts.size()) > VmProgram::kStarts)
    return absl::UnimplementedError("the loop has too many run-time starts");
  if (program.edge_count + static_cast<int>(access.edges.size()) > VmProgram::kEdges)
    return absl::UnimplementedError("the loop has too many edges");
  VmAccess& added = program.accesses[program.access_count++];
  added.offset = access.offset;
  added.memory = MemoryOf(access.type);
  added.type = access.type;
  added.has_starts = !access.starts.empty();
  added.has_edges = !access.edges.empty();
  added.drops = access.drops;
  result_.access_arguments.push_back(access.argument);
  result_.outside_arguments.push_back(access.outside);
  AddWalk(Walk::Kind::kAccess, number, access.outer, access.inner);
  for (const loops::RuntimeStart& start : access.starts) {
    if (start.index.has_value())
      AddWalk(Walk::Kind::kStart, program.start_count, start.index->outer, start.index->inner);
    program.starts[program.start_count++] = {
        .max = start.max,
        .stride = start.stride,
        .access = static_cast<uint16_t>(number),
        .byte_count = static_cast<uint8_t>(ByteCount(start.type)),
        .is_signed = IsSigned(start.type),
        .moves = start.index.has_value(),
        .offset = start.index.has_value() ? start.index->offset : start.element};
    program.accesses[number].starts_move |= start.index.has_value();
    result_.start_arguments.push_back(start.argument);
  }
  for (const loops::Edge& edge : access.edges) {
    AddWalk(Walk::Kind::kEdge, program.edge_count, edge.at.outer, edge.at.inner);
    program.edges[program.edge_count++] = {.offset = edge.at.offset,
                                           .size = edge.size,
                                           .spacing = edge.spacing,
                                           .stride = edge.stride,
                                           .access = static_cast<uint16_t>(number)};
  }
  Widen(ByteCount(access.type));
  return number;
}

absl::StatusOr<VmBuilder::Value> VmBuilder::Load(const loops::Access& access) {
  HLO_ASSIGN_OR_RETURN(const int32_t number, AddAccess(access));
  const ComputeType compute_type = loops::ComputeTypeOf(access.type);
  Widen(loops::ComputeTypeBytes(compute_type));
  if (access.IsArray()) return Emit(VmOp::kLoad, VmTypeOf(compute_type), {}, number);
  if (access.argument == loops::Access::kInside)
    return Emit(VmOp::kInside, VmTypeOf(compute_type), {}, number);
  if (compute_type == ComputeType::kPred) return absl::UnimplementedError("an iota of pred");
  return CutToComputeType(Emit(VmOp::kIota, VmTypeOf(compute_type), {}, number), compute_type);
}

absl::StatusOr<VmBuilder::Value> VmBuilder::Load(const loops::LoopProgram& program, int32_t number) {
  HLO_ASSIGN_OR_RETURN(const Value value, Load(program.access(number)));
  for (int32_t next = program.access(number).next; next >= 0; next = program.access(next).next) {
    HLO_ASSIGN_OR_RETURN(const int32_t added, AddAccess(program.access(next)));
    result_.program.accesses[added - 1].next = added;
  }
  return value;
}

absl::Status VmBuilder::Store(Value value, const loops::Access& access) {
  HLO_ASSIGN_OR_RETURN(const int32_t number, AddAccess(access));
  nodes_.push_back(
      {{.op = VmOp::kStore, .type = VmType::kU32, .parameter = static_cast<uint16_t>(number)}, -1, {value}});
  return absl::OkStatus();
}

absl::StatusOr<VmBuilder::Value> VmBuilder::Constant(ComputeType compute_type, const void* element) {
  if (constant_count_ == VmProgram::kConstants)
    return absl::UnimplementedError("the code has too many constants");
  Widen(loops::ComputeTypeBytes(compute_type));
  uint32_t(&words)[4] = result_.program.constants[constant_count_];
  // Narrow integers are extended to one word.
  if (compute_type == ComputeType::kPred || compute_type == ComputeType::kU8)
    words[0] = *static_cast<const uint8_t*>(element);
  else if (compute_type == ComputeType::kS8)
    words[0] = static_cast<uint32_t>(*static_cast<const int8_t*>(element));
  else if (compute_type == ComputeType::kU16)
    words[0] = *static_cast<const uint16_t*>(element);
  else if (compute_type == ComputeType::kS16)
    words[0] = static_cast<uint32_t>(*static_cast<const int16_t*>(element));
  else
    std::memcpy(words, element, loops::ComputeTypeBytes(compute_type));
  return Emit(VmOp::kConstant, VmTypeOf(compute_type), {}, constant_count_++);
}

void VmBuilder::CopyTo(Value pinned_or_variable, Value value) {
  nodes_.push_back({{.op = VmOp::kCopy, .type = VmType::kU32}, pinned_or_variable, {value}});
}
VmBuilder::Value VmBuilder::Copy(Value value) { return Emit(VmOp::kCopy, VmType::kU32, {value}); }
VmBuilder::Value VmBuilder::Variable(Value initial) {
  variables_.push_back(Copy(initial));
  return variables_.back();
}
VmBuilder::Label VmBuilder::NewLabel() {
  targets_.push_back(0);
  return static_cast<Label>(targets_.size()) - 1;
}
void VmBuilder::Bind(Label label) {
  nodes_.push_back({.instruction = {}, .out = -1, .label = label, .is_label = true});
}
void VmBuilder::Jump(Label label) {
  nodes_.push_back({.instruction = {.op = VmOp::kJump, .type = VmType::kU32}, .out = -1, .label = label});
}
void VmBuilder::JumpUnless(Value predicate, Label label) {
  nodes_.push_back({.instruction = {.op = VmOp::kJumpUnless, .type = VmType::kU32},
                    .out = -1,
                    .in = {predicate, -1, -1},
                    .label = label});
}
VmBuilder::Value VmBuilder::Convert(Value value, VmType from, VmType to) {
  Widen(to == VmType::kF64 ? 8 : 4);
  return Emit(VmOp::kConvert, from, {value}, static_cast<int>(to));
}

VmBuilder::Value VmBuilder::Zero() {
  constexpr std::byte kZeros[16] = {};
  absl::StatusOr<Value> zero = Constant(ComputeType::kU32, kZeros);
  if (!zero.ok()) failure_ = zero.status();
  return zero.value_or(0);
}

absl::StatusOr<VmBuilder::Value> VmBuilder::ScalarOperation(const loops::Operation& operation,
                                                            absl::Span<const Value> operands) {
  const ComputeType compute_type = loops::ComputeTypeOf(operation.from);
  const VmType type = VmTypeOf(compute_type);
  std::optional<VmOp> op = OpOf(operation.opcode);
  const bool is_complex = IsComplexType(type);
  if (!op.has_value() || (is_complex && ComplexOpOf(*op) == ComplexOp::kNone))
    return absl::UnimplementedError(fmt::format("{} of {}", Name(operation.opcode), Name(operation.from)));
  // Only the widest VM has complex functions (VmOneComplex).
  if (is_complex && ComplexOpOf(*op) == ComplexOp::kFunction) Widen(16);
  if (compute_type == ComputeType::kPred) {  // Values 0 and 1.
    if (*op == VmOp::kAdd) op = VmOp::kMaximum;
    if (*op == VmOp::kMultiply) op = VmOp::kMinimum;
    if (*op == VmOp::kNot) op = VmOp::kNotPred;
  }
  const Value value = Emit(*op, type, operands, BitWidth(operation.from));
  return IsInteger(type) && compute_type != ComputeType::kPred ? CutToComputeType(value, compute_type)
                                                               : value;
}

VmBuilder::Value VmBuilder::Comparison(const loops::Operation& operation, absl::Span<const Value> operands) {
  VmType type = VmTypeOf(loops::ComputeTypeOf(operation.from));
  const auto op = static_cast<VmOp>(static_cast<int>(VmOp::kEq) + static_cast<int>(operation.direction));
  if (!operation.total_order || (type != VmType::kF32 && type != VmType::kF64))
    return Emit(op, type, operands);
  const Value a = Emit(VmOp::kTotalOrder, type, {operands[0]});
  const Value b = Emit(VmOp::kTotalOrder, type, {operands[1]});
  type = type == VmType::kF32 ? VmType::kI32 : VmType::kI64;
  return Emit(op, type, {a, b});
}

absl::StatusOr<VmBuilder::Value> VmBuilder::Conversion(const loops::Operation& operation, Value value) {
  const ComputeType from = loops::ComputeTypeOf(operation.from), to = loops::ComputeTypeOf(operation.to);
  if (to == ComputeType::kPred) {
    if (from == ComputeType::kPred) return value;
    const Value zero = Zero();
    return Emit(VmOp::kNe, VmTypeOf(from), {value, zero});
  }
  if (from == ComputeType::kF64 && IsFloat(operation.to) && BitWidth(operation.to) <= 8)
    return Emit(VmOp::kRoundFromF64, VmType::kF64, {value}, static_cast<int>(operation.to));
  if (IsComplexType(VmTypeOf(from)) && !IsComplexType(VmTypeOf(to)))
    return absl::UnimplementedError("a conversion of complex numbers to real ones");
  const Value converted =
      Emit(VmOp::kConvert, VmTypeOf(from), {value},
           static_cast<int>(VmTypeOf(to)) | static_cast<int>(BitWidth(operation.to)) << 8);
  return CutToComputeType(converted, to);
}

VmBuilder::Value VmBuilder::Bits(const loops::Operation& operation, Value value) {
  if (operation.from == ElementType::kBF16 && operation.to != ElementType::kBF16)
    return CutToComputeType(Emit(VmOp::kBitsOfBF16, VmType::kF32, {value}),
                            loops::ComputeTypeOf(operation.to));
  if (operation.to == ElementType::kBF16 && operation.from != ElementType::kBF16)
    return Emit(VmOp::kBF16OfBits, VmType::kU32, {value});
  return CutToComputeType(value, loops::ComputeTypeOf(operation.to));
}

absl::StatusOr<VmBuilder::Value> VmBuilder::Apply(const loops::Operation& operation, ComputeType result,
                                                  absl::Span<const Value> operands) {
  Widen(loops::ComputeTypeBytes(result));
  Widen(loops::ComputeTypeBytes(loops::ComputeTypeOf(operation.from)));
  switch (operation.kind) {
    case loops::Operation::Kind::kScalar:
      return ScalarOperation(operation, operands);
    case loops::Operation::Kind::kRoundedScalar: {
      HLO_ASSIGN_OR_RETURN(const Value value, ScalarOperation(operation, operands));
      return Emit(VmOp::kRound, VmType::kF32, {value}, static_cast<int>(operation.to));
    }
    case loops::Operation::Kind::kCompare:
      return Comparison(operation, operands);
    case loops::Operation::Kind::kSelect:
      return Emit(VmOp::kSelect, VmType::kU32, operands);
    case loops::Operation::Kind::kConvert:
      return Conversion(operation, operands[0]);
    case loops::Operation::Kind::kBits:
      return Bits(operation, operands[0]);
    case loops::Operation::Kind::kReducePrecision:
      return Emit(VmOp::kReducePrecision, VmTypeOf(result), operands,
                  operation.exponent_bits << 8 | operation.mantissa_bits);
    case loops::Operation::Kind::kRound:
      if (IsFloat(operation.to))
        return Emit(VmOp::kRound, VmType::kF32, operands, static_cast<int>(operation.to));
      return Emit(VmOp::kCut, VmTypeOf(result), operands, BitWidth(operation.to));
    case loops::Operation::Kind::kStochastic:
      return Emit(VmOp::kStochastic, VmTypeOf(loops::ComputeTypeOf(operation.from)), operands.first(2),
                  BitWidth(operation.to) << 8 | operation.random_bits);
    case loops::Operation::Kind::kNone:
      break;
  }
  return absl::UnimplementedError("no code for this operation");
}

// A value that only the next instruction uses needs no slot. A variable's live range extends to the last
// instruction that reads or writes it, which includes backward jumps.
VmBuilder::Lifetimes VmBuilder::FindLifetimes() const {
  Lifetimes found;
  found.last_use.resize(std::max<Value>(Index(next_), 0), 0);
  found.needs_slot.resize(found.last_use.size());
  for (const Value variable : variables_) found.needs_slot[Index(variable)] = true;
  Value last = -1;  // The value of the previous instruction.
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (const Value in : nodes_[n].in) {
      if (in < VmInstruction::kMaxSlots) continue;
      found.last_use[Index(in)] = n;
      if (in != last) found.needs_slot[Index(in)] = true;
    }
    if (nodes_[n].out >= VmInstruction::kMaxSlots) found.last_use[Index(nodes_[n].out)] = n;
    if (nodes_[n].out >= 0 || nodes_[n].is_label) last = nodes_[n].out;
  }
  return found;
}

void VmBuilder::EndSection() {
  VmProgram& program = result_.program;
  auto [last_use, needs_slot] = FindLifetimes();
  SlotAllocator slots(last_use.size(), pinned_count_);
  const int32_t begin = program.code_count;
  Value last = -1;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    Node& node = nodes_[n];
    if (node.is_label) {
      targets_[node.label] = program.code_count;
      last = -1;
      continue;
    }
    VmInstruction instruction = node.instruction;
    if (node.label >= 0) instruction.parameter = static_cast<uint16_t>(node.label);
    uint8_t* const operands[] = {&instruction.a, &instruction.b, &instruction.c};
    for (int k = 0; k < 3; ++k) {
      const Value in = node.in[k];
      if (in < 0 || in == last) continue;
      *operands[k] = static_cast<uint8_t>(in < VmInstruction::kMaxSlots ? in : slots.SlotOf(Index(in)));
    }
    for (int k = 0; k < 3; ++k) {
      const Value in = node.in[k];
      if (in < VmInstruction::kMaxSlots || !needs_slot[Index(in)] || last_use[Index(in)] != n) continue;
      needs_slot[Index(in)] = false;
      slots.Free(Index(in));
    }
    if (node.out >= 0 && node.out < VmInstruction::kMaxSlots) {
      instruction.out = static_cast<uint8_t>(node.out);
    } else if (node.out >= 0 && needs_slot[Index(node.out)]) {
      const std::optional<uint8_t> slot = slots.Allocate(Index(node.out));
      if (!slot.has_value()) {
        failure_ = absl::UnimplementedError("the code keeps too many values");
        break;
      }
      instruction.out = *slot;
    }
    if (node.out >= 0) last = node.out;
    if (program.code_count == VmProgram::kCode) {
      failure_ = absl::UnimplementedError("the code is too long");
      break;
    }
    program.code[program.code_count++] = instruction;
  }
  for (int32_t i = begin; i < program.code_count; ++i) {
    VmInstruction& instruction = program.code[i];
    if (instruction.op == VmOp::kJump || instruction.op == VmOp::kJumpUnless)
      instruction.parameter = static_cast<uint16_t>(targets_[instruction.parameter]);
  }
  program.slot_count = std::max(program.slot_count, slots.used());
  nodes_.clear();
  variables_.clear();
  targets_.clear();
  next_ = VmInstruction::kMaxSlots;
}

absl::StatusOr<VmTemplate> VmBuilder::Finish(absl::Span<const int64_t> dims) {
  if (!failure_.ok()) return failure_;
  VmProgram& program = result_.program;
  std::vector<int64_t> merged;
  std::vector<std::vector<int64_t>> strides(walks_.size());
  uint64_t count = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    count *= static_cast<uint64_t>(dims[d]);
    if (dims[d] == 1) continue;
    bool joins = !merged.empty();
    for (size_t a = 0; a < walks_.size(); ++a)
      joins = joins && strides[a].back() == walks_[a].strides[d] * dims[d];
    if (joins)
      merged.back() *= dims[d];
    else
      merged.push_back(dims[d]);
    for (size_t a = 0; a < walks_.size(); ++a) {
      if (joins) strides[a].pop_back();
      strides[a].push_back(walks_[a].strides[d]);
    }
  }
  if (merged.size() > kVmDims) return absl::UnimplementedError("the loop has too many dimensions");
  program.rank = static_cast<int32_t>(merged.size());
  program.position_count = count;
  for (size_t d = 0; d < merged.size(); ++d) {
    program.wide_dims[d] = std::max<uint64_t>(1, static_cast<uint64_t>(merged[d]));
    if (program.wide_dims[d] < (uint64_t{1} << 31))
      program.dims[d] = FastDiv(static_cast<uint32_t>(program.wide_dims[d]));
  }
  for (size_t a = 0; a < strides.size(); ++a) {
    const int32_t number = walks_[a].number;
    if (walks_[a].kind != Walk::Kind::kAccess) {
      std::copy(strides[a].begin(), strides[a].end(),
                walks_[a].kind == Walk::Kind::kStart ? program.starts[number].position_stride
                                                     : program.edges[number].position_stride);
      continue;
    }
    std::copy(strides[a].begin(), strides[a].end(), program.accesses[number].stride);
    int64_t expected = 1;
    bool dense = true;
    for (size_t d = merged.size(); d-- > 0; expected *= merged[d]) dense = dense && strides[a][d] == expected;
    program.accesses[number].is_dense = dense;
  }
  return std::move(result_);
}

}  // namespace hlo::cuda
