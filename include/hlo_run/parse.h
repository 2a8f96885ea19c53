#pragma once
// From HLO text to a module. Grammar: grammar/hlo.ebnf.

#include <cstdint>
#include <memory>

#include "hlo_run/diagnostic.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "hlo_run/source_text.h"

#pragma GCC visibility push(default)
namespace hlo {

// Gives an instruction whose text has no shape the one that its operands and attributes imply; false after an error.
// The checker's is InferMissingShape (check.h).
using ShapeInference = bool (*)(Module& module, Instruction& instruction, Diagnostics& diagnostics);

struct ParseOptions {
  bool strict = false;  // Refuse what XLA's reader refuses: older spellings and accidents are errors, not warnings.
  ShapeInference infer_shape = nullptr;  // Without it a missing shape is an error.
  int64_t max_nesting = 1000;            // Shapes, operands, literals and bodies share it.
  int64_t max_literal_bytes = int64_t{1} << 36;
  int64_t max_instructions = int64_t{1} << 28;
};

// nullptr when there were errors; all of them (up to the limit of `diagnostics`) are in `diagnostics`.
std::unique_ptr<Module> Parse(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics,
                              const ParseOptions& options = {});

// A single shape, such as `f32[2,3]{1,0}`, and nothing after it. Invalid after an error.
Shape ParseShape(const SourceText& source, Diagnostics& diagnostics, const ParseOptions& options = {});
// A literal of a known shape: `{1,2}`; or, with an invalid shape given, one that starts with its own: `f32[2] {1,2}`,
// where a brace after the shape is a layout only if a second one follows.
absl::StatusOr<Literal> ParseLiteral(const SourceText& source, const Shape& shape, const ParseOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
