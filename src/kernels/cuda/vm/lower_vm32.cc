#include "kernels/cuda/vm/lower_vm32.h"

#include <algorithm>
#include <array>

#include "base/arithmetic.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/vm/vm32_body.h"

namespace hlo::cuda {
namespace {

constexpr uint8_t kLast = VmInstruction::kLast;

// A binary instruction. `reversed` computes y op x; it is the same for commutative instructions.
struct Vm32Binary {
  Vm32Op op;
  std::optional<Vm32Op> reversed;
};

std::optional<Vm32Binary> FloatBinary(VmOp op) {
  const auto commutative = [](Vm32Op both) { return Vm32Binary{both, both}; };
  switch (op) {
    case VmOp::kAdd:
      return commutative(Vm32Op::kAddF);
    case VmOp::kSubtract:
      return Vm32Binary{Vm32Op::kSubtractF, Vm32Op::kSubtractReversedF};
    case VmOp::kMultiply:
      return commutative(Vm32Op::kMultiplyF);
    case VmOp::kDivide:
      return Vm32Binary{Vm32Op::kDivideF, Vm32Op::kDivideReversedF};
    case VmOp::kMaximum:
      return commutative(Vm32Op::kMaximumF);
    case VmOp::kMinimum:
      return commutative(Vm32Op::kMinimumF);
    case VmOp::kEq:
      return commutative(Vm32Op::kEqF);
    case VmOp::kNe:
      return commutative(Vm32Op::kNeF);
    case VmOp::kGe:
      return Vm32Binary{Vm32Op::kGeF, Vm32Op::kLeF};
    case VmOp::kGt:
      return Vm32Binary{Vm32Op::kGtF, Vm32Op::kLtF};
    case VmOp::kLe:
      return Vm32Binary{Vm32Op::kLeF, Vm32Op::kGeF};
    case VmOp::kLt:
      return Vm32Binary{Vm32Op::kLtF, Vm32Op::kGtF};
    default:
      return std::nullopt;
  }
}

std::optional<Vm32Binary> IntegerBinary(VmOp op, bool is_signed, int bits) {
  const auto commutative = [](Vm32Op both) { return Vm32Binary{both, both}; };
  const auto by_sign = [&](Vm32Op of_signed, Vm32Op of_unsigned) {
    return is_signed ? of_signed : of_unsigned;
  };
  switch (op) {
    case VmOp::kAdd:
      return commutative(Vm32Op::kAddI);
    case VmOp::kSubtract:
      return Vm32Binary{Vm32Op::kSubtractI, Vm32Op::kSubtractReversedI};
    case VmOp::kMultiply:
      return commutative(Vm32Op::kMultiplyI);
    case VmOp::kAnd:
      return commutative(Vm32Op::kAnd);
    case VmOp::kOr:
      return commutative(Vm32Op::kOr);
    case VmOp::kXor:
      return commutative(Vm32Op::kXor);
    case VmOp::kMaximum:
      return commutative(by_sign(Vm32Op::kMaximumS, Vm32Op::kMaximumU));
    case VmOp::kMinimum:
      return commutative(by_sign(Vm32Op::kMinimumS, Vm32Op::kMinimumU));
    case VmOp::kEq:
      return commutative(Vm32Op::kEqI);
    case VmOp::kNe:
      return commutative(Vm32Op::kNeI);
    case VmOp::kGe:
      return Vm32Binary{by_sign(Vm32Op::kGeS, Vm32Op::kGeU), by_sign(Vm32Op::kLeS, Vm32Op::kLeU)};
    case VmOp::kGt:
      return Vm32Binary{by_sign(Vm32Op::kGtS, Vm32Op::kGtU), by_sign(Vm32Op::kLtS, Vm32Op::kLtU)};
    case VmOp::kLe:
      return Vm32Binary{by_sign(Vm32Op::kLeS, Vm32Op::kLeU), by_sign(Vm32Op::kGeS, Vm32Op::kGeU)};
    case VmOp::kLt:
      return Vm32Binary{by_sign(Vm32Op::kLtS, Vm32Op::kLtU), by_sign(Vm32Op::kGtS, Vm32Op::kGtU)};
    case VmOp::kShiftLeft:
      if (bits != 32) return std::nullopt;
      return Vm32Binary{Vm32Op::kShiftLeft, std::nullopt};
    case VmOp::kShiftRightLogical:
      if (bits != 32) return std::nullopt;
      return Vm32Binary{Vm32Op::kShiftRightLogical, std::nullopt};
    case VmOp::kShiftRightArithmetic:
      if (bits != 32) return std::nullopt;
      return Vm32Binary{Vm32Op::kShiftRightArithmetic, std::nullopt};
    default:
      return std::nullopt;
  }
}

std::optional<Vm32Binary> BinaryOf(const VmInstruction& in) {
  if (in.type == VmType::kF32) return FloatBinary(in.op);
  return IntegerBinary(in.op, in.type == VmType::kI32, in.parameter);
}

// An instruction on the accumulator alone, with its parameter.
struct Vm32Unary {
  Vm32Op op;
  uint16_t parameter = 0;
  Vm32Rounding rounding = Vm32Rounding::kNone;
};

std::optional<Vm32Unary> ConversionOf(const VmInstruction& in) {
  const auto to = static_cast<VmType>(in.parameter & 0xff);
  const int bits = in.parameter >> 8;
  const bool from_float = in.type == VmType::kF32, to_float = to == VmType::kF32;
  if (from_float && to_float) return Vm32Unary{Vm32Op::kKeep};
  if (to_float) return Vm32Unary{in.type == VmType::kI32 ? Vm32Op::kFloatOfS : Vm32Op::kFloatOfU};
  if (!from_float) return Vm32Unary{Vm32Op::kKeep};
  if (bits != 32) return std::nullopt;
  return Vm32Unary{to == VmType::kI32 ? Vm32Op::kSignedOfF : Vm32Op::kUnsignedOfF};
}

std::optional<Vm32Unary> UnaryOf(const VmInstruction& in) {
  const bool is_float = in.type == VmType::kF32;
  switch (in.op) {
    case VmOp::kNegate:
      return Vm32Unary{is_float ? Vm32Op::kNegateF : Vm32Op::kNegateI};
    case VmOp::kAbs:
      if (!is_float) return std::nullopt;
      return Vm32Unary{Vm32Op::kAbsF};
    case VmOp::kSqrt:
      return Vm32Unary{Vm32Op::kSqrtF};
    case VmOp::kExponential:
      return Vm32Unary{Vm32Op::kExponentialF};
    case VmOp::kLog:
      return Vm32Unary{Vm32Op::kLogF};
    case VmOp::kLogistic:
      return Vm32Unary{Vm32Op::kLogisticF};
    case VmOp::kRsqrt:
      return Vm32Unary{Vm32Op::kRsqrtF};
    case VmOp::kTanh:
      return Vm32Unary{Vm32Op::kTanhF};
    case VmOp::kNot:
      return Vm32Unary{Vm32Op::kNot};
    case VmOp::kNotPred:
      return Vm32Unary{Vm32Op::kNotPred};
    case VmOp::kCut:
      return Vm32Unary{in.type == VmType::kI32 ? Vm32Op::kSignExtend : Vm32Op::kZeroExtend,
                       static_cast<uint16_t>(32 - in.parameter)};
    case VmOp::kConvert:
      return ConversionOf(in);
    case VmOp::kCopy:
      return Vm32Unary{Vm32Op::kKeep};
    case VmOp::kRound:
      if (static_cast<ElementType>(in.parameter) == ElementType::kBF16)
        return Vm32Unary{Vm32Op::kKeep, 0, Vm32Rounding::kBF16};
      if (static_cast<ElementType>(in.parameter) == ElementType::kF16)
        return Vm32Unary{Vm32Op::kKeep, 0, Vm32Rounding::kF16};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Instructions whose results are representable in bf16 if their operands are.
bool KeepsRounding(Vm32Op op) {
  return op == Vm32Op::kKeep || op == Vm32Op::kFetch || op == Vm32Op::kMaximumF || op == Vm32Op::kMinimumF ||
         op == Vm32Op::kClampF || op == Vm32Op::kNegateF || op == Vm32Op::kAbsF || op == Vm32Op::kSelect;
}

class Vm32Lowering {
 public:
  explicit Vm32Lowering(const VmTemplate& made) : vm_(made.program), slot_count_(made.program.slot_count) {}

  std::optional<Vm32Template> Run(absl::Span<const int> ends) {
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
    if (slot_count_ > Vm32Instruction::kMaxSlots) return std::nullopt;
    core_.slot_count = slot_count_;
    core_.needs_all |= core_.needs_calls;
    return core_;
  }

 private:
  bool SupportsAccesses() {
    if (vm_.access_count > Vm32Program::kAccesses || vm_.start_count > Vm32Program::kStarts) return false;
    int start_count = 0;
    for (int k = 0; k < vm_.access_count; ++k) {
      const VmAccess& from = vm_.accesses[k];
      if (from.has_edges || from.starts_move || from.next >= 0 || from.memory == VmMemory::kSmallFloat ||
          from.memory == VmMemory::k8 || from.memory == VmMemory::k16)
        return false;
      Vm32Access& to = core_.program.accesses[k];
      to.offset = from.offset;
      to.memory = from.memory;
      to.drops = from.drops;
      to.kind = KindOf(from);
      core_.needs_calls |= to.kind == Vm32Kind::kStrided;
      if (to.kind >= Vm32Kind::kRuns) {
        if (core_.stride_count + vm_.rank > Vm32Program::kStrides) return false;
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

  Vm32Kind KindOf(const VmAccess& access) const {
    if (access.is_dense) return Vm32Kind::kDense;
    const int last = vm_.rank - 1;
    const bool is_flat = std::all_of(access.stride, access.stride + last, [](int64_t s) { return s == 0; });
    if (is_flat && access.stride[last] == 0) return Vm32Kind::kScalar;
    if (vm_.dims[last].divisor % kVm32Width != 0) return Vm32Kind::kStrided;
    if (access.stride[last] == 1) return is_flat ? Vm32Kind::kLast : Vm32Kind::kRuns;
    return access.stride[last] == 0 ? Vm32Kind::kRows : Vm32Kind::kStrided;
  }

  uint8_t NewSlot() { return static_cast<uint8_t>(std::min<int>(slot_count_++, Vm32Instruction::kMaxSlots)); }
  // Returns a slot that holds a temporary value for one instruction.
  uint8_t Scratch(int number) {
    while (static_cast<int>(scratch_.size()) <= number) scratch_.push_back(NewSlot());
    return scratch_[number];
  }

  bool Emit(Vm32Instruction in, bool rounded = false) {
    if (core_.program.code_count == Vm32Program::kCode) return false;
    core_.program.code[core_.program.code_count++] = in;
    if (in.op == Vm32Op::kStore) return true;
    if (in.rounding != Vm32Rounding::kNone) rounded = in.rounding == Vm32Rounding::kBF16;
    is_rounded_ = rounded;
    if (in.out != Vm32Instruction::kNone) slot_is_rounded_[in.out] = rounded;
    return true;
  }
  // Emits the instruction that computes the VM's last result.
  bool EmitResult(Vm32Instruction in, bool rounded = false) {
    last_ = core_.program.code_count;
    holds_last_ = true;
    return Emit(in, rounded);
  }
  bool Fetch(uint8_t slot) {
    holds_last_ = false;
    return Emit({.op = Vm32Op::kFetch, .b = slot}, slot_is_rounded_[slot]);
  }
  // Returns a slot that holds the VM's last result.
  uint8_t SlotOfLast() {
    if (last_ < 0) return Scratch(0);  // Nobody reads it.
    Vm32Instruction& definition = core_.program.code[last_];
    if (definition.out == Vm32Instruction::kNone) {
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
    Vm32Access& access = core_.program.accesses[in.parameter];
    access.rounded = rounded && access.memory == VmMemory::kBF16;
    RecordSize(access.memory);
    return Emit({.op = Vm32Op::kStore, .parameter = in.parameter});
  }
  void RecordSize(VmMemory memory) {
    has_array_ = true;
    has_wide_ |= memory == VmMemory::k4;
    core_.is_narrow = has_array_ && !has_wide_;
  }

  // Rounding of a result that nothing else uses is part of the instruction before it.
  bool FusesRounding(const VmInstruction& in) {
    if (in.op != VmOp::kRound || in.a != kLast || !holds_last_ || last_ < 0) return false;
    const std::optional<Vm32Unary> unary = UnaryOf(in);
    Vm32Instruction& before = core_.program.code[last_];
    if (!unary.has_value() || before.out != Vm32Instruction::kNone || before.op == Vm32Op::kOther ||
        before.rounding != Vm32Rounding::kNone || last_ + 1 != core_.program.code_count)
      return false;
    before.rounding = unary->rounding;
    before.out = in.out;
    is_rounded_ = last_is_rounded_ = unary->rounding == Vm32Rounding::kBF16;
    if (in.out != Vm32Instruction::kNone) slot_is_rounded_[in.out] = is_rounded_;
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
        return EmitResult({.op = Vm32Op::kLoad, .out = in.out, .parameter = in.parameter},
                          memory == VmMemory::kBF16);
      }
      case VmOp::kIota:
        if (in.type > VmType::kU32 && in.type != VmType::kF32) return false;
        return EmitResult({.op = Vm32Op::kIota,
                           .out = in.out,
                           .b = static_cast<uint8_t>(in.type),
                           .parameter = in.parameter});
      case VmOp::kConstant: {
        if (in.parameter >= Vm32Program::kConstants) return false;
        const uint32_t bits = vm_.constants[in.parameter][0];
        core_.program.constants[in.parameter] = bits;
        core_.constant_count = std::max(core_.constant_count, in.parameter + 1);
        return EmitResult({.op = Vm32Op::kConstant, .out = in.out, .parameter = in.parameter},
                          (bits & 0xffffu) == 0);
      }
      case VmOp::kSelect:
        return Three(Vm32Op::kSelect, in, IsRounded(in.b) && IsRounded(in.c));
      case VmOp::kClamp:
        if (in.type != VmType::kF32) return Other(in);
        return Three(Vm32Op::kClampF, in, IsRounded(in.a) && IsRounded(in.b) && IsRounded(in.c));
      default:
        break;
    }
    if (const std::optional<Vm32Unary> unary = UnaryOf(in); unary.has_value()) return Unary(*unary, in);
    if (const std::optional<Vm32Binary> binary = BinaryOf(in); binary.has_value()) return Binary(*binary, in);
    return Other(in);
  }

  bool Unary(const Vm32Unary& unary, const VmInstruction& in) {
    core_.needs_all |= unary.op >= Vm32Op::kExponentialF && unary.op <= Vm32Op::kTanhF;
    const bool rounded = IsRounded(in.a) && KeepsRounding(unary.op);
    if (!LoadOperand(in.a)) return false;
    return EmitResult(
        {.op = unary.op, .rounding = unary.rounding, .out = in.out, .parameter = unary.parameter}, rounded);
  }

  bool Binary(const Vm32Binary& binary, const VmInstruction& in) {
    const bool rounded = IsRounded(in.a) && IsRounded(in.b) && KeepsRounding(binary.op);
    const bool takes_last = in.b == kLast && in.a != kLast && holds_last_;
    if (takes_last && binary.reversed.has_value())
      return EmitResult({.op = *binary.reversed, .out = in.out, .b = in.a}, rounded);
    const uint8_t second = SlotOf(in.b);
    if (!LoadOperand(in.a)) return false;
    return EmitResult({.op = binary.op, .out = in.out, .b = second}, rounded);
  }

  bool Three(Vm32Op op, const VmInstruction& in, bool rounded) {
    const auto register_of = [&](uint8_t operand) {
      return operand == kLast && holds_last_ ? Vm32Instruction::kAccumulator : SlotOf(operand);
    };
    return EmitResult(
        {.op = op, .out = in.out, .a = register_of(in.a), .b = register_of(in.b), .c = register_of(in.c)},
        rounded);
  }

  bool Other(const VmInstruction& in) {
    if (in.type == VmType::kI64 || in.type == VmType::kU64 || in.type >= VmType::kF64) return false;
    if (core_.other_count == Vm32Program::kOthers) return false;
    core_.needs_calls = true;
    core_.program.others[core_.other_count] = {in.op, in.type, in.parameter};
    const uint8_t a = SlotOf(in.a), b = SlotOf(in.b), c = SlotOf(in.c);
    // Rounding would replace the payloads of NaNs.
    const bool rounded = in.op == VmOp::kBF16OfBits;
    return EmitResult({.op = Vm32Op::kOther,
                       .out = in.out == VmInstruction::kNone ? Scratch(1) : in.out,
                       .a = a,
                       .b = b,
                       .c = c,
                       .parameter = static_cast<uint16_t>(core_.other_count++)},
                      rounded);
  }

  const VmProgram& vm_;
  Vm32Template core_;
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
absl::Status LaunchOf(const Vm32Program& program, size_t shared_bytes, device::Stream stream) {
  const uint32_t blocks = CeilDiv(program.position_count, Kernel::kPerBlock);
  return Launch<Kernel>({{blocks}, Kernel::kThreads, shared_bytes}, program, stream);
}

}  // namespace

std::optional<Vm32Template> LowerVm32(const VmTemplate& made, absl::Span<const int> ends) {
  if (made.words != 1) return std::nullopt;
  return Vm32Lowering(made).Run(ends);
}

std::optional<Vm32Choice> ChooseVm32(const Vm32Template& vm32, const device::DeviceProperties& device) {
  // Few positions are spread over many threads; the slots of a block leave room for several blocks.
  constexpr uint32_t kFewPositions = 1 << 18;
  constexpr int64_t kMaxBytes = 56 << 10;
  const auto bytes = [&](int vectors) {
    return static_cast<int64_t>(Vm32Kernel4::kSlotBytes) * vectors * vm32.slot_count;
  };
  int vectors = vm32.program.position_count < kFewPositions ? 1 : vm32.is_narrow && !vm32.needs_all ? 4 : 2;
  while (vectors > 1 && bytes(vectors) > kMaxBytes) vectors /= 2;
  if (bytes(vectors) > device.shared_bytes_per_block) return std::nullopt;
  return Vm32Choice{vectors, static_cast<size_t>(bytes(vectors))};
}

std::vector<Vm32StartPointer> Vm32StartPointers(const VmTemplate& made) {
  std::vector<Vm32StartPointer> pointers;
  for (int a = 0; a < made.program.access_count; ++a) {
    for (int s = 0; s < made.program.start_count; ++s) {
      const VmStart& start = made.program.starts[s];
      if (start.access == a) pointers.push_back({made.start_arguments[s], start.offset * start.byte_count});
    }
  }
  return pointers;
}

void SetVm32Pointer(void* data, const int64_t* strides, int rank, Vm32Access& access) {
  access.data = data;
  const auto size = static_cast<int64_t>(Vm32Size(access.memory));
  const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)) + access.offset * size;
  access.vectors = first % (size * kVm32Width) == 0 &&
                   (access.kind != Vm32Kind::kRuns ||
                    std::all_of(strides, strides + rank - 1, [](int64_t s) { return s % kVm32Width == 0; }));
}

void SetVm32Pointers(const VmTemplate& made, void* const* pointers, Vm32Program& program) {
  for (size_t a = 0; a < made.access_arguments.size(); ++a) {
    const int32_t argument = made.access_arguments[a];
    Vm32Access& access = program.accesses[a];
    SetVm32Pointer(argument < 0 ? nullptr : pointers[argument], program.strides + access.strides,
                   program.rank, access);
  }
  const std::vector<Vm32StartPointer> starts = Vm32StartPointers(made);
  for (size_t s = 0; s < starts.size(); ++s)
    program.starts[s].data =
        static_cast<const std::byte*>(pointers[starts[s].argument]) + starts[s].byte_offset;
}

absl::Status LaunchVm32(const Vm32Template& vm32, const Vm32Choice& choice, const Vm32Program& program,
                        device::Stream stream) {
  if (vm32.needs_all) {
    return choice.vectors == 1 ? LaunchOf<WideVm32Kernel4>(program, choice.shared_bytes, stream)
                               : LaunchOf<WideVm32Kernel8>(program, choice.shared_bytes, stream);
  }
  switch (choice.vectors) {
    case 1:
      return LaunchOf<Vm32Kernel4>(program, choice.shared_bytes, stream);
    case 2:
      return LaunchOf<Vm32Kernel8>(program, choice.shared_bytes, stream);
    default:
      return LaunchOf<Vm32Kernel16>(program, choice.shared_bytes, stream);
  }
}

}  // namespace hlo::cuda
