#pragma once
// Rules of the module as a whole (shape-rules section 4). What merely offends XLA's verifier is a warning,
// with `strict` an error (4.12).

#include "hlo_run/check.h"

namespace hlo::check {

// What everything else relies on: an entry, roots, parameters without gaps, operands before their users in
// the same computation, callees before callers. False after an error; then nothing else may look at the
// module.
bool CheckStructure(const Module& module, Diagnostics& diagnostics, const CheckOptions& options);

// The other rules. The structure has been checked; shape rules of single instructions may have failed.
bool CheckModuleRules(const Module& module, Diagnostics& diagnostics, const CheckOptions& options);

}  // namespace hlo::check
