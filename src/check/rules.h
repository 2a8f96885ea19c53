#pragma once
// The shape rules of opcodes.def, one function each; the .cc files of this folder group them by family. A
// rule returns the shape that operands and attributes imply; check.cc compares it with the declared shape.

#include <string_view>
#include <utility>

#include "absl/types/span.h"
#include "fmt/format.h"
#include "hlo_run/check.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/module.h"

namespace hlo::check {

// The input of a rule: the instruction and the diagnostics. Operand shapes are valid. The declared shape is
// invalid while a missing shape is inferred.
class RuleContext {
 public:
  RuleContext(const Instruction& instruction, Diagnostics& diagnostics, const CheckOptions& options)
      : instruction_(instruction), diagnostics_(diagnostics), options_(options) {}

  const Instruction& instruction() const { return instruction_; }
  const CheckOptions& options() const { return options_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  const Shape& operand(int64_t i) const { return instruction_.operand(i)->shape(); }
  int64_t operand_count() const { return instruction_.operand_count(); }
  const Shape& declared() const { return instruction_.shape(); }
  SourceRange operand_range(int64_t i) const { return instruction_.operand_range(i); }
  template <class A>
  typename A::Type Get(typename A::Type otherwise = {}) const {
    return instruction_.Get<A>(otherwise);
  }
  template <class A>
  SourceRange range_of() const {
    return instruction_.range_of<A>();
  }

  // Reports an error of the instruction at `at`, or at its opcode if that is unknown. `rule` is a section of
  // shape-rules such as "3.9".
  template <class... Args>
  Diagnostic& Error(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                    Args&&... args) {
    return Report(Severity::kError, at, rule, format, fmt::make_format_args(args...));
  }
  // Reports an error at operand i with a note on its definition and shape.
  template <class... Args>
  Diagnostic& OperandError(int64_t i, std::string_view rule, fmt::format_string<Args...> format,
                           Args&&... args) {
    return NoteOperand(
        Report(Severity::kError, operand_range(i), rule, format, fmt::make_format_args(args...)), i);
  }
  template <class... Args>
  Diagnostic& Warning(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                      Args&&... args) {
    return Report(Severity::kWarning, at, rule, format, fmt::make_format_args(args...));
  }
  // Reports a construct that XLA rejects although it can be evaluated (shape-rules 4.12): an error if
  // `strict`, otherwise a warning.
  template <class... Args>
  Diagnostic& ErrorIfStrict(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                            Args&&... args) {
    return Report(options_.strict ? Severity::kError : Severity::kWarning, at, rule, format,
                  fmt::make_format_args(args...));
  }
  // Reports differing float types, which XLA rejects by default: an error unless `allow_mixed_precision`.
  template <class... Args>
  Diagnostic& MixedPrecision(SourceRange at, std::string_view rule, fmt::format_string<Args...> format,
                             Args&&... args) {
    return Report(options_.allow_mixed_precision ? Severity::kWarning : Severity::kError, at, rule, format,
                  fmt::make_format_args(args...));
  }
  Diagnostic& NoteOperand(Diagnostic& diagnostic, int64_t i) const;

 private:
  Diagnostic& Report(Severity severity, SourceRange at, std::string_view rule, fmt::string_view format,
                     fmt::format_args args);

  const Instruction& instruction_;
  Diagnostics& diagnostics_;
  const CheckOptions& options_;
};

// The result of a rule. It refers to the shape of an operand or of a callee's root without copying it if
// possible.
class Inferred {
 public:
  enum class Form : uint8_t { kFailed, kShape, kLike, kTupleOfOperands, kDeclared };

  Inferred() = default;  // An error was reported.
  Inferred(Shape shape) : form_(Form::kShape), shape_(std::move(shape)) {}

  Form form() const { return form_; }
  const Shape& shape() const { return shape_; }
  const Shape& like() const { return *like_; }
  ElementType type() const { return type_; }
  absl::Span<Instruction* const> operands() const { return operands_; }

 private:
  friend Inferred Like(const Shape& shape);
  friend Inferred Like(const Shape& shape, ElementType type);
  friend Inferred TupleOf(absl::Span<Instruction* const> operands);
  friend Inferred AsDeclared();
  explicit Inferred(Form form) : form_(form) {}

  Form form_ = Form::kFailed;
  ElementType type_ = ElementType::kPred;
  const Shape* like_ = nullptr;
  absl::Span<Instruction* const> operands_;
  Shape shape_;
};

// Returns exactly this shape, which must outlive the rule, such as that of an operand or a root.
inline Inferred Like(const Shape& shape) {
  Inferred result(Inferred::Form::kLike);
  result.like_ = &shape;
  result.type_ = shape.type();
  return result;
}
// Returns this array with another element type.
inline Inferred Like(const Shape& shape, ElementType type) {
  Inferred result = Like(shape);
  result.type_ = type;
  return result;
}
// Returns the tuple of these shapes, even for a single instruction.
inline Inferred TupleOf(absl::Span<Instruction* const> operands) {
  Inferred result(Inferred::Form::kTupleOfOperands);
  result.operands_ = operands;
  return result;
}
// Returns the declared shape, which the rule has checked, or which operands and attributes do not determine.
inline Inferred AsDeclared() { return Inferred(Inferred::Form::kDeclared); }
inline Inferred Failed() { return {}; }

using ShapeRule = Inferred (*)(RuleContext& context);

#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) \
  Inferred shape_rule(RuleContext& context);
#include "hlo_run/opcodes.def"

}  // namespace hlo::check
