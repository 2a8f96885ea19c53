#pragma once
// The shape rules that opcodes.def names: one function each, grouped by family in the .cc files of this folder.

#include <string_view>
#include <utility>

#include "hlo_run/check.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/module.h"

namespace hlo::check {

// What a rule sees: the instruction, and where to report. Operands have valid shapes.
class RuleContext {
 public:
  RuleContext(const Instruction& instruction, Diagnostics& diagnostics, const CheckOptions& options)
      : instruction_(instruction), diagnostics_(diagnostics), options_(options) {}

  const Instruction& instruction() const { return instruction_; }
  const CheckOptions& options() const { return options_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const Shape& operand(int64_t i) const { return instruction_.operand(i)->shape(); }
  int64_t operand_count() const { return instruction_.operand_count(); }

  // An error of this instruction: at a place, with the number of its rule ("3.9", a section of the shape rules).
  template <class... Args>
  Diagnostic& Error(SourceRange at, std::string_view rule, fmt::format_string<Args...> format, Args&&... args) {
    return diagnostics_.Error(at.known() ? at : instruction_.opcode_range(), format, std::forward<Args>(args)...)
        .Rule(rule);
  }
  template <class... Args>
  Diagnostic& Warning(SourceRange at, std::string_view rule, fmt::format_string<Args...> format, Args&&... args) {
    return diagnostics_.Warning(at.known() ? at : instruction_.opcode_range(), format, std::forward<Args>(args)...)
        .Rule(rule);
  }

 private:
  const Instruction& instruction_;
  Diagnostics& diagnostics_;
  const CheckOptions& options_;
};

// The shape that operands and attributes imply; invalid after an error. Opcodes whose shape cannot be inferred check
// what they can and return the declared one.
using ShapeRule = Shape (*)(RuleContext& context);

#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) Shape shape_rule(RuleContext& context);
#include "hlo_run/opcodes.def"
#undef HLO_OP

}  // namespace hlo::check
