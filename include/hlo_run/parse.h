#pragma once
/// \file
/// Parses HLO text into a module. grammar/hlo.ebnf has the grammar.

#include <cstdint>
#include <memory>

#include "hlo_run/diagnostic.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "hlo_run/source_text.h"

#pragma GCC visibility push(default)
namespace hlo {

/// Sets the shape of an instruction that was written without one, from its operands and attributes. Returns
/// false after an error. The checker provides InferMissingShape (check.h).
using ShapeInference = bool (*)(Module& module, Instruction& instruction, Diagnostics& diagnostics);

/// Limits and strictness of the parser.
struct ParseOptions {
  /// Reports older spellings and oddities that XLA's reader rejects as errors instead of warnings.
  bool strict = false;
  ShapeInference infer_shape = nullptr;  ///< If null, a missing shape is an error.
  int64_t max_nesting = 1000;            ///< The depth limit shared by shapes, operands, literals and bodies.
  int64_t max_literal_bytes = int64_t{1} << 36;
  int64_t max_instructions = int64_t{1} << 28;
};

/// Parses a module. Returns nullptr after errors, which are in `diagnostics` up to its limit.
std::unique_ptr<Module> Parse(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics,
                              const ParseOptions& options = {});

/// Parses a single shape such as `f32[2,3]{1,0}`. Returns an invalid shape after an error.
Shape ParseShape(const SourceText& source, Diagnostics& diagnostics, const ParseOptions& options = {});
/// Parses a literal of a known shape: `{1,2}`. If `shape` is invalid, the text must start with the shape:
/// `f32[2] {1,2}`; a brace after it is a layout only if a second brace follows.
absl::StatusOr<Literal> ParseLiteral(const SourceText& source, const Shape& shape,
                                     const ParseOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
