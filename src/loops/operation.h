#pragma once
// Elementwise operations as data. Back ends translate them: the CPU to functions on tiles, GPUs to
// instructions of a virtual machine. types/scalar_ops.h defines their meaning.

#include <cstdint>
#include <optional>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "hlo_run/opcode.h"
#include "loops/compute_type.h"

namespace hlo::loops {

struct Operation {
  enum class Kind : uint8_t {
    kNone,
    kScalar,         // The opcode, on operands of type `from`.
    kRoundedScalar,  // The same, with the result rounded to that type.
    kCompare,        // direction, total_order.
    kSelect,         // Operands: predicate, on true, on false.
    kConvert,
    kBits,             // Reinterprets the bits of type `from` as type `to`.
    kReducePrecision,  // exponent_bits, mantissa_bits.
    kRound,            // Rounds or truncates to a value that `to` can represent.
    kStochastic,       // Converts to `to` with random numbers of `random_bits`.
  };
  Kind kind = Kind::kNone;
  Opcode opcode{};
  ElementType from{}, to{};
  ComparisonDirection direction{};
  bool total_order = false;
  uint8_t exponent_bits = 0, mantissa_bits = 0, random_bits = 0;

  bool operator==(const Operation&) const = default;
};

// Each function returns nullopt if the operation is undefined for the types.

// Returns a scalar opcode on operands of type `from`, with an unrounded result (see FindRounding).
std::optional<Operation> FindScalarOperation(Opcode opcode, ElementType from);
// Returns a scalar opcode fused with the rounding of its result, for the opcodes for which that is faster.
std::optional<Operation> FindRoundedOperation(Opcode opcode, ElementType type);
std::optional<Operation> FindCompare(ComparisonDirection direction, bool total_order, ElementType from);
Operation SelectOf(ElementType type);
std::optional<Operation> FindConvert(ElementType from, ElementType to);
// The operands are floats and random unsigned integers; the result is a signed integer.
std::optional<Operation> FindStochasticConvert(ElementType from, ElementType random, ElementType to);
// Reinterprets bits as another type of the same width. Supports bf16 and types of whole bytes whose storage
// type is the compute type.
std::optional<Operation> FindBitcast(ElementType from, ElementType to);
std::optional<Operation> FindReducePrecision(ElementType type, int64_t exponent_bits, int64_t mantissa_bits);
// Rounds or truncates a lane to the type; nullopt also if that is the identity.
std::optional<Operation> FindRounding(ElementType type);

}  // namespace hlo::loops
