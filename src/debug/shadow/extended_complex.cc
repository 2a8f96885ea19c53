#include "debug/shadow/extended_complex.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/double_double.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

using Complex = std::complex<double>;

struct ExtendedComplex {
  DoubleDouble real, imag;
};

ExtendedComplex operator+(const ExtendedComplex& a, const ExtendedComplex& b) {
  return {a.real + b.real, a.imag + b.imag};
}
ExtendedComplex operator-(const ExtendedComplex& a, const ExtendedComplex& b) {
  return {a.real - b.real, a.imag - b.imag};
}
ExtendedComplex operator*(const ExtendedComplex& a, const ExtendedComplex& b) {
  return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
ExtendedComplex operator/(const ExtendedComplex& a, const DoubleDouble& b) {
  return {a.real / b, a.imag / b};
}
ExtendedComplex Conjugate(const ExtendedComplex& a) { return {a.real, -a.imag}; }
DoubleDouble SquareOf(const ExtendedComplex& a) { return a.real * a.real + a.imag * a.imag; }
bool IsFinite(const ExtendedComplex& a) { return std::isfinite(a.real.high) && std::isfinite(a.imag.high); }

// The elements of an f64 or a c128 with its low part; a single element is broadcast.
std::vector<ExtendedComplex> ElementsOf(const ShadowValue& value, int64_t count) {
  const bool has_low = value.low.shape().IsValid(), is_single = value.wide.element_count() == 1;
  std::vector<ExtendedComplex> elements(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = is_single ? 0 : i;
    ExtendedComplex& element = elements[static_cast<size_t>(i)];
    if (value.wide.type() == ElementType::kC128) {
      const Complex high = value.wide.span<Complex>()[at],
                    low = has_low ? value.low.span<Complex>()[at] : Complex();
      element = {{high.real(), low.real()}, {high.imag(), low.imag()}};
    } else {
      element.real = {Doubles(value.wide)[at], has_low ? Doubles(value.low)[at] : 0};
    }
  }
  return elements;
}

double LowPart(const DoubleDouble& x) { return std::isfinite(x.high) ? x.low : 0; }

// Returns an array of the wide type of the result.
absl::StatusOr<ExtendedValue> ArrayOf(const RuleContext& context,
                                      const std::vector<ExtendedComplex>& elements) {
  const ElementType type = context.declared.type();
  ExtendedValue value;
  HLO_ASSIGN_OR_RETURN(value.high, Literal::CreateZeros(Shape::Array(type, context.declared.dims())));
  HLO_ASSIGN_OR_RETURN(value.low, Literal::CreateZeros(Shape::Array(type, context.declared.dims())));
  for (size_t i = 0; i < elements.size(); ++i) {
    const ExtendedComplex& x = elements[i];
    if (type == ElementType::kC128) {
      value.high.mutable_span<Complex>()[i] = {x.real.high, x.imag.high};
      value.low.mutable_span<Complex>()[i] = {LowPart(x.real), LowPart(x.imag)};
    } else {
      value.high.mutable_span<double>()[i] = x.real.high;
      value.low.mutable_span<double>()[i] = LowPart(x.real);
    }
  }
  return value;
}

// Returns nullopt for other opcodes.
std::optional<ExtendedComplex> ApplyComplex(Opcode opcode, const ExtendedComplex& a,
                                            const ExtendedComplex& b) {
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kDivide:
      return a * Conjugate(b) / SquareOf(b);
    case Opcode::kNegate:
      return ExtendedComplex{-a.real, -a.imag};
    case Opcode::kComplex:
      return ExtendedComplex{a.real, b.real};
    case Opcode::kReal:
    case Opcode::kConvert:  // A conversion of an f64 has no imaginary part.
      return a;
    case Opcode::kImag:
      return ExtendedComplex{a.imag, {}};
    case Opcode::kAbs:
      return ExtendedComplex{Sqrt(SquareOf(a)), {}};
    case Opcode::kExponential: {
      const DoubleDouble size = Exp(a.real);
      return ExtendedComplex{size * Cos(a.imag), size * Sin(a.imag)};
    }
    default:
      return std::nullopt;
  }
}

// Returns exp(-2 pi i k / n) for each k.
std::vector<ExtendedComplex> RootsOfUnity(int64_t n) {
  const DoubleDouble two_pi = {0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52};
  std::vector<ExtendedComplex> roots;
  for (int64_t k = 0; k < n; ++k) {
    const DoubleDouble angle = two_pi * static_cast<double>(k) / static_cast<double>(n);
    roots.push_back({Cos(angle), -Sin(angle)});
  }
  return roots;
}

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// out[k] = sum over j < n of in[j * stride] exp(-2 pi i j k / n), by the Cooley-Tukey recursion. `roots` are
// those of a multiple of n.
void Transform(const ExtendedComplex* in, int64_t stride, int64_t n,
               const std::vector<ExtendedComplex>& roots, ExtendedComplex* out) {
  if (n == 1) {
    *out = *in;
    return;
  }
  const int64_t p = SmallestFactor(n), m = n / p, step = static_cast<int64_t>(roots.size()) / n;
  std::vector<ExtendedComplex> parts(static_cast<size_t>(n));
  for (int64_t r = 0; r < p; ++r) Transform(in + r * stride, stride * p, m, roots, &parts[r * m]);
  for (int64_t k = 0; k < n; ++k) {
    ExtendedComplex sum;
    for (int64_t r = 0; r < p; ++r) sum = sum + roots[r * k % n * step] * parts[r * m + k % m];
    out[k] = sum;
  }
}

// An array of complex numbers whose dimensions are transformed one by one.
class Transforms {
 public:
  Transforms(std::vector<ExtendedComplex> elements, Index dims)
      : elements_(std::move(elements)), dims_(std::move(dims)) {}

  // Transforms lines of the dimension, and keeps the first `kept` results. An inverse transform divides by
  // the length.
  void Along(int64_t dimension, bool is_inverse, int64_t kept) {
    const int64_t n = dims_[dimension];
    const std::vector<ExtendedComplex> roots = RootsOfUnity(n);
    std::vector<ExtendedComplex> line(static_cast<size_t>(n)), result(static_cast<size_t>(n));
    EachLine(dimension, kept,
             [&](const ExtendedComplex* in, int64_t stride, ExtendedComplex* out, int64_t out_stride) {
               for (int64_t j = 0; j < n; ++j) {
                 line[j] = in[j * stride];
                 if (is_inverse) line[j] = Conjugate(line[j]);
               }
               Transform(line.data(), 1, n, roots, result.data());
               for (int64_t k = 0; k < kept; ++k)
                 out[k * out_stride] =
                     is_inverse ? Conjugate(result[k]) / DoubleDouble(static_cast<double>(n)) : result[k];
             });
  }

  // Extends lines of the last dimension to this length by the symmetry of the transforms of real numbers.
  void Extend(int64_t length) {
    const int64_t last = dims_.rank() - 1;
    EachLine(last, length,
             [&](const ExtendedComplex* in, int64_t stride, ExtendedComplex* out, int64_t out_stride) {
               for (int64_t k = 0; k < length; ++k)
                 out[k * out_stride] =
                     k <= length / 2 ? in[k * stride] : Conjugate(in[(length - k) * stride]);
             });
  }

  const std::vector<ExtendedComplex>& elements() const { return elements_; }

 private:
  // Calls visit(line, stride, result line, its stride) for each line of a dimension, which gets another
  // length.
  template <class Visit>
  void EachLine(int64_t dimension, int64_t length, Visit&& visit) {
    Index result_dims = dims_, lines = dims_;
    result_dims[dimension] = length;
    lines[dimension] = 1;
    const Index strides = RowMajorStrides(dims_), result_strides = RowMajorStrides(result_dims);
    std::vector<ExtendedComplex> result(static_cast<size_t>(Product(result_dims)));
    for (const Index& i : EachIndex(lines))
      visit(elements_.data() + Offset(i, strides), strides[dimension],
            result.data() + Offset(i, result_strides), result_strides[dimension]);
    elements_ = std::move(result);
    dims_ = std::move(result_dims);
  }

  std::vector<ExtendedComplex> elements_;
  Index dims_;
};

absl::StatusOr<std::optional<ExtendedValue>> Fft(const RuleContext& context, const ShadowValue& operand) {
  const FftType type = context.instruction.Get<attr::fft_type>();
  const IntList lengths = context.instruction.Get<attr::fft_length>();
  const int64_t rank = operand.wide.rank(), last = rank - 1,
                first = rank - static_cast<int64_t>(lengths.size());
  const bool is_inverse = type == FftType::kIfft || type == FftType::kIrfft;
  if (operand.wide.element_count() == 0 || context.declared.element_count() == 0) return std::nullopt;
  Transforms transforms(ElementsOf(operand, operand.wide.element_count()), Index(operand.wide.dims()));
  const int64_t length = lengths[lengths.size() - 1];
  if (type != FftType::kIrfft) transforms.Along(last, is_inverse, context.declared.dim(last));
  for (int64_t d = last - 1; d >= first; --d) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    transforms.Along(d, is_inverse, operand.wide.dim(d));
  }
  if (type == FftType::kIrfft) {
    transforms.Extend(length);
    transforms.Along(last, true, length);
  }
  return ArrayOf(context, transforms.elements());
}

}  // namespace

absl::StatusOr<std::optional<ExtendedValue>> ExtendedComplexResult(const RuleContext& context,
                                                                   absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (opcode == Opcode::kFft) return Fft(context, operands[0]);
  if (operands.empty() || operands.size() > 2 || !ApplyComplex(opcode, {1.0, {}}, {1.0, {}}))
    return std::nullopt;
  const int64_t count = context.declared.element_count();
  const std::vector<ExtendedComplex> a = ElementsOf(operands.front(), count),
                                     b = ElementsOf(operands.back(), count);
  std::vector<ExtendedComplex> results;
  for (size_t i = 0; i < a.size(); ++i) {
    results.push_back(*ApplyComplex(opcode, a[i], b[i]));
    // The rules of infinities and of overflow are those of the wide type.
    if (!IsFinite(results.back())) return std::nullopt;
  }
  return ArrayOf(context, results);
}

}  // namespace hlo::debug
