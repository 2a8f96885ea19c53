#include "kernels/cuda/vm/lower_core.h"

#include <algorithm>
#include <array>

#include "base/arithmetic.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/vm/core_vm_body.h"

namespace hlo::cuda {
namespace {

constexpr uint8_t kLast = VmInstruction::kLast;

// A binary instruction of the core. `reversed` computes y op x; it is the same for commutative instructions.
struct CoreBinary {
  CoreOp op;
  std::optional<CoreOp> reversed;
};

std::optional<CoreBinary> FloatBinary(VmOp op) {
  const auto commutative = [](CoreOp core) { return CoreBinary{core, core}; };
  switch (op) {
    case VmOp::kAdd:
      return commutative(CoreOp::kAddF);
    case VmOp::kSubtract:
      return CoreBinary{CoreOp::kSubtractF, CoreOp::kSubtractReversedF};
    case VmOp::kMultiply:
      return commutative(CoreOp::kMultiplyF);
    case VmOp::kDivide:
      return CoreBinary{CoreOp::kDivideF, CoreOp::kDivideReversedF};
    case VmOp::kMaximum:
      return commutative(CoreOp::kMaximumF);
    case VmOp::kMinimum:
      return commutative(CoreOp::kMinimumF);
    case VmOp::kEq:
      return commutative(CoreOp::kEqF);
    case VmOp::kNe:
      return commutative(CoreOp::kNeF);
    case VmOp::kGe:
      return CoreBinary{CoreOp::kGeF, CoreOp::kLeF};
    case VmOp::kGt:
      return CoreBinary{CoreOp::kGtF, CoreOp::kLtF};
    case VmOp::kLe:
      return CoreBinary{CoreOp::kLeF, CoreOp::kGeF};
    case VmOp::kLt:
      return CoreBinary{CoreOp::kLtF, CoreOp::kGtF};
    default:
      return std::nullopt;
  }
}

std::optional<CoreBinary> IntegerBinary(VmOp op, bool is_signed, int bits) {
  const auto commutative = [](CoreOp core) { return CoreBinary{core, core}; };
  const auto by_sign = [&](CoreOp of_signed, CoreOp of_unsigned) {
    return is_signed ? of_signed : of_unsigned;
  };
  switch (op) {
    case VmOp::kAdd:
      return commutative(CoreOp::kAddI);
    case VmOp::kSubtract:
      return CoreBinary{CoreOp::kSubtractI, CoreOp::kSubtractReversedI};
    case VmOp::kMultiply:
      return commutative(CoreOp::kMultiplyI);
    case VmOp::kAnd:
      return commutative(CoreOp::kAnd);
    case VmOp::kOr:
      return commutative(CoreOp::kOr);
    case VmOp::kXor:
      return commutative(CoreOp::kXor);
    case VmOp::kMaximum:
      return commutative(by_sign(CoreOp::kMaximumS, CoreOp::kMaximumU));
    case VmOp::kMinimum:
      return commutative(by_sign(CoreOp::kMinimumS, CoreOp::kMinimumU));
    case VmOp::kEq:
      return commutative(CoreOp::kEqI);
    case VmOp::kNe:
      return commutative(CoreOp::kNeI);
    case VmOp::kGe:
      return CoreBinary{by_sign(CoreOp::kGeS, CoreOp::kGeU), by_sign(CoreOp::kLeS, CoreOp::kLeU)};
    case VmOp::kGt:
      return CoreBinary{by_sign(CoreOp::kGtS, CoreOp::kGtU), by_sign(CoreOp::kLtS, CoreOp::kLtU)};
    case VmOp::kLe:
      return CoreBinary{by_sign(CoreOp::kLeS, CoreOp::kLeU), by_sign(CoreOp::kGeS, CoreOp::kGeU)};
    case VmOp::kLt:
      return CoreBinary{by_sign(CoreOp::kLtS, CoreOp::kLtU), by_sign(CoreOp::kGtS, CoreOp::kGtU)};
    case VmOp::kShiftLeft:
      if (bits != 32) return std::nullopt;
      return CoreBinary{CoreOp::kShiftLeft, std::nullopt};
    case VmOp::kShiftRightLogical:
      if (bits != 32) return std::nullopt;
      return CoreBinary{CoreOp::kShiftRightLogical, std::nullopt};
    case VmOp::kShiftRightArithmetic:
      if (bits != 32) return std::nullopt;
      return CoreBinary{CoreOp::kShiftRightArithmetic, std::nullopt};
    default:
      return std::nullopt;
  }
}

std::optional<CoreBinary> BinaryOf(const VmInstruction& in) {
  if (in.type == VmType::kF32) return FloatBinary(in.op);
  return IntegerBinary(in.op, in.type == VmType::kI32, in.parameter);
}

// An instruction on the accumulator alone, with its parameter.
struct CoreUnary {
  CoreOp op;
  uint16_t parameter = 0;
  CoreRounding rounding = CoreRounding::kNone;
};

std::optional<CoreUnary> ConversionOf(const VmInstruction& in) {
  const auto to = static_cast<VmType>(in.parameter & 0xff);
  const int bits = in.parameter >> 8;
  const bool from_float = in.type == VmType::kF32, to_float = to == VmType::kF32;
  if (from_float && to_float) return CoreUnary{CoreOp::kKeep};
  if (to_float) return CoreUnary{in.type == VmType::kI32 ? CoreOp::kFloatOfS : CoreOp::kFloatOfU};
  if (!from_float) return CoreUnary{CoreOp::kKeep};
  if (bits != 32) return std::nullopt;
  return CoreUnary{to == VmType::kI32 ? CoreOp::kSignedOfF : CoreOp::kUnsignedOfF};
}

std::optional<CoreUnary> UnaryOf(const VmInstruction& in) {
  const bool is_float = in.type == VmType::kF32;
  switch (in.op) {
    case VmOp::kNegate:
      return CoreUnary{is_float ? CoreOp::kNegateF : CoreOp::kNegateI};
    case VmOp::kAbs:
      if (!is_float) return std::nullopt;
      return CoreUnary{CoreOp::kAbsF};
    case VmOp::kSqrt:
      return CoreUnary{CoreOp::kSqrtF};
    case VmOp::kExponential:
      return CoreUnary{CoreOp::kExponentialF};
    case VmOp::kLog:
      return CoreUnary{CoreOp::kLogF};
    case VmOp::kLogistic:
      return CoreUnary{CoreOp::kLogisticF};
    case VmOp::kRsqrt:
      return CoreUnary{CoreOp::kRsqrtF};
    case VmOp::kTanh:
      return CoreUnary{CoreOp::kTanhF};
    case VmOp::kNot:
      return CoreUnary{CoreOp::kNot};
    case VmOp::kNotPred:
      return CoreUnary{CoreOp::kNotPred};
    case VmOp::kCut:
      return CoreUnary{in.type == VmType::kI32 ? CoreOp::kSignExtend : CoreOp::kZeroExtend,
                       static_cast<uint16_t>(32 - in.parameter)};
    case VmOp::kConvert:
      return ConversionOf(in);
    case VmOp::kCopy:
      return CoreUnary{CoreOp::kKeep};
    case VmOp::kRound:
      if (static_cast<ElementType>(in.parameter) == ElementType::kBF16)
        return CoreUnary{CoreOp::kKeep, 0, CoreRounding::kBF16};
      if (static_cast<ElementType>(in.parameter) == ElementType::kF16)
        return CoreUnary{CoreOp::kKeep, 0, CoreRounding::kF16};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Instructions whose results are representable in bf16 if their operands are.
bool KeepsRounding(CoreOp op) {
  return op == CoreOp::kKeep || op == CoreOp::kFetch || op == CoreOp::kMaximumF || op == CoreOp::kMinimumF ||
         op == CoreOp::kClampF || op == CoreOp::kNegateF || op == CoreOp::kAbsF || op == CoreOp::kSelect;
}

class CoreLowering {
 public:
  explicit CoreLowering(const VmTemplate& made) : vm_(made.program), slot_count_(made.program.slot_count) {}

  std::optional<CoreTemplate> Run(absl::Span<const int> ends) {
    if (vm_.position_count >= (uint64_t{1} << 31) - (1 << 16) || !SupportsAccesses()) return std::nullopt;
    core_.program.position_count = static_cast<uint32_t>(vm_.position_count);
    core_.program.rank = static_cast<int16_t>(vm_.rank);
    std::copy(std::begin(vm_.dims), std::end(vm_.dims), core_.program.dims);
    for (int i = 0; i < vm_.code_count; ++i) {
      if (!Translate(vm_.code[i])) return std::nullopt;
      if (core_.ends.size() == ends.size() || i + 1 != ends[core_.ends.size()]) continue;
      core_.ends.push_back(core_.program.code_count);
      last_ = -1;
      holds_last_ = false;
    }
    if (slot_count_ > CoreInstruction::kMaxSlots) return std::nullopt;
    core_.slot_count = slot_count_;
    core_.needs_all |= core_.needs_calls;
    return core_;
  }

 private:
  bool SupportsAccesses() {
    if (vm_.access_count > CoreProgram::kAccesses || vm_.start_count > CoreProgram::kStarts) return false;
    int start_count = 0;
    for (int k = 0; k < vm_.access_count; ++k) {
      const VmAccess& from = vm_.accesses[k];
      if (from.has_edges || from.starts_move || from.next >= 0 || from.memory == VmMemory::kSmallFloat ||
          from.memory == VmMemory::k8 || from.memory == VmMemory::k16)
        return false;
      CoreAccess& to = core_.program.accesses[k];
      to.offset = from.offset;
      to.memory = from.memory;
      to.drops = from.drops;
      to.kind = KindOf(from);
      core_.needs_calls |= to.kind == CoreKind::kStrided;
      if (to.kind >= CoreKind::kRuns) {
        if (core_.stride_count + vm_.rank > CoreProgram::kStrides) return false;
        to.strides = static_cast<uint16_t>(core_.stride_count);
        std::copy_n(from.stride, vm_.rank, core_.program.strides + core_.stride_count);
        core_.stride_count += vm_.rank;
      }
      to.start_first = static_cast<uint8_t>(start_count);
      for (int s = 0; s < vm_.start_count; ++s) {
        if (vm_.starts[s].access != k) continue;
        core_.program.starts[start_count++] = {.max = vm_.starts[s].max,
                                               .stride = vm_.starts[s].stride,
                                               .byte_count = vm_.starts[s].byte_count,
                                               .is_signed = vm_.starts[s].is_signed};
      }
      to.start_count = static_cast<uint8_t>(start_count - to.start_first);
    }
    return true;
  }

  CoreKind KindOf(const VmAccess& access) const {
    if (access.is_dense) return CoreKind::kDense;
    const int last = vm_.rank - 1;
    const bool is_flat = std::all_of(access.stride, access.stride + last, [](int64_t s) { return s == 0; });
    if (is_flat && access.stride[last] == 0) return CoreKind::kScalar;
    if (vm_.dims[last].divisor % kCoreWidth != 0) return CoreKind::kStrided;
    if (access.stride[last] == 1) return is_flat ? CoreKind::kLast : CoreKind::kRuns;
    return access.stride[last] == 0 ? CoreKind::kRows : CoreKind::kStrided;
  }

  uint8_t NewSlot() { return static_cast<uint8_t>(std::min<int>(slot_count_++, CoreInstruction::kMaxSlots)); }
  // Returns a slot that holds a temporary value for one instruction.
  uint8_t Scratch(int number) {
    while (static_cast<int>(scratch_.size()) <= number) scratch_.push_back(NewSlot());
    return scratch_[number];
  }

  bool Emit(CoreInstruction in, bool rounded = false) {
    if (core_.program.code_count == CoreProgram::kCode) return false;
    core_.program.code[core_.program.code_count++] = in;
    if (in.op == CoreOp::kStore) return true;
    if (in.rounding != CoreRounding::kNone) rounded = in.rounding == CoreRounding::kBF16;
    is_rounded_ = rounded;
    if (in.out != CoreInstruction::kNone) slot_is_rounded_[in.out] = rounded;
    return true;
  }
  // Emits the instruction that computes the VM's last result.
  bool EmitResult(CoreInstruction in, bool rounded = false) {
    last_ = core_.program.code_count;
    holds_last_ = true;
    return Emit(in, rounded);
  }
  bool Fetch(uint8_t slot) {
    holds_last_ = false;
    return Emit({.op = CoreOp::kFetch, .b = slot}, slot_is_rounded_[slot]);
  }
  // Returns a slot that holds the VM's last result.
  uint8_t SlotOfLast() {
    if (last_ < 0) return Scratch(0);  // Nobody reads it.
    CoreInstruction& definition = core_.program.code[last_];
    if (definition.out == CoreInstruction::kNone) {
      definition.out = Scratch(0);
      slot_is_rounded_[definition.out] = last_is_rounded_;
    }
    return definition.out;
  }
  uint8_t SlotOf(uint8_t operand) { return operand == kLast ? SlotOfLast() : operand; }
  // Brings an operand into the accumulator.
  bool LoadOperand(uint8_t operand) {
    if (operand == kLast && holds_last_) return true;
    return Fetch(SlotOf(operand));
  }
  bool IsRounded(uint8_t operand) const {
    return operand == kLast ? last_is_rounded_ : slot_is_rounded_[operand];
  }

  bool Translate(const VmInstruction& in) {
    if (in.op == VmOp::kStore) return Store(in);
    if (FusesRounding(in)) return true;
    if (!Result(in)) return false;
    last_is_rounded_ = is_rounded_;
    return true;
  }

  bool Store(const VmInstruction& in) {
    const bool rounded = IsRounded(in.a);
    if (!LoadOperand(in.a)) return false;
    CoreAccess& access = core_.program.accesses[in.parameter];
    access.rounded = rounded && access.memory == VmMemory::kBF16;
    RecordSize(access.memory);
    return Emit({.op = CoreOp::kStore, .parameter = in.parameter});
  }
  void RecordSize(VmMemory memory) {
    has_array_ = true;
    has_wide_ |= memory == VmMemory::k4;
    core_.is_narrow = has_array_ && !has_wide_;
  }

  // Rounding of a result that nothing else uses is part of the instruction before it.
  bool FusesRounding(const VmInstruction& in) {
    if (in.op != VmOp::kRound || in.a != kLast || !holds_last_ || last_ < 0) return false;
    const std::optional<CoreUnary> unary = UnaryOf(in);
    CoreInstruction& before = core_.program.code[last_];
    if (!unary.has_value() || before.out != CoreInstruction::kNone || before.op == CoreOp::kOther ||
        before.rounding != CoreRounding::kNone || last_ + 1 != core_.program.code_count)
      return false;
    before.rounding = unary->rounding;
    before.out = in.out;
    is_rounded_ = last_is_rounded_ = unary->rounding == CoreRounding::kBF16;
    if (in.out != CoreInstruction::kNone) slot_is_rounded_[in.out] = is_rounded_;
    return true;
  }

  bool Result(const VmInstruction& in) {
    switch (in.op) {
      case VmOp::kJump:
      case VmOp::kJumpUnless:
      case VmOp::kInside:
        return false;
      case VmOp::kLoad: {
        const VmMemory memory = core_.program.accesses[in.parameter].memory;
        RecordSize(memory);
        return EmitResult({.op = CoreOp::kLoad, .out = in.out, .parameter = in.parameter},
                          memory == VmMemory::kBF16);
      }
      case VmOp::kIota:
        if (in.type > VmType::kU32 && in.type != VmType::kF32) return false;
        return EmitResult({.op = CoreOp::kIota,
                           .out = in.out,
                           .b = static_cast<uint8_t>(in.type),
                           .parameter = in.parameter});
      case VmOp::kConstant: {
        if (in.parameter >= CoreProgram::kConstants) return false;
        const uint32_t bits = vm_.constants[in.parameter][0];
        core_.program.constants[in.parameter] = bits;
        core_.constant_count = std::max(core_.constant_count, in.parameter + 1);
        return EmitResult({.op = CoreOp::kConstant, .out = in.out, .parameter = in.parameter},
                          (bits & 0xffffu) == 0);
      }
      case VmOp::kSelect:
        return Three(CoreOp::kSelect, in, IsRounded(in.b) && IsRounded(in.c));
      case VmOp::kClamp:
        if (in.type != VmType::kF32) return Other(in);
        return Three(CoreOp::kClampF, in, IsRounded(in.a) && IsRounded(in.b) && IsRounded(in.c));
      default:
        break;
    }
    if (const std::optional<CoreUnary> unary = UnaryOf(in); unary.has_value()) return Unary(*unary, in);
    if (const std::optional<CoreBinary> binary = BinaryOf(in); binary.has_value()) return Binary(*binary, in);
    return Other(in);
  }

  bool Unary(const CoreUnary& unary, const VmInstruction& in) {
    core_.needs_all |= unary.op >= CoreOp::kExponentialF && unary.op <= CoreOp::kTanhF;
    const bool rounded = IsRounded(in.a) && KeepsRounding(unary.op);
    if (!LoadOperand(in.a)) return false;
    return EmitResult(
        {.op = unary.op, .rounding = unary.rounding, .out = in.out, .parameter = unary.parameter}, rounded);
  }

  bool Binary(const CoreBinary& binary, const VmInstruction& in) {
    const bool rounded = IsRounded(in.a) && IsRounded(in.b) && KeepsRounding(binary.op);
    const bool takes_last = in.b == kLast && in.a != kLast && holds_last_;
    if (takes_last && binary.reversed.has_value())
      return EmitResult({.op = *binary.reversed, .out = in.out, .b = in.a}, rounded);
    const uint8_t second = SlotOf(in.b);
    if (!LoadOperand(in.a)) return false;
    return EmitResult({.op = binary.op, .out = in.out, .b = second}, rounded);
  }

  bool Three(CoreOp op, const VmInstruction& in, bool rounded) {
    const auto register_of = [&](uint8_t operand) {
      return operand == kLast && holds_last_ ? CoreInstruction::kAccumulator : SlotOf(operand);
    };
    return EmitResult(
        {.op = op, .out = in.out, .a = register_of(in.a), .b = register_of(in.b), .c = register_of(in.c)},
        rounded);
  }

  bool Other(const VmInstruction& in) {
    if (in.type == VmType::kI64 || in.type == VmType::kU64 || in.type >= VmType::kF64) return false;
    if (core_.other_count == CoreProgram::kOthers) return false;
    core_.needs_calls = true;
    core_.program.others[core_.other_count] = {in.op, in.type, in.parameter};
    const uint8_t a = SlotOf(in.a), b = SlotOf(in.b), c = SlotOf(in.c);
    // Rounding would replace the payloads of NaNs.
    const bool rounded = in.op == VmOp::kBF16OfBits;
    return EmitResult({.op = CoreOp::kOther,
                       .out = in.out == VmInstruction::kNone ? Scratch(1) : in.out,
                       .a = a,
                       .b = b,
                       .c = c,
                       .parameter = static_cast<uint16_t>(core_.other_count++)},
                      rounded);
  }

  const VmProgram& vm_;
  CoreTemplate core_;
  int slot_count_;
  std::vector<uint8_t> scratch_;
  int last_ = -1;            // The instruction that computes the VM's last result.
  bool holds_last_ = false;  // The accumulator holds that result.
  // The accumulator, the last result and the slots hold values that are representable in bf16.
  bool is_rounded_ = false, last_is_rounded_ = false;
  std::array<bool, 256> slot_is_rounded_ = {};
  bool has_array_ = false, has_wide_ = false;
};

template <class Kernel>
absl::Status LaunchOf(const CoreProgram& program, size_t shared_bytes, device::Stream stream) {
  const uint32_t blocks = CeilDiv(program.position_count, Kernel::kPerBlock);
  return Launch<Kernel>({{blocks}, Kernel::kThreads, shared_bytes}, program, stream);
}

}  // namespace

std::optional<CoreTemplate> LowerCore(const VmTemplate& made, absl::Span<const int> ends) {
  if (made.words != 1) return std::nullopt;
  return CoreLowering(made).Run(ends);
}

std::optional<CoreChoice> ChooseCore(const CoreTemplate& core, const device::DeviceProperties& device) {
  // Few positions are spread over many threads; the slots of a block leave room for several blocks.
  constexpr uint32_t kFewPositions = 1 << 18;
  constexpr int64_t kMaxBytes = 56 << 10;
  const auto bytes = [&](int vectors) {
    return static_cast<int64_t>(CoreVm4::kSlotBytes) * vectors * core.slot_count;
  };
  int vectors = core.program.position_count < kFewPositions ? 1 : core.is_narrow && !core.needs_all ? 4 : 2;
  while (vectors > 1 && bytes(vectors) > kMaxBytes) vectors /= 2;
  if (bytes(vectors) > device.shared_bytes_per_block) return std::nullopt;
  return CoreChoice{vectors, static_cast<size_t>(bytes(vectors))};
}

std::vector<CoreStartPointer> CoreStartPointers(const VmTemplate& made) {
  std::vector<CoreStartPointer> pointers;
  for (int a = 0; a < made.program.access_count; ++a) {
    for (int s = 0; s < made.program.start_count; ++s) {
      const VmStart& start = made.program.starts[s];
      if (start.access == a) pointers.push_back({made.start_arguments[s], start.offset * start.byte_count});
    }
  }
  return pointers;
}

void SetCorePointer(void* data, const int64_t* strides, int rank, CoreAccess& access) {
  access.data = data;
  const auto size = static_cast<int64_t>(CoreSize(access.memory));
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)) + access.offset * size;
  access.vectors = first % (size * kCoreWidth) == 0 &&
                   (access.kind != CoreKind::kRuns ||
                    std::all_of(strides, strides + rank - 1, [](int64_t s) { return s % kCoreWidth == 0; }));
}

void SetCorePointers(const VmTemplate& made, void* const* pointers, CoreProgram& program) {
  for (size_t a = 0; a < made.access_arguments.size(); ++a) {
    const int32_t argument = made.access_arguments[a];
    CoreAccess& access = program.accesses[a];
    SetCorePointer(argument < 0 ? nullptr : pointers[argument], program.strides + access.strides,
                   program.rank, access);
  }
  const std::vector<CoreStartPointer> starts = CoreStartPointers(made);
  for (size_t s = 0; s < starts.size(); ++s)
    program.starts[s].data =
        static_cast<const std::byte*>(pointers[starts[s].argument]) + starts[s].byte_offset;
}

absl::Status LaunchCore(const CoreTemplate& core, const CoreChoice& choice, const CoreProgram& program,
                        device::Stream stream) {
  if (core.needs_all) {
    return choice.vectors == 1 ? LaunchOf<WideCoreVm4>(program, choice.shared_bytes, stream)
                               : LaunchOf<WideCoreVm8>(program, choice.shared_bytes, stream);
  }
  switch (choice.vectors) {
    case 1:
      return LaunchOf<CoreVm4>(program, choice.shared_bytes, stream);
    case 2:
      return LaunchOf<CoreVm8>(program, choice.shared_bytes, stream);
    default:
      return LaunchOf<CoreVm16>(program, choice.shared_bytes, stream);
  }
}

}  // namespace hlo::cuda
