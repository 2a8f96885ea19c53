#pragma once
// Builds the module that replaces a custom call.

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "hlo_run/builder.h"
#include "hlo_run/check.h"
#include "reference/custom/activations.h"

namespace hlo::plan {

using build::Op;

// The parameters of the module are the operands of the call. It computes in `type`: f32, or f64 if an operand
// or the first result is f64; if the first result is no float, in its type.
class CallBuilder {
 public:
  explicit CallBuilder(const Instruction& call);

  const Instruction& call() const { return call_; }
  build::Builder& builder() { return builder_; }
  ElementType type() const { return type_; }
  void set_type(ElementType type) { type_ = type; }
  absl::Span<const Shape> results() const { return results_; }
  int64_t operand_count() const { return static_cast<int64_t>(operands_.size()); }
  const Shape& shape_of(int64_t operand) const { return call_.operand(operand)->shape(); }

  // Returns an operand in its declared type, or in `type()`.
  Op Raw(int64_t operand) const { return operands_[static_cast<size_t>(operand)]; }
  Op Wide(int64_t operand) const { return As(Raw(operand), type_); }

  static Op As(Op x, ElementType type) { return x.type() == type ? x : build::ConvertElementType(x, type); }
  static Op Scaled(Op x, double factor) { return factor == 1 ? x : x * build::ScalarLike(x, factor); }
  // Returns a vector along a dimension of an array of these sizes.
  static Op Along(Op vector, build::Dims dims, int64_t dimension) {
    return build::BroadcastInDim(vector, dims, {dimension});
  }
  Op Number(double value) { return builder_.Constant(type_, value); }
  // Reduce dimensions; the result keeps them with size 1.
  Op Sum(Op x, build::Dims dimensions);
  Op Max(Op x, build::Dims dimensions);

  // Returns the largest absolute value as a scalar, without NaNs.
  Op LargestAbsolute(Op x);

  // Names the instruction as the call, so that profiles show it.
  Op Named(Op x) { return builder_.SetName(x, call_.name()); }

  // Returns the module whose results have the declared shapes, to which they are converted and reshaped.
  // Results that are missing are scratch memory.
  std::optional<CheckedModule> Finish(std::vector<Op> results);

 private:
  Op Reduced(Op x, Opcode opcode, double init, build::Dims dimensions);

  const Instruction& call_;
  absl::Span<const Shape> results_;
  build::Builder builder_;
  std::vector<Op> operands_;
  ElementType type_;
};

// Returns an invalid Op for unsupported activations.
Op Activated(const reference::custom::Activation& activation, Op x);

// Clamps x to the finite numbers of a type of at most 8 bits, and converts to it.
Op Saturated(Op x, ElementType type);

// Broadcasts an array to these sizes: a vector along dimension `feature`, others aligned at the last
// dimension.
Op BroadcastTo(Op array, build::Dims dims, int64_t feature);

// Copies the instructions of a computation that calls no others: parameters are these arguments, and `emit`
// makes the other copies from those of the operands.
using Copies = absl::flat_hash_map<const Instruction*, Op>;
using EmitCopy = absl::FunctionRef<Op(const Instruction& instruction, const std::vector<Op>& operands)>;
Copies InlinedBy(const Computation& computation, const std::vector<Op>& arguments, EmitCopy emit);
// Returns the root of a copy of a computation that calls no others, on these arguments.
Op Inlined(build::Builder& builder, const Computation& computation, const std::vector<Op>& arguments);
bool CallsComputations(const Computation& computation);

// Returns a copy of a computation that calls no others, in the builder's module; null if it calls some.
// `unused` are the shapes of parameters that are added at the end.
build::Function Imported(build::Builder& builder, const Computation& computation,
                         absl::Span<const Shape> unused = {});

}  // namespace hlo::plan
