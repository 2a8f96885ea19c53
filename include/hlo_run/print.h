#pragma once
// From a module to text (text-format 9). In the long and short forms print(parse(x)) is a fixed point.

#include <cstdint>
#include <string>

#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

// kLong keeps everything; kShort drops metadata; kCanonical has numbers for names and writes called
// computations out where they are called; the fingerprints are XLA's and cannot be read back.
enum class PrintForm { kLong, kShort, kCanonical, kFingerprint, kModuleFingerprint };

struct PrintOptions {
  PrintForm form = PrintForm::kLong;
  bool as_xla = false;     // XLA's bytes, also where they do not read back (-0, async sugar, order, ...).
  bool own_order = false;  // As things stand in the module, not in XLA's post-orders (text-format 9.3, 9.4).
  bool metadata = true;    // Metadata, also inside shardings, and the source tables. kLong alone has them.
  bool layouts = true;
  bool large_constants = true;  // false: constants of more than 10 elements and tuples print as {...}.
  bool backend_config = true;
  int64_t indent = 0;  // Levels of two blanks; for computations and modules.

  // XLA's own choices for a form, and its bytes.
  static PrintOptions Xla(PrintForm form);
};

// Changes a module as XLA's reader does while it loads one: names are made unique over the module, source
// tables are rebuilt from what is used. With as_xla, its text is then XLA's.
void NormalizeAsXla(Module& module);

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
// One instruction without indentation or newline: `%r = f32[2]{0} add(%a, %b)`.
std::string Print(const Instruction& instruction, const PrintOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
