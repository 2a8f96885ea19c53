#pragma once
// Is a module well formed? Rules: shape-rules sections 3 and 4. Errors cite them.

#include <memory>

#include "absl/status/statusor.h"
#include "hlo_run/diagnostic.h"
#include "hlo_run/module.h"

#pragma GCC visibility push(default)
namespace hlo {

struct CheckOptions {
  bool layout_sensitive = false;
  bool allow_mixed_precision = true;  // Floating types that differ are warnings; false: errors.
  // Refuse what XLA's verifier refuses although it can be evaluated (shape-rules 4.12); else such findings are warnings.
  bool strict = false;

  // XLA's verifier in its default configuration.
  static CheckOptions Strict() { return {.allow_mixed_precision = false, .strict = true}; }
};

// A module that has passed every check; evaluators take nothing else.
class CheckedModule {
 public:
  const Module& module() const { return *module_; }
  const std::shared_ptr<const Module>& shared() const { return module_; }

 private:
  friend absl::StatusOr<CheckedModule> Check(std::shared_ptr<const Module>, Diagnostics&, const CheckOptions&);
  explicit CheckedModule(std::shared_ptr<const Module> module) : module_(std::move(module)) {}
  std::shared_ptr<const Module> module_;
};

// Checks everything and reports all errors (up to the limit of `diagnostics`). The status, when not OK, is
// InvalidArgument with the errors rendered.
absl::StatusOr<CheckedModule> Check(std::shared_ptr<const Module> module, Diagnostics& diagnostics,
                                    const CheckOptions& options = {});

// Infers the result shape of one instruction from its operands and attributes; an invalid shape after an error.
Shape InferShape(const Instruction& instruction, Diagnostics& diagnostics);
// For ParseOptions::infer_shape.
bool InferMissingShape(Module& module, Instruction& instruction, Diagnostics& diagnostics);

}  // namespace hlo
#pragma GCC visibility pop
