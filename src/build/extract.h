#pragma once
// Extracts a part of a module as a separate module: instructions with their operands, or a computation.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {

// A part of a module. Parameter i of the new module replaces the i-th instruction at its boundary.
struct ExtractedPart {
  std::string
      // The new module. It keeps metadata and layouts but no schedule, aliases and control dependencies.
      text;
  std::vector<const Instruction*> parameters;
};

struct ExtractOptions {
  // The number of included levels of operands above the roots. Operands above these levels become parameters,
  // except constants and iotas. Asynchronous operations are never split.
  int64_t height = std::numeric_limits<int64_t>::max();
  // Keeps all parameters of the computation with their numbers, even unused ones.
  bool keep_parameters = false;
  // Returns the value of a boundary instruction, which becomes a constant, or nullptr for a parameter.
  std::function<const Literal*(const Instruction&)> constant;
};

// Extracts the instructions and their operands. All roots belong to one computation. The result is the value
// of the root, or a tuple of several.
ExtractedPart Extract(const Module& module, absl::Span<const Instruction* const> roots,
                      const ExtractOptions& options = {});
// Extracts a computation, which becomes the entry, and its callees.
ExtractedPart Extract(const Module& module, const Computation& computation,
                      const ExtractOptions& options = {});

// Returns the direct and indirect callees, callees first.
std::vector<Computation*> CalleesOf(const Module& module, const Computation& computation);

}  // namespace hlo
