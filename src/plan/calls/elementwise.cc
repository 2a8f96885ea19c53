// Elementwise operations and movements of frameworks and compilers.

#include <limits>
#include <utility>
#include <vector>

#include "plan/calls/call_builder.h"
#include "plan/calls/expanders.h"
#include "reference/custom/call_options.h"
#include "reference/custom/quantization.h"
#include "spmd/device_grid.h"
#include "types/counter_random.h"

namespace hlo::plan::calls {
namespace {

using reference::custom::Options;

Op Infinity(CallBuilder& b, double sign) {
  return b.builder().Constant(b.shape_of(0).type(), sign * std::numeric_limits<double>::infinity());
}

// Conversions of instructions with operands of several types would change values.
bool HaveOneType(const Instruction& call) {
  for (const Instruction* operand : call.operands()) {
    if (operand->shape().type() != call.operand(0)->shape().type()) return false;
  }
  return true;
}

}  // namespace

// Returns the operands. Several devices exchange tiles in calls that convert shapes.
Expansion Operands(const Instruction& call) {
  if (spmd::HasSeveralDevices(*call.parent()->module())) return std::nullopt;
  CallBuilder b(call);
  std::vector<Op> operands;
  for (int64_t k = 0; k < b.operand_count(); ++k) operands.push_back(b.Raw(k));
  return b.Finish(operands);
}

Expansion Named(const Instruction& call) {
  if (!HaveOneType(call)) return std::nullopt;
  CallBuilder b(call);
  std::vector<Op> operands;
  for (int64_t k = 0; k < b.operand_count(); ++k) operands.push_back(b.Raw(k));
  return b.Finish({b.builder().Emit(*reference::custom::NamedOpcode(call), operands, {})});
}

Expansion Square(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({b.Raw(0) * b.Raw(0)});
}

Expansion Conj(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({IsComplex(b.shape_of(0).type()) ? build::Conj(b.Raw(0)) : b.Raw(0)});
}

// atan(x) = atan2(x, 1)
Expansion Atan(const Instruction& call) {
  CallBuilder b(call);
  if (!IsFloat(b.shape_of(0).type())) return std::nullopt;
  return b.Finish({build::Atan2(b.Wide(0), build::FullLike(b.Wide(0), 1))});
}

Expansion IsInf(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({build::Eq(build::Abs(b.Raw(0)), Infinity(b, 1))});
}
Expansion IsPosInf(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({build::Eq(b.Raw(0), Infinity(b, 1))});
}
Expansion IsNegInf(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({build::Eq(b.Raw(0), Infinity(b, -1))});
}

// The block cipher ThreeFry2x32 with key (k0, k1) of the counter (x0, x1), elementwise.
Expansion ThreeFryBlocks(const Instruction& call) {
  constexpr int kRounds = 4;
  CallBuilder b(call);
  const auto number = [&](double value) { return b.builder().Constant(ElementType::kU32, value); };
  const Op keys[3] = {b.Raw(0), b.Raw(1), b.Raw(0) ^ b.Raw(1) ^ number(kThreeFryParity)};
  Op x0 = b.Raw(2) + keys[0], x1 = b.Raw(3) + keys[1];
  for (uint32_t group = 0; group < kThreeFryGroups; ++group) {
    for (int k = 0; k < kRounds; ++k) {
      const int rotation = ThreeFryRotation(group, k);
      x0 = x0 + x1;
      x1 = (x1 << number(rotation)) | (x1 >> number(32 - rotation));
      x1 = x1 ^ x0;
    }
    x0 = x0 + keys[(group + 1) % 3];
    x1 = x1 + keys[(group + 2) % 3] + number(group + 1);
  }
  return b.Finish({x0, x1});
}

// X64...: 64-bit integers as two halves.
Expansion SplitLow(const Instruction& call) {
  CallBuilder b(call);
  return b.Finish({CallBuilder::As(b.Raw(0), ElementType::kU32)});
}
Expansion SplitHigh(const Instruction& call) {
  CallBuilder b(call);
  const Op word = build::BitcastConvertType(b.Raw(0), ElementType::kU64);
  return b.Finish({CallBuilder::As(word >> build::ScalarLike(word, 32), ElementType::kU32)});
}
Expansion Combine(const Instruction& call) {
  CallBuilder b(call);
  const Op low = CallBuilder::As(b.Raw(0), ElementType::kU64),
           high = CallBuilder::As(b.Raw(1), ElementType::kU64);
  return b.Finish({build::BitcastConvertType(low | (high << build::ScalarLike(high, 32)), b.type())});
}

Expansion ConcatBitcast(const Instruction& call) {
  CallBuilder b(call);
  std::vector<Op> pieces;
  for (int64_t k = 0; k < b.operand_count(); ++k)
    pieces.push_back(build::Reshape(b.Raw(k), {*b.shape_of(k).ElementCount()}));
  return b.Finish({build::ConcatInDim(pieces, 0)});
}

// result[i] = x[(i - amount) mod n] along the dimension.
Expansion Rotate(const Instruction& call) {
  CallBuilder b(call);
  const Options options(call);
  const int64_t dimension = options.Int("dimension", 0), size = b.shape_of(0).dim(dimension);
  if (size == 0) return std::nullopt;
  const int64_t amount = ((options.Int("amount", 0) % size) + size) % size;
  if (amount == 0) return b.Finish({b.Raw(0)});
  return b.Finish({build::ConcatInDim({build::SliceInDim(b.Raw(0), size - amount, size, 1, dimension),
                                       build::SliceInDim(b.Raw(0), 0, size - amount, 1, dimension)},
                                      dimension)});
}

namespace {

using reference::custom::Quantization;

// Returns the number, or the numbers along the quantized dimension.
Op Parameter(CallBuilder& b, const std::vector<double>& numbers, int64_t dimension) {
  if (numbers.size() == 1) return b.Number(numbers[0]);
  std::vector<Op> elements;
  for (const double number : numbers) elements.push_back(build::Reshape(b.Number(number), {1}));
  return CallBuilder::Along(build::ConcatInDim(elements, 0), b.results()[0].dims(), dimension);
}

}  // namespace

// q = clamp(round(x / scale) + zero_point, storage_min, storage_max), with ties to even.
Expansion UniformQuantize(const Instruction& call) {
  CallBuilder b(call);
  const Quantization form(Options(call), b.results()[0], b.results()[0].type());
  b.set_type(ElementType::kF64);
  const Op steps = build::RoundNearestEven(b.Wide(0) / Parameter(b, form.scales, form.dimension)) +
                   Parameter(b, form.zero_points, form.dimension);
  return b.Finish({build::Clamp(b.Number(form.low), steps, b.Number(form.high))});
}

// x = (q - zero_point) * scale
Expansion UniformDequantize(const Instruction& call) {
  CallBuilder b(call);
  const Quantization form(Options(call), b.results()[0], b.shape_of(0).type());
  b.set_type(ElementType::kF64);
  return b.Finish({(b.Wide(0) - Parameter(b, form.zero_points, form.dimension)) *
                   Parameter(b, form.scales, form.dimension)});
}

}  // namespace hlo::plan::calls
