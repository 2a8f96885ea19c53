#pragma once
// What XLA's reader changes in a module while it loads it. For comparing our text with XLA's: Print with
// as_xla after NormalizeAsXla gives XLA's bytes.

#include "hlo_run/module.h"

namespace hlo {

// Names of computations and instructions, made unique over the whole module (text-format 3.6).
void MakeNamesUniqueAsXla(Module& module);
// Frames that are used, in the order of their first use (text-format 2.3).
void RebuildSourceTablesAsXla(Module& module);

}  // namespace hlo
