#pragma once
// Measures which opcodes support which element types. Probes, which are small modules, are passed to the
// checker and the engines; the cases determine which combinations are tested.

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
  // Returns Unimplemented if the engine cannot evaluate this opcode of a module.
  std::function<absl::Status(const CheckedModule& module, Opcode opcode)> supports;
};

// Returns the reference and the fast engine. Opcodes that the fast engine passes to the reference's functions
// do not count for it.
std::vector<Engine> AllEngines();

struct Coverage {
  OpcodeTypes accepted;     // Accepted by the checker.
  OpcodeTypes meaningless;  // Accepted, but without semantics according to the first engine.
  std::vector<std::pair<std::string, OpcodeTypes>> engines;  // Accepted and evaluated by each engine.
  OpcodeTypes tested;                                        // Accepted and used in a case with values.
};

// Returns the type for which an instruction counts: that of its first array operand or result; none for
// tokens.
std::optional<ElementType> KeyType(const Instruction& instruction);

// Returns checked modules that contain an opcode with an element type; none if the checker rejects them.
std::vector<CheckedModule> ProbesOf(Opcode opcode, ElementType type);

// Measures the coverage; requires an engine. The live instructions of all cases with values below the paths
// count as `tested`.
absl::StatusOr<Coverage> MeasureCoverage(const std::vector<Engine>& engines,
                                         const std::vector<std::string>& paths);

// Return a matrix with a row per opcode, a JSON object per opcode, and a Markdown table by groups of types.
std::string CoverageTable(const Coverage& coverage);
std::string CoverageJson(const Coverage& coverage);
std::string CoverageSummary(const Coverage& coverage);

}  // namespace hlo::conform
