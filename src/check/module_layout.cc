// Checks the layouts that opcodes must preserve (shape-rules 4.10, layout-sensitive) and origins (4.11).

#include "check/interface.h"
#include "check/module_context.h"
#include "check/support.h"

namespace hlo::check {
namespace {

bool MayChangeLayout(const Instruction& i) {
  if (i.opcode() == Opcode::kCustomCall) return i.Get<attr::custom_call_target>() != "LayoutConstraint";
  return Info(i.opcode()).has(kChangesLayout);
}

bool ElementSizeMayDiffer(const Instruction& i, int64_t operand) {
  const Opcode opcode = i.opcode();
  return opcode == Opcode::kConvert || opcode == Opcode::kCompare || opcode == Opcode::kIsFinite ||
         opcode == Opcode::kScatter || (opcode == Opcode::kSelect && operand == 0);
}

constexpr int64_t kDefaultMemory = 0, kFastMemory = 1;

void CheckMemorySpaces(RuleContext& c) {
  const Opcode opcode = c.instruction().opcode();
  if (opcode != Opcode::kDynamicSlice && opcode != Opcode::kDynamicUpdateSlice) return;
  const int64_t from = MemorySpace(c.operand(0)), to = MemorySpace(c.declared());
  const bool refused = (from == kFastMemory && to != kFastMemory) ||
                       (opcode == Opcode::kDynamicSlice && from == kDefaultMemory && to == kHostMemory) ||
                       (opcode == Opcode::kDynamicUpdateSlice && from == kHostMemory && to == kDefaultMemory);
  if (refused) {
    c.ErrorIfStrict(c.instruction().shape_range(), "4.10", "{} must not go from memory space {} to {}",
                    Name(opcode), from, to);
  }
}

// True if the tree has the same structure as the shape.
bool SameLeaves(const Shape& shape, const OriginNode* node) {
  if (!shape.IsTuple()) return node != nullptr && !node->is_tuple;
  if (shape.elements().empty() && node != nullptr && node->is_tuple && node->elements.empty()) return true;
  if (node == nullptr || !node->is_tuple || node->elements.size() != shape.elements().size()) return false;
  for (size_t i = 0; i < node->elements.size(); ++i) {
    if (!SameLeaves(shape.element(static_cast<int64_t>(i)), node->elements[i])) return false;
  }
  return true;
}

}  // namespace

void CheckLayoutIsKept(ModuleContext& context, const Instruction& instruction) {
  const Shape& result = instruction.shape();
  if (!result.IsArray() || MayChangeLayout(instruction)) return;
  RuleContext c = context.At(instruction);
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const Shape& operand = c.operand(i);
    if (!operand.IsArray() || operand.rank() != result.rank() ||
        operand.shared_layout() == result.shared_layout()) {
      continue;
    }
    // Compares only minor-to-major orders.
    const ShapeEquality relax{.ignore_memory_space = true,
                              .ignore_tiles = true,
                              .ignore_element_size = ElementSizeMayDiffer(instruction, i)};
    Shape operand_like = result;
    operand_like.set_layout(operand.shared_layout());
    if (Equal(result, operand_like, relax)) continue;
    c.ErrorIfStrict(c.operand_range(i), "4.10", "{} keeps layouts, but operand {} is {} and the result {}",
                    Name(instruction.opcode()), i, LayoutText(operand), LayoutText(result));
  }
  if (instruction.operand_count() > 0) CheckMemorySpaces(c);
}

void CheckOrigin(ModuleContext& context, const Instruction& instruction, const Origin& origin) {
  const bool synthetic = origin.tree == nullptr || (origin.tree->is_tuple && origin.tree->elements.empty());
  if ((origin.has_call_hierarchy && synthetic) || SameLeaves(instruction.shape(), origin.tree)) return;
  context.At(instruction)
      .ErrorIfStrict(instruction.range_of<attr::origin>(), "4.11",
                     "the leaves of the origin are not those of {}", Text(instruction.shape()));
}

}  // namespace hlo::check
