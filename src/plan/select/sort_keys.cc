#include "plan/select/sort_keys.h"

#include <utility>

#include "ir/comparators.h"
#include "plan/codegen/scalar_code.h"

namespace hlo::plan {
namespace {

// Returns nullopt if the key has no code, or the tie is one of another function or order.
std::optional<SortKey> CompiledKey(const ComparatorKey& key) {
  const Instruction& side = *key.compare->operand(0);
  const ElementType type = side.shape().type();
  if (IsComplex(type)) return std::nullopt;
  if (key.tie != nullptr &&
      (IsTotalOrder(*key.tie) != IsTotalOrder(*key.compare) || !AreSameFunction(*key.tie->operand(0), side)))
    return std::nullopt;
  const std::optional<loops::ScalarFunction> code = FindUnaryCode(side, *key.parameter);
  if (!code.has_value()) return std::nullopt;
  return SortKey{key.operand,
                 cpu::TileCode(*code),
                 {loops::ComputeTypeOf(type), key.descending, IsTotalOrder(*key.compare) || !IsFloat(type)}};
}

}  // namespace

std::optional<std::vector<SortKey>> FindSortKeys(const Instruction& sort) {
  const std::optional<std::vector<ComparatorKey>> found = MatchComparator(sort);
  if (!found.has_value()) return std::nullopt;
  std::vector<SortKey> keys;
  for (const ComparatorKey& each : *found) {
    std::optional<SortKey> key = CompiledKey(each);
    if (!key.has_value()) return std::nullopt;
    keys.push_back(*std::move(key));
  }
  return keys;
}

}  // namespace hlo::plan
