#include "reference/dot_algorithm.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "reference/arrays.h"
#include "types/scalar_ops.h"

namespace hlo::reference {
namespace {

struct SplitPair {
  int lhs, rhs;  // Indices of pieces, the most significant first.
};

constexpr int kF32ExponentBits = 8;

// The mantissa bits of a piece of an f32, the number of pieces, and the products in the order of their
// addition.
struct Algorithm {
  int mantissa_bits = 23;
  ElementType accumulator = ElementType::kF32;
  int pieces = 1;
  std::vector<SplitPair> products = {{0, 0}};
};

Algorithm Describe(PrecisionAlgorithm algorithm) {
  constexpr ElementType kF32 = ElementType::kF32;
  const std::vector<SplitPair> x3 = {{1, 0}, {0, 1}, {0, 0}};
  switch (algorithm) {
    case PrecisionAlgorithm::kF16F16F16:
      return {23, ElementType::kF16};
    case PrecisionAlgorithm::kF16F16F32:
      return {23, kF32};
    case PrecisionAlgorithm::kBF16BF16BF16:
      return {7, ElementType::kBF16};
    case PrecisionAlgorithm::kBF16BF16F32:
      return {7, kF32};
    case PrecisionAlgorithm::kBF16BF16F32X3:
      return {7, kF32, 2, x3};
    case PrecisionAlgorithm::kBF16BF16F32X6:
      return {7, kF32, 3, {{1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}};
    case PrecisionAlgorithm::kBF16BF16F32X9:
      return {7, kF32, 3, {{2, 2}, {2, 1}, {1, 2}, {1, 1}, {0, 2}, {2, 0}, {0, 1}, {1, 0}, {0, 0}}};
    case PrecisionAlgorithm::kTF32TF32F32:
      return {10, kF32};
    case PrecisionAlgorithm::kTF32TF32F32X3:
      return {10, kF32, 2, x3};
    case PrecisionAlgorithm::kF64F64F64:
      return {52, ElementType::kF64};
    default:
      return {};
  }
}

// Truncates the mantissa of a value to this many bits.
float Cut(float value, int mantissa_bits) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) >> (23 - mantissa_bits) << (23 - mantissa_bits));
}

// Splits values. The last piece is rounded; the others are truncated:
//   hi = cut(x), mid = cut(x - hi), lo = round(x - hi - mid).
absl::StatusOr<std::vector<Literal>> Pieces(const Literal& array, const Algorithm& algorithm) {
  HLO_ASSIGN_OR_RETURN(const Literal wide, Widened(array, ElementType::kF64));
  if (algorithm.accumulator == ElementType::kF64) return std::vector<Literal>{wide};
  std::vector<Literal> pieces(algorithm.pieces);
  for (Literal& piece : pieces) {
    HLO_ASSIGN_OR_RETURN(piece, Literal::Create(wide.shape()));
  }
  for (int64_t i = 0; i < wide.element_count(); ++i) {
    float rest = static_cast<float>(wide.span<double>()[i]);
    for (int p = 0; p < algorithm.pieces - 1; ++p) {
      const float piece = Cut(rest, algorithm.mantissa_bits);
      pieces[p].mutable_span<double>()[i] = piece;
      rest -= piece;
    }
    pieces.back().mutable_span<double>()[i] =
        scalar::ReducePrecision(rest, kF32ExponentBits, algorithm.mantissa_bits);
  }
  return pieces;
}

}  // namespace

// Adds the products one after the other. Before the last one, that of the most significant pieces, NaNs are
// cleared, because the lower pieces of an infinity contain inf - inf.
absl::StatusOr<Literal> SumByAlgorithm(PrecisionAlgorithm algorithm, const Literal& lhs, const Literal& rhs,
                                       SumOfProducts sum) {
  const Algorithm description = Describe(algorithm);
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> left, Pieces(lhs, description));
  HLO_ASSIGN_OR_RETURN(const std::vector<Literal> right, Pieces(rhs, description));
  Literal total;
  for (const SplitPair& pair : description.products) {
    HLO_ASSIGN_OR_RETURN(Literal product, sum(left[pair.lhs], right[pair.rhs]));
    HLO_ASSIGN_OR_RETURN(product, WithType(product, description.accumulator));
    HLO_ASSIGN_OR_RETURN(product, Widened(product, ElementType::kF64));
    if (total.shape().IsValid()) {
      const bool last = &pair == &description.products.back();
      for (int64_t i = 0; i < product.element_count(); ++i) {
        double before = total.span<double>()[i];
        if (last && std::isnan(before)) before = 0;
        double& value = product.mutable_span<double>()[i];
        value = static_cast<float>(before + value);
      }
    }
    total = std::move(product);
  }
  return total;
}

}  // namespace hlo::reference
