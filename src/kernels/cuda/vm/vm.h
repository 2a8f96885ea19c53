#pragma once
// The virtual machine (VM) for fused elementwise code on the GPU: every thread interprets a short bytecode
// program on its own values. vm_scalar.h defines the instructions for one element, vm_memory_body.h loads and
// stores, vm_body.h the interpreter loop.

#include <cstdint>

#include "hlo_run/element_type.h"
#include "kernels/cuda/intrinsics/fast_div.h"
#include "kernels/cuda/intrinsics/portable.h"

namespace hlo::cuda {

// Compute types. Narrower integers are sign- or zero-extended to 32 bits and truncated after operations that
// may overflow; pred is 0 or 1; floats of 16 bits and fewer are rounded f32.
enum class VmType : uint8_t { kI32, kU32, kI64, kU64, kF32, kF64, kC64, kC128 };

enum class VmOp : uint8_t {
// The scalar opcodes: the operations of types/scalar_ops.h.
#define HLO_SCALAR_OP(name, ...) k##name,
#include "hlo_run/opcodes.def"
  // Comparisons of operands of the instruction's type; the result is 0 or 1.
  kEq,
  kNe,
  kGe,
  kGt,
  kLe,
  kLt,
  kTotalOrder,  // Floats only: maps to an integer with the same total order.
  kNotPred,
  kSelect,           // Operand a is the pred.
  kConvert,          // parameter: the VmType of the result; bits of an integer result << 8.
  kCut,              // Truncates integers to `parameter` bits, sign- or zero-extended.
  kRound,            // Rounds f32 to the ElementType `parameter`.
  kRoundFromF64,     // Rounds f64 to the ElementType `parameter` in one rounding, as f32.
  kReducePrecision,  // parameter: exponent bits << 8 | mantissa bits.
  kStochastic,       // Floats and random bits to integers; parameter: result bits << 8 | random bits.
  kBitsOfBF16,       // Bit casts between bf16 (as f32) and integers.
  kBF16OfBits,
  kCopy,
  kLoad,        // parameter: access number.
  kStore,       // Stores operand a.
  kIota,        // Loads the offset that the access computes.
  kInside,      // True if no edge of the access is out of bounds.
  kConstant,    // parameter: constant number.
  kJump,        // parameter: target instruction. Programs with jumps process one position at a time.
  kJumpUnless,  // Jumps if operand a (pred) is false.
};

// Slots store values between instructions; kLast is the result of the previous instruction. A result with
// slot kNone is used only by the next instruction.
struct VmInstruction {
  VmOp op;
  VmType type;  // Type of the operands.
  uint8_t out = kNone, a = kLast, b = kLast, c = kLast;
  uint16_t parameter = 0;

  static constexpr uint8_t kLast = 255, kNone = 255, kMaxSlots = 250;
};

// Memory representation of an element.
enum class VmMemory : uint8_t { kU8, kS8, kU16, kS16, k4, k8, k16, kBF16, kF16, kSmallFloat };

constexpr int kVmDims = 8;
// The element at position (i0, i1, ...) of the loop: data[offset + starts + sum i * stride].
struct VmAccess {
  void* data = nullptr;
  int64_t offset = 0;
  int64_t stride[kVmDims] = {};
  VmMemory memory = VmMemory::k4;
  ElementType type = ElementType::kPred;  // The type of a kSmallFloat.
  bool is_dense = false;                  // The element is at offset + starts + linear position.
  bool has_starts = false, has_edges = false, drops = false;
  bool starts_move = false;       // The starts depend on the position.
  const void* outside = nullptr;  // The value out of bounds; nullptr: zeros.
  int32_t next = -1;              // Access that provides the value out of bounds; -1: none.

  // True if adjacent positions access adjacent elements.
  HLO_DEVICE bool IsRun() const { return is_dense && !has_edges && !starts_move; }
};
// A dynamic start index: clamped to [0, max] and multiplied by the stride, it is added to the offset of an
// access. It is loaded from offset + sum of i * position_stride.
struct VmStart {
  const void* data = nullptr;
  int64_t max = 0, stride = 0;
  uint16_t access = 0;
  uint8_t byte_count = 0;
  bool is_signed = false, moves = false;
  int64_t offset = 0;
  int64_t position_stride[kVmDims] = {};
};
// A bounds test; see loops::Edge.
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
  FastDiv dims[kVmDims];  // Outermost first.
  uint64_t wide_dims[kVmDims];
  uint64_t position_count;
  int32_t rank, code_count, access_count, start_count, edge_count, slot_count;
};

}  // namespace hlo::cuda
