// Matrix products of GPU and CPU libraries (semantics 9.7): activation(alpha a b + beta c + bias), rounded
// once.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/custom/as_instruction.h"
#include "reference/custom/call_options.h"
#include "reference/custom/functions.h"
#include "reference/custom/pointwise.h"
#include "reference/custom/signature.h"
#include "types/promotion.h"

namespace hlo::reference::custom {

Options GemmOptions(const Instruction& call) { return Options(call).Group("gemm_backend_config"); }

GemmOperands GemmOperandsOf(const Instruction& call) {
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

namespace {

DotDims DimsOf(const Options& numbers, std::string_view side, int64_t rank) {
  DotDims dims;
  dims.batch = numbers.Ints(fmt::format("{}_batch_dimensions", side));
  dims.contracting = numbers.Ints(fmt::format("{}_contracting_dimensions", side));
  dims.free = OtherDims(rank, dims.batch, dims.contracting);
  return dims;
}

bool AreDimensions(const DotDims& dims, int64_t rank) {
  std::set<int64_t> seen;
  for (const Index* list : {&dims.batch, &dims.contracting}) {
    for (const int64_t d : *list) {
      if (d < 0 || d >= rank || !seen.insert(d).second) return false;
    }
  }
  return true;
}

// Checks the sizes of a product: batch, free dimensions of a, free dimensions of b.
std::string DimsMismatch(const Shape& a, const DotDims& l, const Shape& b, const DotDims& r,
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

// Returns element 0, or 1 without an operand.
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

// Returns the results in order: d, the input of the activation, the largest absolute value, the workspace.
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

// Applies the epilogue in the wide type: activation(alpha d + beta c + bias), and returns all results.
absl::StatusOr<Literal> FinishedProduct(const OpContext& context, const Options& options,
                                        const GemmOperands& operands, Literal d) {
  HLO_RETURN_IF_ERROR(d.MakeUnique());
  const Shape& shape = ResultShapes(context.instruction)[0];
  if (d.type() == ElementType::kC128) {
    HLO_RETURN_IF_ERROR(AddTerms<std::complex<double>>(context, operands, options, d));
    HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(d, shape));
    return Results(context, std::move(rounded), d, Literal(), /*aux=*/false);
  }
  HLO_RETURN_IF_ERROR(AddTerms<double>(context, operands, options, d));
  const std::string epilogue = options.Text("epilogue", "DEFAULT");
  Literal before = d;
  HLO_RETURN_IF_ERROR(d.MakeUnique());
  HLO_ASSIGN_OR_RETURN(Literal amax, Literal::CreateZeros(Shape::Scalar(ElementType::kF64)));
  HLO_ASSIGN_OR_RETURN(const double d_scale, ScaleOf<double>(context, operands.d_scale));
  double& largest = amax.mutable_span<double>()[0];
  for (double& x : d.mutable_span<double>()) {
    x = Activate(*FindEpilogue(epilogue), x);
    largest = std::max(largest, std::abs(x));
    x *= d_scale;
  }
  HLO_ASSIGN_OR_RETURN(Literal rounded, operands.d_scale >= 0 ? Saturated(d, shape) : Rounded(d, shape));
  const bool is_f8 = operands.a_scale >= 0;
  return Results(context, std::move(rounded), before, is_f8 ? amax : Literal(),
                 epilogue.find("AUX") != std::string::npos);
}

// Checks the terms that are added to the product d; returns "" if they fit.
std::string MatmulMismatch(const Instruction& call, const Options& options, const GemmOperands& operands) {
  const Shape& d = ResultShapes(call)[0];
  if (operands.count != call.operand_count())
    return fmt::format("its configuration asks for {}, but it has {}", Counted(operands.count, "operand"),
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

}  // namespace

std::string GemmMismatch(const Instruction& call) {
  const Options options = GemmOptions(call), numbers = options.Group("dot_dimension_numbers");
  const Shape &a = call.operand(0)->shape(), &b = call.operand(1)->shape(), &d = ResultShapes(call)[0];
  std::string misfit =
      DimsMismatch(a, DimsOf(numbers, "lhs", a.rank()), b, DimsOf(numbers, "rhs", b.rank()), d);
  if (!misfit.empty()) return misfit;
  return MatmulMismatch(call, options, GemmOperandsOf(call));
}

absl::StatusOr<Literal> Gemm(OpContext& context) {
  const Options options = GemmOptions(context.instruction), numbers = options.Group("dot_dimension_numbers");
  const Literal &a = context.operands[0], &b = context.operands[1];
  // As in a dot, integer products with a float result accumulate as integers.
  const ElementType sum_type = ContractionType(ProductType(a.type(), b.type(), a.type()));
  const ElementType type = IsComplex(a.type()) ? ElementType::kC128 : ElementType::kF64;
  HLO_ASSIGN_OR_RETURN(
      Literal d, DotSum(a, DimsOf(numbers, "lhs", a.rank()), b, DimsOf(numbers, "rhs", b.rank()), sum_type));
  HLO_ASSIGN_OR_RETURN(d, Widened(d, type));
  return FinishedProduct(context, options, GemmOperandsOf(context.instruction), std::move(d));
}

Options GroupedOptions(const Instruction& call) { return Options(call).Group("grouped_gemm_backend_config"); }

GemmOperands GroupedOperandsOf(const Options& options) {
  GemmOperands operands;
  operands.count = 3;
  if (options.Number("beta", 0) != 0) operands.c = operands.count++;
  if (options.Text("epilogue", "DEFAULT").find("BIAS") != std::string::npos) operands.bias = operands.count++;
  return operands;
}

RaggedDims RaggedDimsOf(const Instruction& call) {
  const Options options = GroupedOptions(call);
  const Options ragged =
      (options.Has("ragged_dot_dimension_numbers") ? options : options.Group("gemm_backend_config"))
          .Group("ragged_dot_dimension_numbers");
  const Options numbers = ragged.Group("dot_dimension_numbers");
  return {numbers.Ints("lhs_batch_dimensions"), numbers.Ints("lhs_contracting_dimensions"),
          numbers.Ints("rhs_batch_dimensions"), numbers.Ints("rhs_contracting_dimensions"),
          ragged.Ints("lhs_ragged_dimensions"), ragged.Ints("rhs_group_dimensions")};
}

namespace {

// Returns the equivalent ragged dot in the wide type.
InstructionForm RaggedForm(const Instruction& call, const RaggedDims& dims) {
  const ElementType type =
      IsComplex(call.operand(0)->shape().type()) ? ElementType::kC128 : ElementType::kF64;
  return {Opcode::kRaggedDot,
          {Attribute<attr::lhs_batch_dims>(dims.l_batch),
           Attribute<attr::lhs_contracting_dims>(dims.l_contracting),
           Attribute<attr::rhs_batch_dims>(dims.r_batch),
           Attribute<attr::rhs_contracting_dims>(dims.r_contracting),
           Attribute<attr::lhs_ragged_dims>(dims.ragged), Attribute<attr::rhs_group_dims>(dims.groups)},
          Shape::Array(type, ResultShapes(call)[0].dims())};
}

}  // namespace

std::string GroupedMatmulMismatch(const Instruction& call) {
  const RaggedDims dims = RaggedDimsOf(call);
  std::vector<Shape> operands;
  for (const Instruction* operand : call.operands().first(3)) operands.push_back(operand->shape());
  std::string misfit = FormMismatch(RaggedForm(call, dims), operands);
  if (!misfit.empty()) return misfit;
  const Options options = GroupedOptions(call).Group("gemm_backend_config");
  return MatmulMismatch(call, options, GroupedOperandsOf(options));
}

absl::StatusOr<Literal> GroupedMatmul(OpContext& context) {
  const RaggedDims dims = RaggedDimsOf(context.instruction);
  const absl::Span<Literal> operands = context.operands.first(3);
  HLO_ASSIGN_OR_RETURN(
      Literal d, RunForm(context, RaggedForm(context.instruction, dims), {operands.begin(), operands.end()}));
  const Options options = GroupedOptions(context.instruction).Group("gemm_backend_config");
  return FinishedProduct(context, options, GroupedOperandsOf(options), std::move(d));
}

}  // namespace hlo::reference::custom
