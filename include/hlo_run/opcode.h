#pragma once
/// \file
/// Defines the opcodes and their traits. opcodes.def has one row per opcode.

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"

#pragma GCC visibility push(default)
namespace hlo {

/// The opcodes, in the order of opcodes.def.
enum class Opcode : uint8_t {
#define HLO_OP(name, ...) k##name,
#include "hlo_run/opcodes.def"
};

inline constexpr int kOpcodeCount = 0
#define HLO_OP(name, ...) +1
#include "hlo_run/opcodes.def"
    ;

/// Traits of an opcode, a bit set.
enum OpTrait : uint32_t {
  kNone = 0,
  kElementwise = 1 << 0,   ///< Result element i depends only on operand elements i.
  kInfer = 1 << 1,         ///< The text may omit the result shape.
  kForcedShape = 1 << 2,   ///< The reader replaces a written result shape (text-format 5.1).
  kCollective = 1 << 3,    ///< Communicates between devices.
  kAsync = 1 << 4,         ///< async-start, -update or -done.
  kSideEffect = 1 << 5,    ///< Must run even if its result is unused.
  kEvenOperands = 1 << 6,  ///< Operands are k arrays followed by k more.
  kOddOperands = 1 << 7,
  kOneDimension = 1 << 8,        ///< `dimensions` has exactly one entry.
  kTranscendental = 1 << 9,      ///< `hlo-run stats` counts it as a transcendental function.
  kInexact = 1 << 10,            ///< Engines may differ by some ULP.
  kAssociative = 1 << 11,        ///< Associative and commutative up to rounding.
  kMovement = 1 << 12,           ///< The result consists of elements of the first operand.
  kForwards = 1 << 13,           ///< Result element i is element i of the first operand, possibly converted.
  kAlias = 1 << 14,              ///< The result needs no memory of its own.
  kMixesPrecision = 1 << 15,     ///< Operands may have different float types (shape-rules 3.1).
  kExactLayout = 1 << 16,        ///< The declared layout must be the inferred one.
  kExactMinorToMajor = 1 << 17,  ///< Like kExactLayout, but ignores tiles and memory spaces.
  kChangesLayout = 1 << 18,      ///< Operands and result may have different layouts (shape-rules 4.10).
  kTakesDynamicSizes = 1 << 19,  ///< The reference's function handles dynamic sizes of operands itself.
  kMovesElements = 1 << 20,      ///< Each element of the result is an element of an operand.
  kStructural = 1 << 21,   ///< Tuples, parameters, calls, loops, conditionals: forwards leaves unchanged.
  kKeepsFinite = 1 << 22,  ///< Makes no NaN or infinity from other values.
  /// An elementary function.
  kFunction = kElementwise | kInfer | kTranscendental | kInexact,
};

/// The type in which a scalar opcode is computed on operands of f32 and c64.
enum class ScalarPrecision : uint8_t {
  kNative,      ///< f32 and c64.
  kNativeReal,  ///< f32, but c128 for c64.
  kDouble,      ///< f64 and c128.
};

inline constexpr int kAny = 1 << 30;  ///< A number of operands without an upper bound.

/// An attribute that an opcode accepts or requires.
struct AttrUse {
  AttrId id;
  bool required;
};

/// The row of an opcode in opcodes.def.
struct OpcodeInfo {
  std::string_view name;
  int min_operands;
  int max_operands;
  absl::Span<const AttrUse> attributes;  ///< Attributes besides the common ones.
  std::string_view reference;            ///< The name of the reference function.
  uint32_t traits;

  bool has(OpTrait trait) const { return (traits & trait) != 0; }
};

const OpcodeInfo& Info(Opcode opcode);  ///< Returns the row of the opcode.
inline std::string_view Name(Opcode opcode) { return Info(opcode).name; }
std::optional<Opcode> ParseOpcode(std::string_view name);  ///< nullopt for an unknown name.
/// Returns the attributes that every opcode accepts.
absl::Span<const AttrId> CommonAttributes();
/// Returns the attribute with this spelling that the opcode accepts, including common ones; kNone if there is
/// none.
AttrId FindAttribute(Opcode opcode, std::string_view spelling);

}  // namespace hlo
#pragma GCC visibility pop
