#include "debug/shadow/extended_complex.h"

#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/complex_double_double.h"
#include "debug/shadow/extended_array.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

// Returns the elements of an f64 or a c128 with its low part; a single element is broadcast.
std::vector<ComplexDoubleDouble> ElementsOf(const ShadowValue& value, int64_t count) {
  const ComplexView view(value);
  std::vector<ComplexDoubleDouble> elements;
  for (int64_t i = 0; i < count; ++i) elements.push_back(view[i]);
  return elements;
}

// Returns an array of the wide type of the result.
absl::StatusOr<ExtendedValue> ArrayOf(const RuleContext& context,
                                      const std::vector<ComplexDoubleDouble>& elements) {
  const bool is_complex = context.declared.type() == ElementType::kC128;
  HLO_ASSIGN_OR_RETURN(ExtendedValue value, is_complex
                                                ? NewValue<ComplexDoubleDouble>(context.declared.dims())
                                                : NewValue(context.declared.dims()));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (is_complex)
      Store(value, static_cast<int64_t>(i), elements[i]);
    else
      Store(value, static_cast<int64_t>(i), elements[i].real);
  }
  return value;
}

// Returns exp(-2 pi i k / n) for each k. Multiples of a quarter turn are exact, as in RootOfUnity.
std::vector<ComplexDoubleDouble> RootsOfUnity(int64_t n) {
  const DoubleDouble half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  std::vector<ComplexDoubleDouble> roots;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t quarters = 4 * k / n;
    const DoubleDouble angle = half_pi * static_cast<double>(4 * k - quarters * n) / static_cast<double>(n);
    ComplexDoubleDouble root = {Cos(angle), -Sin(angle)};
    for (int64_t q = 0; q < quarters; ++q) root = {root.imag, -root.real};
    roots.push_back(root);
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
void Transform(const ComplexDoubleDouble* in, int64_t stride, int64_t n,
               const std::vector<ComplexDoubleDouble>& roots, ComplexDoubleDouble* out) {
  if (n == 1) {
    *out = *in;
    return;
  }
  const int64_t p = SmallestFactor(n), m = n / p, step = static_cast<int64_t>(roots.size()) / n;
  std::vector<ComplexDoubleDouble> parts(static_cast<size_t>(n));
  for (int64_t r = 0; r < p; ++r) Transform(in + r * stride, stride * p, m, roots, &parts[r * m]);
  for (int64_t k = 0; k < n; ++k) {
    ComplexDoubleDouble sum;
    for (int64_t r = 0; r < p; ++r) sum = sum + roots[r * k % n * step] * parts[r * m + k % m];
    out[k] = sum;
  }
}

// An array of complex numbers whose dimensions are transformed one by one.
class Transforms {
 public:
  Transforms(std::vector<ComplexDoubleDouble> elements, Index dims)
      : elements_(std::move(elements)), dims_(std::move(dims)) {}

  // Transforms lines of the dimension, and keeps the first `kept` results. An inverse transform divides by
  // the length.
  void Along(int64_t dimension, bool is_inverse, int64_t kept) {
    const int64_t n = dims_[dimension];
    const std::vector<ComplexDoubleDouble> roots = RootsOfUnity(n);
    std::vector<ComplexDoubleDouble> line(static_cast<size_t>(n)), result(static_cast<size_t>(n));
    EachLine(
        dimension, kept,
        [&](const ComplexDoubleDouble* in, int64_t stride, ComplexDoubleDouble* out, int64_t out_stride) {
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
    EachLine(
        last, length,
        [&](const ComplexDoubleDouble* in, int64_t stride, ComplexDoubleDouble* out, int64_t out_stride) {
          for (int64_t k = 0; k < length; ++k)
            out[k * out_stride] = k <= length / 2 ? in[k * stride] : Conjugate(in[(length - k) * stride]);
        });
  }

  const std::vector<ComplexDoubleDouble>& elements() const { return elements_; }

 private:
  // Calls visit(line, stride, result line, its stride) for each line of a dimension, which gets another
  // length.
  template <class Visit>
  void EachLine(int64_t dimension, int64_t length, Visit&& visit) {
    Index result_dims = dims_, lines = dims_;
    result_dims[dimension] = length;
    lines[dimension] = 1;
    const Index strides = RowMajorStrides(dims_), result_strides = RowMajorStrides(result_dims);
    std::vector<ComplexDoubleDouble> result(static_cast<size_t>(Product(result_dims)));
    for (const Index& i : EachIndex(lines))
      visit(elements_.data() + Offset(i, strides), strides[dimension],
            result.data() + Offset(i, result_strides), result_strides[dimension]);
    elements_ = std::move(result);
    dims_ = std::move(result_dims);
  }

  std::vector<ComplexDoubleDouble> elements_;
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
    transforms.Along(last, /*is_inverse=*/true, length);
  }
  return ArrayOf(context, transforms.elements());
}

}  // namespace

absl::StatusOr<std::optional<ExtendedValue>> ExtendedComplexResult(const RuleContext& context,
                                                                   absl::Span<const ShadowValue> operands) {
  const Opcode opcode = context.instruction.opcode();
  if (opcode == Opcode::kFft) return Fft(context, operands[0]);
  if (operands.empty() || operands.size() > 2 || !EvaluateComplex(opcode, {}, {})) return std::nullopt;
  const int64_t count = context.declared.element_count();
  const ComplexView a(operands.front()), b(operands.back());
  std::vector<ComplexDoubleDouble> results;
  for (int64_t i = 0; i < count; ++i) results.push_back(*EvaluateComplex(opcode, a[i], b[i]));
  return ArrayOf(context, results);
}

}  // namespace hlo::debug
