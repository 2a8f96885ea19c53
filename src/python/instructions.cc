// Binds computations and instructions.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "absl/strings/string_view.h"
#include "hlo_run/print.h"
#include "python/attributes.h"
#include "python/bindings.h"

namespace hlo::python {
namespace {

nb::str Text(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::tuple Views(const ModulePtr& module, absl::Span<Instruction* const> instructions) {
  nb::list views;
  for (const Instruction* instruction : instructions) {
    views.append(instruction == nullptr ? nb::none() : nb::cast(InstructionView{module, instruction}));
  }
  return nb::tuple(views);
}

nb::tuple Views(const ModulePtr& module, absl::Span<Computation* const> computations) {
  nb::list views;
  for (const Computation* computation : computations) views.append(ComputationView{module, computation});
  return nb::tuple(views);
}

nb::tuple Users(const InstructionView& view) {
  nb::list users;
  for (const Instruction* user : view.instruction->parent()->instructions()) {
    const auto operands = user->operands();
    if (std::find(operands.begin(), operands.end(), view.instruction) != operands.end())
      users.append(InstructionView{view.module, user});
  }
  return nb::tuple(users);
}

std::optional<int64_t> LineOf(const InstructionView& view) {
  const SourceRange range = view.instruction->name_range();
  if (!range.known() || view.module->source() == nullptr) return std::nullopt;
  return view.module->source()->Locate(range.begin).line;
}

std::optional<Literal> ConstantValue(const InstructionView& view) {
  if (view.instruction->opcode() != Opcode::kConstant || view.instruction->is_elided()) return std::nullopt;
  const Literal* literal = view.instruction->Get<attr::literal>();
  return literal == nullptr ? std::nullopt : std::optional(*literal);
}

template <class View, class T>
void AddIdentity(nb::class_<View>& type, T View::*of) {
  type.def("__eq__",
           [of](const View& a, const nb::object& b) {
             return nb::isinstance<View>(b) && nb::cast<View>(b).*of == a.*of;
           })
      .def("__hash__", [of](const View& view) { return std::hash<const void*>()(view.*of); });
}

void AddInstruction(nb::module_& m) {
  nb::class_<InstructionView> type(m, "Instruction", "An instruction of a computation.");
  type.def_prop_ro("name", [](const InstructionView& v) { return Text(v.instruction->name()); })
      .def_prop_ro(
          "opcode", [](const InstructionView& v) { return Text(Name(v.instruction->opcode())); },
          "The opcode as HLO text spells it, such as 'add' or 'dynamic-slice'.")
      .def_prop_ro("shape", [](const InstructionView& v) { return v.instruction->shape(); })
      .def_prop_ro(
          "operands", [](const InstructionView& v) { return Views(v.module, v.instruction->operands()); },
          "The instructions whose results it takes.")
      .def_prop_ro("users", &Users, "The instructions of the computation that take its result.")
      .def_prop_ro(
          "called_computations",
          [](const InstructionView& v) { return Views(v.module, v.instruction->called_computations()); })
      .def_prop_ro(
          "computation",
          [](const InstructionView& v) {
            return ComputationView{v.module, v.instruction->parent()};
          },
          "The computation that it belongs to.")
      .def_prop_ro(
          "index", [](const InstructionView& v) { return v.instruction->index(); },
          "Its position in the computation's instructions.")
      .def_prop_ro("is_root",
                   [](const InstructionView& v) { return v.instruction->parent()->root() == v.instruction; })
      .def_prop_ro(
          "attributes", [](const InstructionView& v) { return Attributes(v); },
          "The attributes by name: numbers, words, lists and computations as such, others as their text.")
      .def_prop_ro("value", &ConstantValue, "The value of a constant; None for other instructions.")
      .def_prop_ro("line", &LineOf, "The line of the source text, from 1; None where it is not known.")
      .def("__str__", [](const InstructionView& v) { return Print(*v.instruction); })
      .def("__repr__", [](const InstructionView& v) {
        return fmt::format("<Instruction {} = {} {}>", v.instruction->name(),
                           ToString(v.instruction->shape()), Name(v.instruction->opcode()));
      });
  AddIdentity(type, &InstructionView::instruction);
}

void AddComputation(nb::module_& m) {
  nb::class_<ComputationView> type(m, "Computation",
                                   "A computation: iterating over it gives its instructions.");
  const auto instructions = [](const ComputationView& v) {
    return Views(v.module, v.computation->instructions());
  };
  type.def_prop_ro("name", [](const ComputationView& v) { return Text(v.computation->name()); })
      .def_prop_ro("instructions", instructions, "In text order, which defines before it uses.")
      .def_prop_ro(
          "parameters", [](const ComputationView& v) { return Views(v.module, v.computation->parameters()); },
          "By number.")
      .def_prop_ro(
          "root",
          [](const ComputationView& v) {
            return InstructionView{v.module, v.computation->root()};
          },
          "The instruction whose result is the computation's.")
      .def_prop_ro("is_entry", [](const ComputationView& v) { return v.computation->IsEntry(); })
      .def("__len__", [](const ComputationView& v) { return v.computation->instructions().size(); })
      .def("__iter__", [instructions](const ComputationView& v) { return nb::iter(instructions(v)); })
      .def("__str__", [](const ComputationView& v) { return Print(*v.computation, {.own_order = true}); })
      .def("__repr__", [](const ComputationView& v) {
        return fmt::format("<Computation {}: {} instructions>", v.computation->name(),
                           v.computation->instructions().size());
      });
  AddIdentity(type, &ComputationView::computation);
}

}  // namespace

void AddInstructions(nb::module_& m) {
  AddInstruction(m);
  AddComputation(m);
}

}  // namespace hlo::python
