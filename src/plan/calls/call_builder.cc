#include "plan/calls/call_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "ir/result_shapes.h"
#include "plan/calls/replacement.h"
#include "reference/custom/pointwise.h"
#include "types/index.h"

namespace hlo::plan {

using reference::custom::Activation;

CallBuilder::CallBuilder(const Instruction& call)
    : call_(call), results_(ResultShapes(call)), builder_(call.name()) {
  bool wide = results_[0].type() == ElementType::kF64;
  for (const Instruction* operand : call.operands()) {
    const auto number = static_cast<int64_t>(operands_.size());
    operands_.push_back(builder_.Parameter(number, operand->shape().WithoutLayouts()));
    wide |= operand->shape().type() == ElementType::kF64;
  }
  type_ = !IsFloat(results_[0].type()) ? results_[0].type() : wide ? ElementType::kF64 : ElementType::kF32;
}

Op CallBuilder::Reduced(Op x, Opcode opcode, double init, build::Dims dimensions) {
  std::vector<int64_t> kept(x.dims().begin(), x.dims().end());
  for (const int64_t d : dimensions) kept[static_cast<size_t>(d)] = 1;
  const Op reduced =
      build::Reduce(x, builder_.Constant(x.type(), init), builder_.Scalar(opcode, x.type()), dimensions);
  return build::Reshape(reduced, kept);
}
Op CallBuilder::Sum(Op x, build::Dims dimensions) { return Reduced(x, Opcode::kAdd, 0, dimensions); }
Op CallBuilder::Max(Op x, build::Dims dimensions) {
  return Reduced(x, Opcode::kMaximum, -std::numeric_limits<double>::infinity(), dimensions);
}

Op CallBuilder::LargestAbsolute(Op x) {
  std::vector<int64_t> all;
  for (int64_t d = 0; d < x.rank(); ++d) all.push_back(d);
  const Op size = build::Select(build::Eq(x, x), build::Abs(x), build::FullLike(x, 0));
  return build::Max(build::Reshape(Max(size, all), {}), builder_.Constant(x.type(), 0));
}

std::optional<CheckedModule> CallBuilder::Finish(std::vector<Op> results) {
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].ok() || results[k].shape().ElementCount() != results_[k].ElementCount())
      return std::nullopt;
    results[k] = As(results[k], results_[k].type());
    if (!SameDimensions(results[k].shape(), results_[k]))
      results[k] = build::Reshape(results[k], results_[k].dims());
  }
  return BuildReplacement(builder_, results, call_);
}

Op Activated(const Activation& activation, Op x) {
  const auto number = [&](double value) { return build::ScalarLike(x, value); };
  const auto where_negative = [&](Op y) { return build::Select(build::Lt(x, build::FullLike(x, 0)), y, x); };
  switch (activation.kind) {
    case Activation::Kind::kNone:
      return x;
    case Activation::Kind::kRelu:
      return build::Max(x, build::FullLike(x, 0));
    case Activation::Kind::kRelu6:
      return build::Clamp(number(0), x, number(6));
    case Activation::Kind::kClippedRelu:
      return build::Max(build::Min(x, number(activation.alpha)), number(0));
    case Activation::Kind::kLeakyRelu:
      return where_negative(number(activation.alpha) * x);
    case Activation::Kind::kElu:
      return where_negative(number(activation.alpha) * build::Expm1(x));
    case Activation::Kind::kGeluTanh: {
      const Op inner = number(std::sqrt(2 / std::numbers::pi)) * (x + number(0.044715) * x * x * x);
      return number(0.5) * x * (number(1) + build::Tanh(inner));
    }
    case Activation::Kind::kGeluErf:
      return number(0.5) * x * (number(1) + build::Erf(x * number(std::numbers::sqrt2 / 2)));
    case Activation::Kind::kSilu:
      return x / (number(1) + build::Exp(-x));
    case Activation::Kind::kSigmoid:
      return number(1) / (number(1) + build::Exp(-x));
    case Activation::Kind::kTanh:
      return build::Tanh(x);
  }
  return {};
}

Op Saturated(Op x, ElementType type) {
  constexpr int64_t kMaxBits = 8;
  if (BitWidth(type) <= kMaxBits && IsFloat(type)) {
    const double bound = reference::custom::LargestFinite(type);
    x = build::Clamp(build::ScalarLike(x, -bound), x, build::ScalarLike(x, bound));
  }
  return CallBuilder::As(x, type);
}

Op BroadcastTo(Op array, build::Dims dims, int64_t feature) {
  if (!array.ok()) return array;
  const auto rank = static_cast<int64_t>(dims.size());
  std::vector<int64_t> sizes, broadcast_dims;
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (array.dims()[static_cast<size_t>(d)] == 1) continue;
    sizes.push_back(array.dims()[static_cast<size_t>(d)]);
    broadcast_dims.push_back(array.rank() == 1 && rank > 1 ? feature : d + rank - array.rank());
  }
  return build::BroadcastInDim(build::Reshape(array, sizes), dims, broadcast_dims);
}

Copies InlinedBy(const Computation& computation, const std::vector<Op>& arguments, EmitCopy emit) {
  Copies copies;
  for (const Instruction* instruction : computation.instructions()) {
    Op& copy = copies[instruction];
    if (instruction->opcode() == Opcode::kParameter) {
      copy = arguments[static_cast<size_t>(instruction->Get<attr::number>())];
      continue;
    }
    std::vector<Op> operands;
    for (const Instruction* operand : instruction->operands()) operands.push_back(copies.at(operand));
    copy = emit(*instruction, operands);
  }
  return copies;
}

Op Inlined(build::Builder& builder, const Computation& computation, const std::vector<Op>& arguments) {
  const auto emit = [&](const Instruction& instruction, const std::vector<Op>& operands) {
    return builder.Emit(instruction.opcode(), operands,
                        {instruction.attributes().begin(), instruction.attributes().end()},
                        instruction.shape());
  };
  return InlinedBy(computation, arguments, emit).at(computation.root());
}

bool CallsComputations(const Computation& computation) {
  return std::any_of(
      computation.instructions().begin(), computation.instructions().end(),
      [](const Instruction* instruction) { return !instruction->called_computations().empty(); });
}

build::Function Imported(build::Builder& builder, const Computation& computation,
                         absl::Span<const Shape> unused) {
  std::vector<Shape> parameters;
  for (const Instruction* parameter : computation.parameters()) parameters.push_back(parameter->shape());
  parameters.insert(parameters.end(), unused.begin(), unused.end());
  if (CallsComputations(computation)) return {};
  return builder.Define(computation.name(), parameters, [&](const std::vector<Op>& arguments) {
    return Inlined(builder, computation, arguments);
  });
}

}  // namespace hlo::plan
