#include "debug/shadow/extended_pairs.h"

#include <algorithm>
#include <complex>

#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "debug/shadow/extended_function.h"

namespace hlo::debug {
namespace {

class SumOfPairs : public reference::ScalarFunction {
 public:
  absl::Status Run(absl::Span<const reference::WideScalar> arguments,
                   absl::Span<reference::WideScalar> results) override {
    const DoubleDouble a(arguments[0].f, arguments[0].imag), b(arguments[1].f, arguments[1].imag);
    const DoubleDouble sum = *EvaluateExtended(Opcode::kAdd, a, b);
    results[0].f = sum.high;
    results[0].imag = LowPart(sum);
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<Literal> PairCaller::Call(const Computation& /*computation*/,
                                         absl::Span<Literal> /*arguments*/) {
  return absl::UnimplementedError("the computation has no form in double-double");
}

std::unique_ptr<reference::ScalarFunction> PairCaller::ScalarFunctionOf(const Computation& computation) {
  const auto pairs = pairs_.called_computations(), declared = instruction_.called_computations();
  const auto found = std::find(pairs.begin(), pairs.end(), &computation);
  return found == pairs.end()
             ? nullptr
             : ExtendedFunction(*declared[static_cast<size_t>(found - pairs.begin())], table_);
}

std::unique_ptr<reference::ScalarFunction> PartSumCaller::ScalarFunctionOf(
    const Computation& /*computation*/) {
  return std::make_unique<SumOfPairs>();
}

absl::StatusOr<Literal> Paired(const ShadowValue& value, ComplexTable& table) {
  if (!value.is_float()) return value.declared;
  if (value.declared.type() == ElementType::kC128) {
    HLO_ASSIGN_OR_RETURN(Literal numbers,
                         Literal::Create(Shape::Array(ElementType::kU64, value.declared.dims())));
    const ComplexView elements(value);
    int64_t at = 0;
    for (uint64_t& number : numbers.mutable_span<uint64_t>()) number = table.Add(elements[at++]);
    return numbers;
  }
  HLO_ASSIGN_OR_RETURN(Literal pairs,
                       Literal::Create(Shape::Array(ElementType::kC128, value.declared.dims())));
  const double *high = Doubles(value.wide).data(),
               *low = value.low.shape().IsValid() ? Doubles(value.low).data() : nullptr;
  auto* out = pairs.mutable_span<std::complex<double>>().data();
  for (int64_t i = 0; i < pairs.element_count(); ++i) out[i] = {high[i], low == nullptr ? 0 : low[i]};
  return pairs;
}

absl::StatusOr<ExtendedValue> Unpaired(const Literal& pairs, ElementType declared,
                                       const ComplexTable& table) {
  if (declared == ElementType::kC128) {
    HLO_ASSIGN_OR_RETURN(ExtendedValue value, NewValue<ComplexDoubleDouble>(pairs.dims()));
    for (int64_t i = 0; i < pairs.element_count(); ++i) Store(value, i, table[pairs.span<uint64_t>()[i]]);
    return value;
  }
  if (declared != ElementType::kF64) return ExtendedValue();
  HLO_ASSIGN_OR_RETURN(ExtendedValue value, NewValue(pairs.dims()));
  const auto* in = pairs.span<std::complex<double>>().data();
  double *high = MutableDoubles(value.high).data(), *low = MutableDoubles(value.low).data();
  for (int64_t i = 0; i < pairs.element_count(); ++i) {
    high[i] = in[i].real();
    low[i] = in[i].imag();
  }
  return value;
}

absl::StatusOr<Literal> PairedPart(const ShadowValue& value, ComplexPart part) {
  HLO_ASSIGN_OR_RETURN(Literal pairs,
                       Literal::Create(Shape::Array(ElementType::kC128, value.declared.dims())));
  const ComplexView elements(value);
  int64_t at = 0;
  for (std::complex<double>& pair : pairs.mutable_span<std::complex<double>>()) {
    const ComplexDoubleDouble element = elements[at++];
    const DoubleDouble& number = part == ComplexPart::kReal ? element.real : element.imag;
    pair = {number.high, number.low};
  }
  return pairs;
}

absl::StatusOr<ExtendedValue> FromPairedParts(const Literal& real, const Literal& imaginary) {
  HLO_ASSIGN_OR_RETURN(ExtendedValue value, NewValue<ComplexDoubleDouble>(real.dims()));
  const auto reals = real.span<std::complex<double>>(), imaginaries = imaginary.span<std::complex<double>>();
  for (size_t i = 0; i < reals.size(); ++i) {
    const DoubleDouble x(reals[i].real(), reals[i].imag()), y(imaginaries[i].real(), imaginaries[i].imag());
    Store(value, static_cast<int64_t>(i), ComplexDoubleDouble(x, y));
  }
  return value;
}

bool HaveExtendedFunctions(const Instruction& instruction) {
  const auto computations = instruction.called_computations();
  ComplexTable constants;
  return std::all_of(computations.begin(), computations.end(), [&](const Computation* computation) {
    return ExtendedFunction(*computation, constants) != nullptr;
  });
}

}  // namespace hlo::debug
