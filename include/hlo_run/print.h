#pragma once
// From a module to text (text-format 9). print(parse(x)) is a fixed point in the exact and short forms.

#include <cstdint>
#include <string>

#include "hlo_run/module.h"

namespace hlo {

enum class PrintForm { kLong, kShort, kCanonical, kFingerprint };

struct PrintOptions {
  PrintForm form = PrintForm::kLong;
  bool as_xla = false;             // XLA's bytes, also where they do not read back (elided constants, -0, ...).
  bool metadata = true;            // Metadata, also inside shardings, and the source tables.
  bool layouts = true;
  bool large_constants = true;     // false: constants of more than 10 elements print as {...}
  bool backend_config = true;
  int64_t indent = 0;

  // XLA's default long text: constants elided as XLA does, its bytes.
  static PrintOptions Xla(PrintForm form);
};

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
// One instruction without indentation or newline: `%r = f32[2]{0} add(%a, %b)`.
std::string Print(const Instruction& instruction, const PrintOptions& options = {});

}  // namespace hlo
