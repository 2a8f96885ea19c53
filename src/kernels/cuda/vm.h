#pragma once
// The machine for elementwise code on the GPU: a program of a few bytes an instruction that every thread runs
// on values of its own. What an instruction means for one element: vm_scalar.h; the loop around it:
// vm_body.h.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/fast_div.h"
#include "kernels/cuda/portable.h"

namespace hlo::cuda {

// What values are computed in. Narrower integers are kept with their sign or zeros in 32 bits, and cut after
// what may leave their range; pred is 0 or 1; floats of 16 bits and fewer are f32, rounded.
enum class VmType : uint8_t { kI32, kU32, kI64, kU64, kF32, kF64, kC64, kC128 };

// Operations of scalar_ops.h, by their names.
#define HLO_VM_OPERATIONS(X)                                                                                 \
  X(Add)                                                                                                     \
  X(Subtract)                                                                                                \
  X(Multiply)                                                                                                \
  X(Divide) X(Remainder) X(Maximum) X(Minimum) X(Power) X(Atan2) X(And) X(Or) X(Xor) X(ShiftLeft)            \
      X(ShiftRightLogical) X(ShiftRightArithmetic) X(Mulhi) X(Not) X(Negate) X(Abs) X(Sign) X(Popcnt)        \
          X(CountLeadingZeros) X(Floor) X(Ceil) X(RoundNearestAfz) X(RoundNearestEven) X(Sqrt) X(Rsqrt)      \
              X(Cbrt) X(Exponential) X(ExponentialMinusOne) X(Exp2) X(Log) X(LogPlusOne) X(Log2) X(Logistic) \
                  X(Sine) X(Cosine) X(Tan) X(Sinh) X(Cosh) X(Tanh) X(Asin) X(Acos) X(Asinh) X(Acosh)         \
                      X(Atanh) X(Erf) X(Clamp) X(IsFinite) X(Real) X(Imag) X(Complex)

enum class VmOp : uint8_t {
#define HLO_VM_OPERATION(name) k##name,
  HLO_VM_OPERATIONS(HLO_VM_OPERATION)
#undef HLO_VM_OPERATION
  // Of operands of the instruction's type; the result is 0 or 1.
  kEq,
  kNe,
  kGe,
  kGt,
  kLe,
  kLt,
  kTotalOrder,  // Floats only: the integer in whose order they come.
  kNotPred,
  kSelect,           // a: pred.
  kConvert,          // parameter: the VmType of the result; bits of an integer result << 8.
  kCut,              // Integers: to `parameter` bits, with their sign.
  kRound,            // f32: to the ElementType `parameter`.
  kRoundFromF64,     // The same, from f64 to f32 in one rounding.
  kReducePrecision,  // parameter: exponent bits << 8 | mantissa bits.
  kStochastic,       // Floats and random bits to integers; parameter: bits of these << 8 | random bits.
  kBitsOfBF16,       // f32 that a bf16 holds to its bits, and back.
  kBF16OfBits,
  kCopy,
  kLoad,        // parameter: which access.
  kStore,       // Of a, to the access.
  kIota,        // The place that the access gives.
  kInside,      // Whether all edges of the access have an element there.
  kConstant,    // parameter: which constant.
  kJump,        // parameter: the instruction that comes next. Programs that jump run one position at a time.
  kJumpUnless,  // The same where a, a pred, does not hold.
};

// Slots hold values between instructions; kLast is the result of the instruction before, and kNone goes
// nowhere else.
struct VmInstruction {
  VmOp op;
  VmType type;  // Of the operands.
  uint8_t out = kNone, a = kLast, b = kLast, c = kLast;
  uint16_t parameter = 0;

  static constexpr uint8_t kLast = 255, kNone = 255, kMostSlots = 250;
};

// How an element lies in memory.
enum class VmMemory : uint8_t { kU8, kS8, kU16, kS16, k4, k8, k16, kBF16, kF16, kSmallFloat };

constexpr int kVmDims = 8;
// The element for position (i0, i1, ...) of the loop: data[offset + starts + sum i * stride].
struct VmAccess {
  void* data = nullptr;
  int64_t offset = 0;
  int64_t stride[kVmDims] = {};
  VmMemory memory = VmMemory::k4;
  ElementType type = ElementType::kPred;  // Of kSmallFloat.
  bool is_dense = false;                  // offset + starts + linear position.
  bool has_starts = false, has_edges = false, drops = false;
  bool starts_move = false;       // From position to position.
  const void* outside = nullptr;  // The element behind edges; nullptr: zeros.
  int32_t next = -1;              // Or the access whose element stands there.

  // Whether neighbours in the loop lie side by side.
  HLO_DEVICE bool IsRun() const { return is_dense && !has_edges && !starts_move; }
};
// Clamped to [0, max], times the stride; added to the place of an access. Where it lies: offset + sum of i *
// position_stride.
struct VmStart {
  const void* data = nullptr;
  int64_t max = 0, stride = 0;
  uint16_t access = 0;
  uint8_t byte_count = 0;
  bool is_signed = false, moves = false;
  int64_t offset = 0;
  int64_t position_stride[kVmDims] = {};
};
// See cpu::Edge.
struct VmEdge {
  int64_t offset = 0;
  int64_t position_stride[kVmDims] = {};
  int64_t size = 0, spacing = 1, stride = 0;
  uint16_t access = 0;
};

struct VmProgram {
  static constexpr int kCode = 256, kAccesses = 96, kStarts = 32, kEdges = 24, kConstants = 16;

  VmInstruction code[kCode];
  VmAccess accesses[kAccesses];
  VmStart starts[kStarts];
  VmEdge edges[kEdges];
  uint32_t constants[kConstants][4];
  FastDiv dims[kVmDims];  // From the outermost.
  uint64_t wide_dims[kVmDims];
  uint64_t position_count;
  int32_t rank, code_count, access_count, start_count, edge_count, slot_count;
};

}  // namespace hlo::cuda
