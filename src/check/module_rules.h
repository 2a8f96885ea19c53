#pragma once
// Rules that concern the whole module (shape-rules section 4). Violations of rules that only XLA's verifier
// needs are warnings, or errors if `strict` (4.12).

#include "hlo_run/check.h"

namespace hlo::check {

// Checks the structure that all other code relies on: an entry, roots, parameters without gaps, operands
// before their users in the same computation, callees before callers. After false the module must not be
// used.
bool CheckStructure(const Module& module, Diagnostics& diagnostics, const CheckOptions& options);

// Checks the other rules. CheckStructure must have succeeded; shape rules of single instructions may have
// failed.
bool CheckModuleRules(const Module& module, Diagnostics& diagnostics, const CheckOptions& options);

}  // namespace hlo::check
