#include "ir/trip_count.h"

#include <string_view>

#include "absl/strings/numbers.h"

namespace hlo {
namespace {

std::optional<int64_t> RecordedTripCount(const Instruction& loop) {
  std::string_view text = loop.Get<attr::backend_config>().text;
  for (const std::string_view key : {"\"known_trip_count\"", "\"n\""}) {
    const size_t at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + key.size());
  }
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = text.find_first_of(kDigits);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  text = text.substr(0, text.find_first_not_of(kDigits));
  int64_t count = 0;
  return absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &count) ? std::optional(count)
                                                                               : std::nullopt;
}

std::optional<int64_t> ConstantOf(const Instruction& instruction) {
  if (instruction.opcode() == Opcode::kCopy) return ConstantOf(*instruction.operand(0));
  const Shape& shape = instruction.shape();
  const Literal* literal = instruction.Get<attr::literal>();
  if (instruction.opcode() != Opcode::kConstant || !shape.IsArray() || shape.rank() != 0 ||
      literal == nullptr || literal->data() == nullptr)
    return std::nullopt;
  if (shape.type() == ElementType::kS32) return literal->span<int32_t>()[0];
  if (shape.type() == ElementType::kS64) return literal->span<int64_t>()[0];
  return std::nullopt;
}

// Returns the element of the state that the instruction reads in a condition or a body.
std::optional<int64_t> StateElement(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kGetTupleElement ||
      instruction.operand(0)->opcode() != Opcode::kParameter)
    return std::nullopt;
  return instruction.Get<attr::index>();
}

// Returns the constant that an iteration adds to an element of the state.
std::optional<int64_t> StepOf(const Computation& body, int64_t element) {
  if (body.root()->opcode() != Opcode::kTuple) return std::nullopt;
  const Instruction& next = *body.root()->operand(element);
  if (next.opcode() != Opcode::kAdd) return std::nullopt;
  for (const int64_t k : {0, 1}) {
    if (StateElement(*next.operand(k)) == element) return ConstantOf(*next.operand(1 - k));
  }
  return std::nullopt;
}

// Returns the trip count of a loop that counts up from one constant to another, as loops over layers do.
std::optional<int64_t> CountedTrips(const Instruction& loop) {
  const Instruction& compare = *loop.Get<attr::condition>()->root();
  if (compare.opcode() != Opcode::kCompare || compare.Get<attr::direction>() != ComparisonDirection::kLt)
    return std::nullopt;
  const std::optional<int64_t> element = StateElement(*compare.operand(0));
  const std::optional<int64_t> limit = ConstantOf(*compare.operand(1));
  const Instruction& start = *loop.operand(0);
  if (!element || !limit || start.opcode() != Opcode::kTuple) return std::nullopt;
  const std::optional<int64_t> first = ConstantOf(*start.operand(*element));
  const std::optional<int64_t> step = StepOf(*loop.Get<attr::body>(), *element);
  int64_t distance = 0;
  if (!first || !step || *step < 1 || __builtin_sub_overflow(*limit, *first, &distance)) return std::nullopt;
  return distance <= 0 ? 0 : (distance - 1) / *step + 1;
}

}  // namespace

std::optional<int64_t> StaticTripCount(const Instruction& loop) {
  if (loop.opcode() != Opcode::kWhile) return std::nullopt;
  const std::optional<int64_t> recorded = RecordedTripCount(loop);
  return recorded.has_value() ? recorded : CountedTrips(loop);
}

}  // namespace hlo
