#pragma once
/// \file
/// Prints modules as HLO text (text-format 9). The long and short forms are fixed points:
/// print(parse(print(m))) == print(m).

#include <cstdint>
#include <string>

#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

/// kLong prints everything; kShort omits metadata; kCanonical numbers the names and inlines called
/// computations; the fingerprint forms are XLA's and cannot be parsed.
enum class PrintForm { kLong, kShort, kCanonical, kFingerprint, kModuleFingerprint };

/// Options of Print.
struct PrintOptions {
  PrintForm form = PrintForm::kLong;
  /// Matches XLA's output byte for byte, even where it cannot be parsed back (-0, async sugar, order).
  bool as_xla = false;
  /// Prints in the module's order instead of XLA's post-orders (text-format 9.3, 9.4).
  bool own_order = false;
  bool metadata = true;  ///< Prints metadata, also in shardings, and the source tables; kLong only.
  bool layouts = true;
  /// If false, constants of more than 10 elements and tuples are elided as {...}.
  bool large_constants = true;
  bool backend_config = true;
  int64_t indent = 0;  ///< The indentation of computations and modules in levels of two spaces.

  /// Returns the options with which XLA prints a form.
  static PrintOptions Xla(PrintForm form);
};

/// Changes a module as XLA's reader does: makes names unique in the module and rebuilds source tables from
/// their uses. Printed with as_xla, the text then equals XLA's.
void NormalizeAsXla(Module& module);

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
/// Prints an instruction without indentation or newline: `%r = f32[2]{0} add(%a, %b)`.
std::string Print(const Instruction& instruction, const PrintOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
