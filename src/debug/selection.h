#pragma once
// Selects instructions of a module by name, opcode and metadata.

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "debug/program_place.h"
#include "hlo_run/module.h"

namespace hlo::debug {

// An instruction is selected if it satisfies every criterion that is not empty.
struct SelectionOptions {
  std::string match;                 // A regular expression that matches a part of the name.
  std::vector<std::string> opcodes;  // Names of opcodes.
  std::string op_name;               // A regular expression that matches a part of the metadata's op_name.
  std::string source;                // FILE or FILE:LINE of the metadata; FILE may lack leading folders.

  bool empty() const { return match.empty() && opcodes.empty() && op_name.empty() && source.empty(); }
};

// Returns the source location in the metadata of an instruction, directly or from its innermost stack frame;
// an empty file if there is none.
ProgramPlace StatedPlace(const Instruction& instruction);

// Returns the selected instructions of all computations. Returns InvalidArgument for an invalid criterion,
// and if no instruction is selected.
absl::StatusOr<absl::flat_hash_set<const Instruction*>> Select(const Module& module,
                                                               const SelectionOptions& options);

}  // namespace hlo::debug
