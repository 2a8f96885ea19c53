#pragma once
// A part of a module as a module of its own: an instruction with what it is computed from, or a computation.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {

// An instruction at the edge of a part: parameter i of the new module has the value of the i-th one.
struct ExtractedPart {
  std::string
      text;  // The module. Metadata and layouts are kept; schedules, aliases and control order are not.
  std::vector<const Instruction*> parameters;
};

struct ExtractOptions {
  // Levels of operands that are computed above the roots; what stands further up becomes parameters, unless
  // it is a constant or an iota. An asynchronous operation is never cut.
  int64_t height = std::numeric_limits<int64_t>::max();
  // All parameters of the computation, with their numbers, also those that nothing in the part needs.
  bool keep_parameters = false;
  // Values for instructions at the edge, which become constants; nullptr for a parameter.
  std::function<const Literal*(const Instruction&)> constant;
};

// The part of their computation that computes the instructions, which all belong to the same one. The result
// is the instruction's value, or a tuple of several.
ExtractedPart Extract(const Module& module, absl::Span<const Instruction* const> roots,
                      const ExtractOptions& options = {});
// A computation, which becomes the entry, with all that it calls.
ExtractedPart Extract(const Module& module, const Computation& computation,
                      const ExtractOptions& options = {});

// The computations that this one calls, directly or not, callees first.
std::vector<Computation*> CalleesOf(const Module& module, const Computation& computation);

}  // namespace hlo
