#pragma once
/// \file
/// Verifies modules and infers shapes. The rules are those of shape-rules sections 3 and 4; errors cite them.

#include <memory>

#include "absl/status/statusor.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

/// Selects how strict the verifier is.
struct CheckOptions {
  bool layout_sensitive = false;
  bool allow_mixed_precision = true;  ///< If false, differing float types are errors.
  /// Rejects modules that XLA's verifier rejects although they can be evaluated (shape-rules 4.12). If false,
  /// such findings are warnings.
  bool strict = false;

  /// Returns the options that match XLA's verifier in its default configuration.
  static CheckOptions Strict() { return {.allow_mixed_precision = false, .strict = true}; }
};

/// A module that has passed the verifier. Evaluators accept nothing else.
class CheckedModule {
 public:
  const Module& module() const { return *module_; }
  const std::shared_ptr<const Module>& shared() const { return module_; }

 private:
  friend absl::StatusOr<CheckedModule> Check(std::shared_ptr<const Module>, Diagnostics&,
                                             const CheckOptions&);
  explicit CheckedModule(std::shared_ptr<const Module> module) : module_(std::move(module)) {}
  std::shared_ptr<const Module> module_;
};

/// Verifies the module and reports all errors, up to the limit of `diagnostics`. Returns InvalidArgument with
/// the rendered errors if there are any.
absl::StatusOr<CheckedModule> Check(std::shared_ptr<const Module> module, Diagnostics& diagnostics,
                                    const CheckOptions& options = {});

/// Infers the result shape of an instruction from its operands and attributes (shape-rules section 3).
/// Returns an invalid shape after an error.
Shape InferShape(const Instruction& instruction, Diagnostics& diagnostics);
/// Sets the shape of an instruction that was written without one; for ParseOptions::infer_shape. Returns
/// false after an error.
bool InferMissingShape(Module& module, Instruction& instruction, Diagnostics& diagnostics);

}  // namespace hlo
#pragma GCC visibility pop
