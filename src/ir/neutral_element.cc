#include "ir/neutral_element.h"

#include <cmath>
#include <limits>

#include "ir/element_types.h"

namespace hlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the largest or smallest number; nullopt for types without infinities, and for integers that are
// wider than a double's significand or stored in parts of a byte.
std::optional<double> EndOfRange(ElementType type, bool largest) {
  if (IsFloat(type) && BitWidth(type) >= 16) return largest ? kInfinity : -kInfinity;
  if (!IsIntegral(type) || BitWidth(type) < 8) return std::nullopt;
  // A double does not hold the largest numbers of 64 bits.
  if (largest && BitWidth(type) > 32) return std::nullopt;
  const double top = std::ldexp(1, BitWidth(type) - (IsSigned(type) ? 1 : 0));
  if (largest) return top - 1;
  return IsSigned(type) ? -top : 0;
}

}  // namespace

std::optional<double> NeutralOf(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kAdd:
      return IsFloat(type) ? -0.0 : 0.0;
    case Opcode::kMultiply:
      return 1;
    case Opcode::kMaximum:
      return EndOfRange(type, /*largest=*/false);
    case Opcode::kMinimum:
      return EndOfRange(type, /*largest=*/true);
    case Opcode::kAnd:
      return IsPred(type) ? std::optional<double>(1) : std::nullopt;
    case Opcode::kOr:
    case Opcode::kXor:
      return IsPred(type) ? std::optional<double>(0) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace hlo
