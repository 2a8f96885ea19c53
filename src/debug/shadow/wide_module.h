#pragma once
// Copies of a module with other element types.

#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo_run/module.h"

namespace hlo::debug {

class WideModule {
 public:
  // Floats are f64, and complex numbers c128.
  static absl::StatusOr<std::unique_ptr<WideModule>> Make(const Module& module);
  // Every f64 is a c128, whose parts are those of a double-double. Every c128 is a u64, its number in a
  // ComplexTable.
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
