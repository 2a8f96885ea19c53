#include "ir/place.h"

#include "fmt/format.h"

namespace hlo {

std::string PlaceOf(const Instruction& instruction) {
  const auto& source = instruction.parent()->module()->source();
  SourceRange range = instruction.opcode_range();
  if (!range.known()) range = instruction.name_range();
  if (source == nullptr || !range.known()) return "";
  const SourcePlace place = source->Locate(range.begin);
  return fmt::format("{}:{}:{}: ", source->name(), place.line, place.column);
}

std::string Describe(const Instruction& instruction) {
  constexpr size_t kLongestShape = 100;
  std::string shape = ToString(instruction.shape());
  if (shape.size() > kLongestShape) {
    shape.resize(kLongestShape);
    shape += "...";
  }
  return fmt::format("'{}' ({} {})", instruction.name(), shape, Name(instruction.opcode()));
}

}  // namespace hlo
