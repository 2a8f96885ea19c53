#pragma once
// Changes that XLA's reader makes to a module, for comparing our text with XLA's: Print with as_xla after
// NormalizeAsXla gives XLA's bytes.

#include "hlo_run/module.h"

namespace hlo {

// Makes the names of computations and of instructions unique in the module (text-format 3.6).
void MakeNamesUniqueAsXla(Module& module);
// Rebuilds the tables from the stack frames in use, in the order of their first use (text-format 2.3).
void RebuildSourceTablesAsXla(Module& module);

}  // namespace hlo
