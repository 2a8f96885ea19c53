#pragma once
// The programs of the 32-bit VM: an accumulator machine for straight-line code over values of up to 32 bits,
// which most loops run on instead of the general VM (vm.h). vm32_memory_body.h has its loads and stores,
// vm32_body.h the interpreter; lower_vm32.h translates VM programs.
//
// A thread holds several vectors of four adjacent values. Every instruction computes the accumulator, which
// stays in registers, from the accumulator and at most two slots in shared memory. Accesses are of few kinds,
// so that the elements of a vector need one address.

#include <cstdint>

#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"
#include "kernels/cuda/vm/vm.h"

namespace hlo::cuda {

enum class Vm32Op : uint8_t {
  kLoad,      // parameter: access.
  kIota,      // parameter: access; the VmType of the result in `b`.
  kStore,     // parameter: access. The accumulator does not change.
  kConstant,  // parameter: constant.
  kFetch,     // Slot b.
  kKeep,      // The accumulator itself.
  // With the accumulator x and slot y: x op y. The reversed forms compute y op x.
  kAddF,
  kSubtractF,
  kSubtractReversedF,
  kMultiplyF,
  kDivideF,
  kDivideReversedF,
  kMaximumF,
  kMinimumF,
  kEqF,
  kNeF,
  kGeF,
  kGtF,
  kLeF,
  kLtF,
  kAddI,
  kSubtractI,
  kSubtractReversedI,
  kMultiplyI,
  kAnd,
  kOr,
  kXor,
  kMaximumS,
  kMinimumS,
  kMaximumU,
  kMinimumU,
  kEqI,
  kNeI,
  kGeS,
  kGtS,
  kLeS,
  kLtS,
  kGeU,
  kGtU,
  kLeU,
  kLtU,
  kShiftLeft,  // y is the number of bits; the result is 0 from 32 on.
  kShiftRightLogical,
  kShiftRightArithmetic,  // The result is the sign from 32 bits on.
  // These have the accumulator as their operand.
  kNegateF,
  kAbsF,
  kSqrtF,
  kNegateI,
  kNot,
  kNotPred,
  kSignExtend,  // Extends the low bits of the accumulator; `parameter` is the number of the other bits.
  kZeroExtend,  // The same.
  kFloatOfS,
  kFloatOfU,
  kSignedOfF,    // Truncates and saturates to 32 bits; NaN gives 0.
  kUnsignedOfF,  // The same.
  // Functions of f32, which only some kernels have.
  kExponentialF,
  kLogF,
  kLogisticF,
  kRsqrtF,
  kTanhF,
  // These have three operands, each a slot or the accumulator.
  kSelect,
  kClampF,
  // Any other instruction of the VM on slots a, b and c; `out` is a slot. parameter: number of the
  // instruction.
  kOther,
  // Values that stay in shared memory between the parts of a row program (rows_body.h); parameter: number of
  // the value. The accumulator does not change when it is kept.
  kRowLoad,
  kRowKeep,     // The kept value has the rounding of the instruction.
  kScalarLoad,  // One value for the whole row.
  kScalarKeep,
};

// The rounding of the accumulator after an instruction.
enum class Vm32Rounding : uint8_t { kNone, kBF16, kF16 };

struct alignas(8) Vm32Instruction {
  Vm32Op op;
  Vm32Rounding rounding = Vm32Rounding::kNone;
  uint8_t out = kNone;  // The slot that receives a copy of the accumulator.
  uint8_t a = kAccumulator, b = kAccumulator, c = kAccumulator;
  uint16_t parameter = 0;

  static constexpr uint8_t kAccumulator = 255, kNone = 255, kMaxSlots = 250;
};

// The elements of an access at position p of the loop, whose innermost dimension has C positions.
enum class Vm32Kind : uint8_t {
  kDense,    // offset + p.
  kScalar,   // offset.
  kLast,     // offset + p mod C; vectors do not cross the end of the dimension.
  kRuns,     // By strides, the innermost of which is 1; vectors do not cross the end of the dimension.
  kRows,     // By strides, the innermost of which is 0; vectors do not cross the end of the dimension.
  kStrided,  // By strides.
};

struct Vm32Access {
  void* data = nullptr;
  int64_t offset = 0;
  uint16_t strides = 0;  // The first of the access's strides; one per dimension.
  Vm32Kind kind = Vm32Kind::kDense;
  VmMemory memory = VmMemory::k4;
  bool vectors : 1 = false;  // Vectors are aligned.
  bool rounded : 1 = false;  // Stored values are representable in bf16.
  bool drops : 1 = false;    // A store is skipped if a start is out of bounds.
  uint8_t start_first = 0, start_count = 0;
};

// A dynamic start index that is the same at all positions; see VmStart.
struct Vm32Start {
  const void* data = nullptr;
  int64_t max = 0, stride = 0;
  uint8_t byte_count = 0;
  bool is_signed = false;
};

struct Vm32Other {
  VmOp op;
  VmType type;
  uint16_t parameter;
};

// Launches with at most 4 KB of arguments take no longer than those with few.
struct Vm32Program {
  static constexpr int kCode = 160, kAccesses = 40, kStarts = 8, kConstants = 32, kOthers = 32,
                       kStrides = 128;

  Vm32Instruction code[kCode];
  Vm32Access accesses[kAccesses];
  Vm32Start starts[kStarts];
  int64_t strides[kStrides];
  uint32_t constants[kConstants];
  Vm32Other others[kOthers];
  FastDiv dims[kVmDims];  // Outermost first.
  uint32_t position_count;
  int16_t rank, code_count;
};
static_assert(sizeof(Vm32Program) <= 4096);

}  // namespace hlo::cuda
