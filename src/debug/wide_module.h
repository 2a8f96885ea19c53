#pragma once
// A copy of a module in which floats are f64 and complex numbers c128.

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::debug {

class WideModule {
 public:
  static absl::StatusOr<std::unique_ptr<WideModule>> Make(const Module& module);

  const Module& module() const { return *module_; }
  // Returns the copy of an instruction of the original module.
  const Instruction& Of(const Instruction& instruction) const;

 private:
  std::shared_ptr<Module> module_;
  absl::flat_hash_map<const Computation*, const Computation*> computations_;
};

}  // namespace hlo::debug
