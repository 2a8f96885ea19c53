#pragma once
// A module with its inputs, which the minimiser reduces.

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "debug/extract/flat_module.h"
#include "hlo_run/check.h"
#include "hlo_run/execute.h"
#include "hlo_run/literal.h"

namespace hlo::debug {

struct TestCase {
  CheckedModule module;
  std::string text;
  std::vector<Literal> inputs;  // By parameter; with several devices, values of all devices (see AllDevices).
};
using SharedCase = std::shared_ptr<const TestCase>;

// Returns the instructions of a computation on which neither its root nor a side effect depends.
std::vector<Instruction*> DeadCode(const Computation& computation);

// Returns the number of devices in the header of the module.
int64_t DeviceCount(const CheckedModule& module);
// Returns one literal for the values of all devices: that of the only device, or a tuple of those of several.
Literal AllDevices(std::vector<Literal> values);
// The value of a device in such a literal.
const Literal& OfDevice(const Literal& all, int64_t device, int64_t count);
// Runs a module, whose arguments are the values of all devices, and returns the results of all devices.
absl::StatusOr<Literal> RunOnAllDevices(const CheckedModule& module, absl::Span<const Literal> arguments,
                                        Engine engine, const EvaluateOptions& options);

// Parses and checks a text. The inputs must fit its parameters.
absl::StatusOr<SharedCase> MakeTestCase(std::string text, std::vector<Literal> inputs);
// Returns the case of some values of a flat module, whose edges become parameters with these values.
absl::StatusOr<SharedCase> MakeTestCase(const FlatModule& flat, absl::Span<const Instruction* const> roots,
                                        const absl::flat_hash_map<const Instruction*, Literal>& values);
// Returns the case of a module on one device, whose header may ask for several.
absl::StatusOr<SharedCase> MakeOneDeviceCase(const std::string& text, std::vector<Literal> inputs);
// Parses the text again, for changes in place.
std::shared_ptr<Module> CopyModule(const TestCase& test);
// Returns the case of a module that was changed in place, without instructions that became dead.
absl::StatusOr<SharedCase> MakeTestCase(const std::shared_ptr<Module>& changed,
                                        const std::vector<Literal>& inputs);

// The size of a case. The minimiser reduces the number of instructions first, then that of input elements,
// then the length of the text.
struct CaseSize {
  int64_t instructions = 0, elements = 0, text = 0;
  auto operator<=>(const CaseSize&) const = default;  // NOLINT(modernize-use-nullptr): there is none
};
CaseSize SizeOf(const TestCase& test);
// A hash of the text and the inputs.
uint64_t HashOf(const TestCase& test);

// Writes the inputs to an archive, with several devices under the keys of each.
absl::Status WriteInputs(const std::string& path, const TestCase& test);
// Writes a golden folder: module.hlo, inputs.npz, outputs.npz and case.json. `outputs` may be missing.
absl::Status WriteCase(const std::string& folder, const TestCase& test, const Literal* outputs,
                       const std::string& description);

}  // namespace hlo::debug
