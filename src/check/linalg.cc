// Shape rules of fft, cholesky, triangular-solve and batch normalisation (shape-rules 3.21).

#include "base/counted.h"
#include "check/support.h"

namespace hlo::check {
namespace {

constexpr std::string_view kLinalgRule = "3.21";

// True if the transformed dimensions have the sizes in `length`. The spectrum of a real array stores half of
// the last one.
bool HasFftSizes(const Shape& x, FftType type, IntList length) {
  const int64_t first = x.rank() - static_cast<int64_t>(length.size());
  const bool half = type == FftType::kIrfft;
  for (size_t i = 0; i < length.size(); ++i) {
    const int64_t size = x.dim(first + static_cast<int64_t>(i));
    const bool last = i + 1 == length.size();
    const int64_t wanted = half && last && length[i] > 0 ? length[i] / 2 + 1 : length[i];
    const bool exempt = size == Shape::kUnbounded && (!half || last) && length[i] >= 0;
    if (size != wanted && !exempt) return false;
  }
  return true;
}

}  // namespace

Inferred Fft(RuleContext& c) {
  if (!RequireArray(c, 0, kLinalgRule)) return Failed();
  const Shape& x = c.operand(0);
  const FftType type = c.Get<attr::fft_type>();
  const IntList length = c.Get<attr::fft_length>();
  const auto rank = static_cast<int64_t>(length.size());
  if (rank < 1 || rank > 3 || rank > x.rank()) {
    c.NoteOperand(
        c.Error(c.range_of<attr::fft_length>(), kLinalgRule,
                "fft_length {} must have 1 to 3 entries and at most the rank of {}", Text(length), Text(x)),
        0);
    return Failed();
  }
  const bool real_input = type == FftType::kRfft;
  const bool fits = real_input ? ComplexOf(x.type()).has_value() : IsComplex(x.type());
  if (!fits) {
    c.OperandError(0, kLinalgRule, "{} takes {} elements, but its operand is {}", Word(type),
                   real_input ? "f32 or f64" : "complex", Text(x));
    return Failed();
  }
  if (!HasFftSizes(x, type, length)) {
    const SourceRange at = c.range_of<attr::fft_length>();
    // A complex transform uses its operand's sizes, so fft_length is redundant.
    if (type == FftType::kFft || type == FftType::kIfft) {
      c.Warning(at, kLinalgRule, "fft_length {} differs from the sizes of {}, which are transformed",
                Text(length), Text(x));
    } else {
      c.NoteOperand(
          c.Error(at, kLinalgRule, "{} with fft_length {} does not fit {}{}", Word(type), Text(length),
                  Text(x), real_input ? "" : ", whose last dimension must have length/2+1 elements"),
          0);
      return Failed();
    }
  }
  if (type == FftType::kFft || type == FftType::kIfft) return Like(x);
  Shape result = x;
  result.set_type(real_input ? *ComplexOf(x.type()) : ComponentType(x.type()));
  const int64_t d = x.rank() - 1;
  const int64_t size = real_input && length.back() != 0 ? length.back() / 2 + 1 : length.back();
  result.set_dim(d, size, x.IsDynamic(d) && !x.IsUnbounded(d));
  return result;
}

namespace {

// Requires rank 2 or more, equal last two dimensions and a float or complex type.
bool IsSquare(RuleContext& c, int64_t i) {
  if (!RequireType(c, i, kFloatSet | kComplexSet, kLinalgRule)) return false;
  const Shape& a = c.operand(i);
  if (a.rank() >= 2 && SizesMatch(a.dim(a.rank() - 1), a.dim(a.rank() - 2))) return true;
  c.OperandError(i, kLinalgRule, "{} takes square matrices, but operand {} is {}",
                 Name(c.instruction().opcode()), i, Text(a));
  return false;
}

}  // namespace

Inferred Cholesky(RuleContext& c) {
  if (!RequireArray(c, 0, kLinalgRule) || !IsSquare(c, 0)) return Failed();
  return Like(c.operand(0));
}

Inferred TriangularSolve(RuleContext& c) {
  if (!RequireArrays(c, kLinalgRule)) return Failed();
  bool ok = IsSquare(c, 0);
  const Shape& a = c.operand(0);
  const Shape& b = c.operand(1);
  if (c.Get<attr::transpose_a>() == TransposeA::kInvalid) {
    c.Error(c.range_of<attr::transpose_a>(), kLinalgRule,
            "transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT");
    ok = false;
  }
  if (a.type() != b.type() || a.rank() != b.rank()) {
    c.NoteOperand(
        c.OperandError(1, kLinalgRule, "the operands have one element type and rank, but they are {} and {}",
                       Text(a), Text(b)),
        0);
    return Failed();
  }
  if (!ok) return Failed();
  const int64_t rank = a.rank();
  const int64_t side = c.Get<attr::left_side>() ? rank - 2 : rank - 1;
  bool fits = SizesMatch(a.dim(rank - 1), b.dim(side));
  for (int64_t d = 0; d < rank - 2; ++d) fits = fits && a.dim(d) == b.dim(d);
  if (!fits) {
    c.NoteOperand(c.OperandError(1, kLinalgRule, "{} does not fit on the {} of {}", Text(b),
                                 side == rank - 2 ? "right" : "left", Text(a)),
                  0);
    return Failed();
  }
  return Like(b);
}

namespace {

// Checks the input and its feature dimension.
bool BatchNormInput(RuleContext& c, int64_t* feature) {
  if (!RequireArrays(c, kLinalgRule) || !RequireType(c, 0, kFloatSet, kLinalgRule)) return false;
  *feature = c.Get<attr::feature_index>();
  if (InRange(*feature, c.operand(0).rank())) return true;
  c.NoteOperand(c.Error(c.range_of<attr::feature_index>(), kLinalgRule, "feature_index is {}, but {} has {}",
                        *feature, Text(c.operand(0)), Counted(c.operand(0).rank(), "dimension")),
                0);
  return false;
}

// Requires a float operand with one value per feature, of rank 1 if `vector`.
bool PerFeature(RuleContext& c, int64_t i, int64_t feature, bool vector) {
  const Shape& x = c.operand(0);
  const Shape& v = c.operand(i);
  const bool rank = vector ? v.rank() == 1 : v.rank() >= 1;
  if (SameFp(v.type(), x.type()) && rank && SizesMatch(v.dim(0), x.dim(feature))) return true;
  c.NoteOperand(
      c.OperandError(i, kLinalgRule, "operand {} must have a {} for each of the {} features, but it is {}", i,
                     Name(x.type()), SizeText(x.dim(feature)), Text(v)),
      0);
  return false;
}

Shape WithFeatureVectors(const Shape& x, int64_t feature) {
  Shape vector = Shape::Scalar(x.type());
  vector.AppendDim(x.dim(feature), x.IsDynamic(feature));
  return Shape::Tuple({x, vector, vector});
}

}  // namespace

Inferred BatchNormTraining(RuleContext& c) {
  int64_t feature = 0;
  if (!BatchNormInput(c, &feature)) return Failed();
  bool ok = PerFeature(c, 1, feature, /*vector=*/true);
  ok &= PerFeature(c, 2, feature, /*vector=*/true);
  return ok ? Inferred(WithFeatureVectors(c.operand(0), feature)) : Failed();
}

Inferred BatchNormInference(RuleContext& c) {
  int64_t feature = 0;
  if (!BatchNormInput(c, &feature)) return Failed();
  bool ok = true;
  for (int64_t i = 1; i < 5; ++i) ok &= PerFeature(c, i, feature, i <= 2);
  return ok ? Like(c.operand(0)) : Failed();
}

Inferred BatchNormGrad(RuleContext& c) {
  int64_t feature = 0;
  if (!BatchNormInput(c, &feature)) return Failed();
  bool ok = true;
  for (int64_t i = 1; i < 4; ++i) ok &= PerFeature(c, i, feature, /*vector=*/true);
  if (!SameFp(c.operand(4).type(), c.operand(0).type()) || !SameDimensions(c.operand(4), c.operand(0))) {
    c.NoteOperand(c.OperandError(4, kLinalgRule, "the gradient has the shape of {}, but it is {}",
                                 Text(c.operand(0)), Text(c.operand(4))),
                  0);
    ok = false;
  }
  return ok ? Inferred(WithFeatureVectors(c.operand(0), feature)) : Failed();
}

}  // namespace hlo::check
