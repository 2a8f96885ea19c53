#pragma once
// Which opcodes are there, and what does the reader need to know of each? Rows: opcodes.def.

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/types/span.h"
#include "hlo_run/attribute.h"

#pragma GCC visibility push(default)
namespace hlo {

enum class Opcode : uint8_t {
#define HLO_OP(name, ...) k##name,
#include "hlo_run/opcodes.def"
#undef HLO_OP
};

inline constexpr int kOpcodeCount = 0
#define HLO_OP(name, ...) +1
#include "hlo_run/opcodes.def"
#undef HLO_OP
    ;

// Traits of an opcode, a set of bits.
enum OpTrait : uint32_t {
  kNone = 0,
  kElementwise = 1 << 0,   // Result element i depends on operand elements i alone.
  kInfer = 1 << 1,         // Text may leave the result shape out.
  kForcedShape = 1 << 2,   // The reader replaces a written result shape (text-format 5.1).
  kCollective = 1 << 3,    // Communicates between devices.
  kAsync = 1 << 4,         // async-start, -update, -done.
  kSideEffect = 1 << 5,    // Must run even where nothing uses it.
  kEvenOperands = 1 << 6,  // k arrays, then k more.
  kOddOperands = 1 << 7,
  kOneDimension = 1 << 8,  // `dimensions` has exactly one entry.
};

inline constexpr int kAny = 1 << 30;

struct AttrUse {
  AttrId id;
  bool required;
};

struct OpcodeInfo {
  std::string_view name;
  int min_operands;
  int max_operands;
  absl::Span<const AttrUse> attributes;  // Beyond the common ones.
  std::string_view reference;            // The reference function's name.
  uint32_t traits;

  bool has(OpTrait trait) const { return (traits & trait) != 0; }
};

const OpcodeInfo& Info(Opcode opcode);
inline std::string_view Name(Opcode opcode) { return Info(opcode).name; }
std::optional<Opcode> ParseOpcode(std::string_view name);
// Those that every opcode accepts.
absl::Span<const AttrId> CommonAttributes();
// The attribute of this spelling that the opcode accepts, common ones included; kNone if there is none.
AttrId FindAttribute(Opcode opcode, std::string_view spelling);

}  // namespace hlo
#pragma GCC visibility pop
