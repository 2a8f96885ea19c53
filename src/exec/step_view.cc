#include "exec/step_view.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "kernels/cpu/elementwise/copy_array.h"
#include "plan/visit.h"
#include "types/index.h"

namespace hlo::exec {
namespace {

using plan::Node;
using plan::ValueId;

// Returns the instruction of the module that computes a value, with the number of the value among its leaves;
// no instruction if the value is an intermediate one of a replacement.
StepValue OriginOf(const plan::Graph& graph, ValueId value) {
  const plan::Value& of = graph.values[value];
  const Node* node = of.node;
  if (node == nullptr) return {};
  if (of.instruction != nullptr) return {of.instruction, of.leaf, {}};
  if (node->replacement_of != nullptr) return {};
  const auto result = std::find(node->results.begin(), node->results.end(), value);
  return {node->instruction, result - node->results.begin(), {}};
}

// Loads and stores of different types convert.
bool OnlyMoves(const loops::LoopProgram& program) {
  const bool only_loads = std::all_of(program.steps().begin(), program.steps().end(),
                                      [](const loops::LoopProgram::Step& step) { return step.IsLoad(); });
  if (!only_loads || program.stores().empty()) return false;
  const ElementType type = program.access(program.stores()[0].access).type;
  bool is_same = true;
  program.VisitAccesses([&](const loops::Access& access, bool) { is_same = is_same && access.type == type; });
  return is_same;
}

}  // namespace

// Returns a literal that views the memory of a slot, or a copy of it in row-major order.
Literal PlanStepView::Read(plan::Slot slot, ValueId value) const {
  const plan::Value& of = plan_.graph.values[value];
  if (of.instruction != nullptr && of.rotation == 0)
    return (*read_)(slot, ResultShapes(*of.instruction)[of.leaf].WithoutLayouts());
  Literal found = (*read_)(slot, of.shape);
  if (of.rotation == 0) return found;
  absl::StatusOr<Literal> copy = Literal::Create(of.shape);
  if (!copy.ok()) return found;
  const int64_t rotated = Product(of.shape.dims().last(of.rotation)), rest = found.element_count() / rotated;
  const cpu::ArrayCopy rotate({{rest, 1, rotated}, {rotated, rest, 1}}, ByteCount(of.shape.type()));
  rotate.Run(static_cast<const std::byte*>(found.data()), static_cast<std::byte*>(copy->mutable_data()));
  return *std::move(copy);
}

// The values of the slots are in the order of VisitSlots. Control flow has no values of its own: its steps
// write them.
std::vector<StepValue> PlanStepView::Values(bool written) const {
  std::vector<StepValue> values;
  if (read_ == nullptr) return values;
  size_t number = 0;
  plan::VisitSlots(step_, [&](plan::Slot slot, bool is_write) {
    const ValueId value = step_.values[number++];
    if (is_write != written || value == plan::kNoValue) return;
    StepValue found = OriginOf(plan_.graph, value);
    if (found.instruction == nullptr) return;
    const bool is_known = std::any_of(values.begin(), values.end(), [&](const StepValue& other) {
      return other.instruction == found.instruction && other.leaf == found.leaf;
    });
    if (is_known) return;
    found.value = Read(slot, value);
    values.push_back(std::move(found));
  });
  return values;
}

bool PlanStepView::VisitWrittenFloats(VisitElements visit) const {
  if (properties_ == nullptr || !properties_->written_floats.has_value()) return false;
  for (const StepProperties::FloatArray& array : *properties_->written_floats)
    visit(array.type, static_cast<const std::byte*>(pointers_[array.slot]), array.element_count);
  return true;
}

StepProperties PropertiesOf(const plan::Plan& plan, const plan::Step& step) {
  StepProperties properties;
  properties.kernel = plan::KernelName(step);
  const auto no_loops = [] { return std::vector<RunningLoop>(); };
  properties.only_moves = PlanStepView(plan, step, properties.kernel, 0, no_loops).only_moves();
  std::vector<StepProperties::FloatArray> arrays;
  bool are_in_buffers = true;
  size_t number = 0;
  plan::VisitSlots(step, [&](plan::Slot slot, bool is_write) {
    const ValueId value = step.values[number++];
    if (!is_write || value == plan::kNoValue) return;
    const Shape& shape = plan.graph.values[value].shape;
    if (!shape.IsArray() || !(IsFloat(shape.type()) || IsComplex(shape.type()))) return;
    are_in_buffers = are_in_buffers && plan.buffers[slot].kind != plan::Buffer::Kind::kLiteral;
    arrays.push_back({slot, shape.type(), shape.ElementCount().value_or(0)});
  });
  if (are_in_buffers) properties.written_floats = std::move(arrays);
  return properties;
}

std::vector<RunningLoop> ShownLoops(std::vector<RunningLoop> loops) {
  const auto is_same = [](const RunningLoop& a, const RunningLoop& b) {
    return a.instruction == b.instruction;
  };
  loops.erase(std::unique(loops.begin(), loops.end(), is_same), loops.end());
  return loops;
}

bool PlanStepView::only_moves() const {
  if (properties_ != nullptr) return properties_->only_moves;
  const bool is_single = std::holds_alternative<plan::KernelStep>(step_.what) ||
                         std::holds_alternative<plan::ReferenceStep>(step_.what);
  if (is_single) return Info(step_.instruction->opcode()).has(kMovesElements);
  // Rewritten instructions of a loop have no names, so its program decides.
  const auto* tiles = std::get_if<plan::TileStep>(&step_.what);
  if (tiles == nullptr) return false;
  return std::all_of(tiles->programs.begin(), tiles->programs.end(), OnlyMoves);
}

absl::StatusOr<Literal> PlanStepView::CopyOf(ValueId value) const {
  if (value == plan::kNoValue) return Literal::Token();
  if (const Literal* constant = plan_.graph.values[value].constant) return *constant;
  if (read_ != nullptr) {
    size_t number = 0;
    Literal found;
    plan::VisitSlots(step_, [&](plan::Slot slot, bool) {
      if (step_.values[number++] == value) found = Read(slot, value);
    });
    if (found.shape().IsValid()) {
      HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(found.shape()));
      std::memcpy(copy.mutable_data(), found.data(), found.byte_count());
      return copy;
    }
  }
  return absl::UnimplementedError("the fast engine does not keep the values of single instructions");
}

absl::StatusOr<Literal> PlanStepView::Assemble(const Shape& shape, const std::vector<ValueId>& leaves,
                                               size_t* leaf) const {
  if (!shape.IsTuple()) {
    const ValueId value = *leaf < leaves.size() ? plan_.graph.Resolve(leaves[*leaf]) : plan::kNoValue;
    ++*leaf;
    return CopyOf(value);
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    HLO_ASSIGN_OR_RETURN(Literal value, Assemble(element, leaves, leaf));
    elements.push_back(std::move(value));
  }
  return Literal::Tuple(std::move(elements));
}

absl::StatusOr<Literal> PlanStepView::Operand(int64_t i) const {
  if (step_.node == nullptr || step_.node->instruction != &instruction())
    return absl::UnimplementedError("the step has no single instruction");
  int64_t first = 0;
  for (int64_t k = 0; k < i; ++k) first += step_.instruction->operand(k)->shape().LeafCount();
  auto leaf = static_cast<size_t>(first);
  return Assemble(step_.instruction->operand(i)->shape(), step_.node->operands, &leaf);
}

absl::StatusOr<Literal> PlanStepView::Result() const {
  if (step_.node == nullptr || step_.node->instruction != &instruction())
    return absl::UnimplementedError("the step has no single instruction");
  size_t leaf = 0;
  return Assemble(step_.instruction->shape(), step_.node->results, &leaf);
}

}  // namespace hlo::exec
