#pragma once
// The parts of the extension module hlo_run._core; each file adds its classes.

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hlo_run/check.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "hlo_run/parse.h"

namespace hlo::python {

namespace nb = nanobind;

void AddDiagnostics(nb::module_& m);
void AddShapes(nb::module_& m);
void AddValues(nb::module_& m);
void AddInstructions(nb::module_& m);
void AddModules(nb::module_& m);
void AddExecutables(nb::module_& m);
void AddDevices(nb::module_& m);
void AddProfiles(nb::module_& m);
void AddCompare(nb::module_& m);

// Views of instructions and computations share ownership of their module.
using ModulePtr = std::shared_ptr<const Module>;

struct InstructionView {
  ModulePtr module;
  const Instruction* instruction;
};
struct ComputationView {
  ModulePtr module;
  const Computation* computation;
};

// The source range of a diagnostic, which remains valid without the source text.
struct Place {
  int64_t line, column, end_line, end_column;  // 1-based; columns count bytes.
};
struct PlacedNote {
  std::string message;
  std::optional<Place> place;
};
struct PlacedDiagnostic {
  std::string severity, message, rule, file, text;
  std::optional<Place> place;
  std::vector<PlacedNote> notes;
};
std::vector<PlacedDiagnostic> WithPlaces(const Diagnostics& diagnostics, const SourceText& source);

// A parsed module.
struct ParsedModule {
  std::shared_ptr<Module> module;
  std::shared_ptr<const SourceText> source;
  std::vector<PlacedDiagnostic> warnings;
  std::optional<std::vector<Literal>> arguments;  // Those of a snapshot.
  ParseOptions options;
  std::vector<std::string> elided;  // The texts that gave elided constants their values.
};
// Raises InvalidModule with the diagnostics if the module is invalid. Needs the GIL.
CheckedModule CheckOrRaise(const ParsedModule& parsed);

}  // namespace hlo::python
