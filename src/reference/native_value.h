#pragma once
// Values in memory in the layout of a shape, for native code.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::reference {

// The bytes of an array, or the values of a tuple's elements.
class NativeValue {
 public:
  static absl::StatusOr<NativeValue> Make(const Literal& value, const Shape& shape);

  // Returns the bytes, or an array of pointers to those of the elements; nullptr for tokens.
  void* data();
  // Appends the arrays and tokens of the value in depth-first order.
  void CollectLeaves(std::vector<NativeValue*>* out);
  const Shape& shape() const { return shape_; }
  absl::StatusOr<Literal> Read() const;

 private:
  Shape shape_;
  std::shared_ptr<Buffer> bytes_;
  std::vector<NativeValue> elements_;
  std::vector<void*> pointers_;
};

// Returns the shape of operand i with the layout that the call requires.
const Shape& OperandInMemory(const Instruction& call, size_t i);

}  // namespace hlo::reference
