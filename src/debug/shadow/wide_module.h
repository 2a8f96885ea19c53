#pragma once
// Copies of a module with other element types.

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::debug {

class WideModule {
 public:
  // Returns a copy in which floats are f64, and complex numbers are c128.
  static absl::StatusOr<std::unique_ptr<WideModule>> Make(const Module& module);
  // Returns a copy in which an f64 becomes a c128 with the parts of a double-double, and a c128 becomes a
  // u64, which is its index in a ComplexTable.
  static absl::StatusOr<std::unique_ptr<WideModule>> MakePairs(const Module& module);

  const Module& module() const { return *module_; }
  // Returns the copy of an instruction of the original module.
  const Instruction& Of(const Instruction& instruction) const;

 private:
  using ShapeMap = Shape (*)(const Shape& shape);
  static absl::StatusOr<std::unique_ptr<WideModule>> Copy(const Module& module, ShapeMap map);

  std::shared_ptr<Module> module_;
  absl::flat_hash_map<const Computation*, const Computation*> computations_;
};

}  // namespace hlo::debug
