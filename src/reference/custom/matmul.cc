// Matrix products of GPU and CPU libraries (semantics 9.7): activation(alpha a b + beta c + bias), rounded
// once.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/status.h"
#include "fmt/format.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/custom/activations.h"
#include "reference/custom/functions.h"
#include "reference/custom/options.h"
#include "reference/custom/signature.h"
#include "types/wide.h"

namespace hlo::reference::custom {
namespace {

// A list of dimensions, whose numbers may be written as strings. Empty where there is none.
Index DimsAt(const Options& options, std::string_view name) {
  Index dims;
  const nlohmann::json* list = options.Find(name);
  if (list == nullptr || !list->is_array()) return dims;
  for (const nlohmann::json& item : *list) {
    int64_t dim = -1;
    if (item.is_number_integer()) dim = item.get<int64_t>();
    if (item.is_string())
      dim = item.get_ref<const std::string&>().size() == 1 ? item.get<std::string>()[0] - '0' : -1;
    dims.push_back(dim);
  }
  return dims;
}

DotDims DimsOf(const Options& numbers, std::string_view side, int64_t rank) {
  DotDims dims;
  dims.batch = DimsAt(numbers, fmt::format("{}_batch_dimensions", side));
  dims.contracting = DimsAt(numbers, fmt::format("{}_contracting_dimensions", side));
  dims.free = OtherDims(rank, dims.batch, dims.contracting);
  return dims;
}

Options GemmOptions(const Instruction& call) { return Options(call).Group("gemm_backend_config"); }

bool AreDimensions(const DotDims& dims, int64_t rank) {
  std::set<int64_t> seen;
  for (const Index* list : {&dims.batch, &dims.contracting}) {
    for (const int64_t d : *list) {
      if (d < 0 || d >= rank || !seen.insert(d).second) return false;
    }
  }
  return true;
}

// The sizes of a product: batch, free dimensions of a, free dimensions of b.
std::string DimsMisfit(const Shape& a, const DotDims& l, const Shape& b, const DotDims& r,
                       const Shape& result) {
  const bool fits =
      AreDimensions(l, a.rank()) && AreDimensions(r, b.rank()) &&
      Pick(a.dims(), l.batch) == Pick(b.dims(), r.batch) &&
      Pick(a.dims(), l.contracting) == Pick(b.dims(), r.contracting) &&
      Concat(Pick(a.dims(), l.batch), Pick(a.dims(), l.free), Pick(b.dims(), r.free)) == Index(result.dims());
  if (fits) return "";
  return fmt::format("the dimension numbers of its configuration do not fit {} and {} with the product {}",
                     ToString(a), ToString(b), ToString(result));
}

// Infinity for types that have more than 8 bits: their overflow is a matter of rounding.
double LargestFinite(ElementType type) {
  if (BitWidth(type) != 8 || !IsFloat(type)) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    const double value = Loader<double>(type)(&byte, 0);
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

// Which operand is what.
struct GemmOperands {
  int c = -1, a_scale = -1, b_scale = -1, bias = -1, d_scale = -1;
  int count = 2;
};
GemmOperands OperandsOf(const Instruction& call) {
  const Options options = GemmOptions(call);
  const bool is_f8 = call.Get<attr::custom_call_target>().ends_with("$f8");
  GemmOperands operands;
  if (options.Number("beta", 0) != 0) operands.c = operands.count++;
  if (is_f8) {
    operands.a_scale = operands.count++;
    operands.b_scale = operands.count++;
  }
  if (options.Text("epilogue", "DEFAULT").find("BIAS") != std::string::npos) operands.bias = operands.count++;
  if (is_f8 && operands.count < call.operand_count()) operands.d_scale = operands.count++;
  return operands;
}

// Element 0, or the factor 1 where there is none.
template <class W>
absl::StatusOr<W> ScaleOf(const OpContext& context, int operand) {
  if (operand < 0) return W(1);
  HLO_ASSIGN_OR_RETURN(const Literal scale, Widened(context.operands[operand], WideType<W>()));
  return scale.span<W>()[0];
}

template <class W>
absl::Status AddTerms(const OpContext& context, const GemmOperands& operands, const Options& options,
                      Literal& d) {
  const absl::Span<W> out = d.mutable_span<W>();
  HLO_ASSIGN_OR_RETURN(const W a_scale, ScaleOf<W>(context, operands.a_scale));
  HLO_ASSIGN_OR_RETURN(const W b_scale, ScaleOf<W>(context, operands.b_scale));
  W alpha = W(options.Number("alpha_real", 1));
  if constexpr (std::is_same_v<W, std::complex<double>>) alpha.imag(options.Number("alpha_imag", 0));
  for (W& x : out) x *= alpha * a_scale * b_scale;
  if (operands.c >= 0) {
    HLO_ASSIGN_OR_RETURN(const Literal c, Widened(context.operands[operands.c], d.type()));
    const double beta = options.Number("beta", 0);
    for (size_t i = 0; i < out.size(); ++i) out[i] += W(beta) * c.span<W>()[i];
  }
  if (operands.bias >= 0) {
    HLO_ASSIGN_OR_RETURN(const Literal bias, Widened(context.operands[operands.bias], d.type()));
    const auto columns = static_cast<size_t>(bias.element_count());
    for (size_t i = 0; i < out.size(); ++i) out[i] += bias.span<W>()[i % columns];
  }
  return absl::OkStatus();
}

// The results in order: d; what the activation was applied to; the largest absolute value; work space.
absl::StatusOr<Literal> Results(const OpContext& context, Literal d, const Literal& before,
                                const Literal& amax, bool aux) {
  if (!context.shape().IsTuple()) return d;
  std::vector<Literal> results = {std::move(d)};
  for (size_t i = 1; i < context.shape().elements().size(); ++i) {
    const Shape& shape = context.shape().element(static_cast<int64_t>(i));
    const bool is_aux = aux && i == 1 && shape.dims() == before.dims();
    const bool is_amax = amax.shape().IsValid() && shape.IsScalar(ElementType::kF32);
    HLO_ASSIGN_OR_RETURN(Literal result, is_aux    ? Rounded(before, shape)
                                         : is_amax ? Rounded(amax, shape)
                                                   : Literal::CreateZeros(shape));
    results.push_back(std::move(result));
  }
  return Literal::Tuple(std::move(results));
}

}  // namespace

std::string GemmMisfit(const Instruction& call) {
  const Options options = GemmOptions(call), numbers = options.Group("dot_dimension_numbers");
  const Shape &a = call.operand(0)->shape(), &b = call.operand(1)->shape(), &d = ResultShapes(call)[0];
  std::string misfit =
      DimsMisfit(a, DimsOf(numbers, "lhs", a.rank()), b, DimsOf(numbers, "rhs", b.rank()), d);
  if (!misfit.empty()) return misfit;
  const GemmOperands operands = OperandsOf(call);
  if (operands.count != call.operand_count())
    return fmt::format("its configuration asks for {} operands, but it has {}", operands.count,
                       call.operand_count());
  if (operands.c >= 0 && call.operand(operands.c)->shape().dims() != d.dims())
    return fmt::format("operand {} is added to the product {}, but it is {}", operands.c, ToString(d),
                       ToString(call.operand(operands.c)->shape()));
  if (operands.bias >= 0) {
    const Shape& bias = call.operand(operands.bias)->shape();
    if (bias.rank() != 1 || d.rank() == 0 || bias.dim(0) != d.dim(d.rank() - 1))
      return fmt::format("the bias of {} is {}", ToString(d), ToString(bias));
  }
  for (const int scale : {operands.a_scale, operands.b_scale, operands.d_scale}) {
    if (scale >= 0 && call.operand(scale)->shape().ElementCount() != 1)
      return fmt::format("operand {} is a scale, but it is {}", scale,
                         ToString(call.operand(scale)->shape()));
  }
  const std::string epilogue = options.Text("epilogue", "DEFAULT");
  return FindEpilogue(epilogue) ? "" : fmt::format("its epilogue {} is not known", epilogue);
}

absl::StatusOr<Literal> Gemm(OpContext& context) {
  const Options options = GemmOptions(context.instruction), numbers = options.Group("dot_dimension_numbers");
  const Literal &a = context.operands[0], &b = context.operands[1];
  const Shape& shape = ResultShapes(context.instruction)[0];
  // As with a dot: integers that give a float are summed as integers.
  const ElementType sum_type = ContractionType(a.type(), b.type(), a.type());
  const ElementType type = IsComplex(a.type()) ? ElementType::kC128 : ElementType::kF64;
  HLO_ASSIGN_OR_RETURN(const Literal lhs, Widened(a, sum_type));
  HLO_ASSIGN_OR_RETURN(const Literal rhs, Widened(b, sum_type));
  HLO_ASSIGN_OR_RETURN(Literal d,
                       DotSum(lhs, DimsOf(numbers, "lhs", a.rank()), rhs, DimsOf(numbers, "rhs", b.rank())));
  HLO_ASSIGN_OR_RETURN(d, Widened(d, type));
  HLO_RETURN_IF_ERROR(d.MakeUnique());
  const GemmOperands operands = OperandsOf(context.instruction);
  if (type == ElementType::kC128) {
    HLO_RETURN_IF_ERROR(AddTerms<std::complex<double>>(context, operands, options, d));
    HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(d, shape));
    return Results(context, std::move(rounded), d, Literal(), false);
  }
  HLO_RETURN_IF_ERROR(AddTerms<double>(context, operands, options, d));
  const std::string epilogue = options.Text("epilogue", "DEFAULT");
  Literal before = d;
  HLO_RETURN_IF_ERROR(d.MakeUnique());
  HLO_ASSIGN_OR_RETURN(Literal amax, Literal::CreateZeros(Shape::Scalar(ElementType::kF64)));
  HLO_ASSIGN_OR_RETURN(const double d_scale, ScaleOf<double>(context, operands.d_scale));
  const double bound =
      operands.d_scale >= 0 ? LargestFinite(shape.type()) : std::numeric_limits<double>::infinity();
  double& largest = amax.mutable_span<double>()[0];
  for (double& x : d.mutable_span<double>()) {
    x = Activate(*FindEpilogue(epilogue), x);
    largest = std::max(largest, std::abs(x));
    x = std::clamp(x * d_scale, -bound, bound);
  }
  HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(d, shape));
  const bool is_f8 = operands.a_scale >= 0;
  return Results(context, std::move(rounded), before, is_f8 ? amax : Literal(),
                 epilogue.find("AUX") != std::string::npos);
}

}  // namespace hlo::reference::custom
