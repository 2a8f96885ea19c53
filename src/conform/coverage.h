#pragma once
// Which opcodes work with which element types? Nobody writes it down: small modules ask the checker and the
// engines, and the cases tell what they exercise.

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/conform.h"
#include "hlo_run/opcode.h"

namespace hlo::conform {

using TypeBits = std::bitset<kElementTypeCount>;
using OpcodeTypes = std::array<TypeBits, kOpcodeCount>;

struct Engine {
  std::string name;
  // Unimplemented where it cannot evaluate this opcode of a module.
  std::function<absl::Status(const CheckedModule& module, Opcode opcode)> supports;
};

// The reference, and after it the fast engine with what it does by itself: it hands the rest to the
// reference's functions.
std::vector<Engine> AllEngines();

struct Coverage {
  OpcodeTypes accepted;     // By the checker.
  OpcodeTypes meaningless;  // Of those, what the first engine says to have no meaning.
  std::vector<std::pair<std::string, OpcodeTypes>> engines;  // Of those, what each engine evaluates.
  OpcodeTypes tested;                                        // Of those, what a case with values exercises.
};

// The type that an instruction counts for: that of the first array it works on, or gives. None for tokens.
std::optional<ElementType> KeyType(const Instruction& instruction);

// The checked modules that hold an opcode with an element type; none if the checker refuses them.
std::vector<CheckedModule> ProbesOf(Opcode opcode, ElementType type);

// Needs an engine. The live instructions of all cases with values below the paths are `tested`.
absl::StatusOr<Coverage> MeasureCoverage(const std::vector<Engine>& engines,
                                         const std::vector<std::string>& paths);

// A matrix of a row for each opcode; a JSON object for each; a summary by groups of types as a Markdown
// table.
std::string CoverageTable(const Coverage& coverage);
std::string CoverageJson(const Coverage& coverage);
std::string CoverageSummary(const Coverage& coverage);

}  // namespace hlo::conform
