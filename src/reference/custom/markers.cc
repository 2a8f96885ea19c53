// Targets that keep their operand, or say something about it (semantics 9.2).

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"

namespace hlo::reference::custom {
namespace {

const Shape& ArrayOf(const Shape& shape) { return shape.IsBuffer() ? shape.element(0) : shape; }

constexpr uint64_t kLowHalf = 0xffffffff;

// Each word of 64 bits through `half`, as 32 bits.
template <class Half>
absl::StatusOr<Literal> Halved(OpContext& context, Half&& half) {
  const Literal& operand = context.operands[0];
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  std::transform(operand.span<uint64_t>().begin(), operand.span<uint64_t>().end(),
                 result.mutable_span<uint32_t>().begin(), half);
  return result;
}

}  // namespace

std::string OtherShape(const Instruction& call) {
  const std::string_view target = call.Get<attr::custom_call_target>();
  if (call.operand_count() == 0) return fmt::format("'{}' has no operand", target);
  const Shape& operand = call.operand(0)->shape();
  if (Compatible(ArrayOf(operand), ArrayOf(call.shape()))) return "";
  return fmt::format("'{}' of {} gives {}; with one device it keeps the shape", target, ToString(operand),
                     ToString(call.shape()));
}

// Operand 0.
absl::StatusOr<Literal> Identity(OpContext& context) { return std::move(context.operands[0]); }
// What nobody may rely on, and tokens.
absl::StatusOr<Literal> Zeros(OpContext& context) { return Literal::CreateZeros(context.shape()); }

absl::StatusOr<Literal> Seed(OpContext& context) {
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  result.mutable_span<uint64_t>()[0] = context.caller.seed();
  return result;
}

// Stops the run where its operand does not hold everywhere.
absl::StatusOr<Literal> Assert(OpContext& context) {
  const auto holds = context.operands[0].span<bool>();
  if (std::all_of(holds.begin(), holds.end(), [](bool b) { return b; }))
    return Literal::CreateZeros(context.shape());
  return absl::FailedPreconditionError(fmt::format(
      "the assertion does not hold: {}", Options(context.instruction).Text("error_msg", "(no message)")));
}

// X64...: integers of 64 bits in two halves.
std::string NotWords(const Instruction& call) {
  const Shape& words = call.operand_count() == 2 ? call.shape() : call.operand(0)->shape();
  return BitWidth(words.type()) == 64 ? ""
                                      : fmt::format("takes integers of 64 bits, not {}", ToString(words));
}

absl::StatusOr<Literal> SplitLow(OpContext& context) {
  return Halved(context, [](uint64_t x) { return static_cast<uint32_t>(x & kLowHalf); });
}
absl::StatusOr<Literal> SplitHigh(OpContext& context) {
  return Halved(context, [](uint64_t x) { return static_cast<uint32_t>(x >> 32); });
}

// low + high * 2^32
absl::StatusOr<Literal> Combine(OpContext& context) {
  const auto low = context.operands[0].span<uint32_t>(), high = context.operands[1].span<uint32_t>();
  HLO_ASSIGN_OR_RETURN(Literal result, Literal::Create(context.shape()));
  for (size_t i = 0; i < low.size(); ++i)
    result.mutable_span<uint64_t>()[i] = low[i] | static_cast<uint64_t>(high[i]) << 32;
  return result;
}

}  // namespace hlo::reference::custom
