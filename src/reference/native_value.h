#pragma once
// Values as native code sees them: bytes that are laid out as a shape says.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::reference {

// An array's bytes, or the values of a tuple's elements.
class NativeValue {
 public:
  static absl::StatusOr<NativeValue> Make(const Literal& value, const Shape& shape);

  // The bytes, or an array of pointers to those of the elements; nullptr for tokens.
  void* data();
  // The arrays and tokens of the value, depth first.
  void CollectLeaves(std::vector<NativeValue*>* out);
  const Shape& shape() const { return shape_; }
  absl::StatusOr<Literal> Read() const;

 private:
  Shape shape_;
  std::shared_ptr<Buffer> bytes_;
  std::vector<NativeValue> elements_;
  std::vector<void*> pointers_;
};

// The layout in which the call asks for operand i.
const Shape& OperandInMemory(const Instruction& call, size_t i);

}  // namespace hlo::reference
