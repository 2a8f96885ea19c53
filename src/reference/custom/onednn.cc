// oneDNN's products (semantics 9.7), and the operations fused into them and into its convolutions.

#include "reference/custom/onednn.h"

#include <bit>
#include <utility>

#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "ir/result_shapes.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/custom/activations.h"
#include "reference/custom/functions.h"
#include "reference/custom/pointwise.h"
#include "reference/custom/signature.h"
#include "types/index.h"

namespace hlo::reference::custom {

std::vector<std::string> FusedOps(const Options& config) {
  std::vector<std::string> ops;
  const Options fusions = config.Group("fusions");
  const nlohmann::json* list = fusions.Find("ops");
  if (list == nullptr || !list->is_array()) return ops;
  for (const nlohmann::json& op : *list) ops.push_back(op.is_string() ? op.get<std::string>() : op.dump());
  return ops;
}

bool TakesOperand(std::string_view op) { return op == "BIAS" || op == "BINARY_ADD" || op == "SUM"; }

double Alpha(const Options& config) {
  const Options fusions = config.Group("fusions");
  if (!fusions.Has("alpha_typecast")) return fusions.Number("alpha", 1);
  return std::bit_cast<float>(static_cast<int32_t>(fusions.Int("alpha_typecast", 0)));
}

Options MatmulOptions(const Instruction& call) { return Options(call).Group("onednn_matmul_config"); }

namespace {

// Returns the dimension numbers of a matrix in the last two dimensions. A right operand without batch
// dimensions is shared.
DotDims SideOf(const Shape& shape, int64_t batch, bool sum_is_last) {
  DotDims dims;
  for (int64_t d = 0; d < batch; ++d) dims.batch.push_back(d);
  dims.contracting = {shape.rank() - (sum_is_last ? 1 : 2)};
  dims.free = OtherDims(shape.rank(), dims.batch, dims.contracting);
  return dims;
}

}  // namespace

MatmulForm MatmulFormOf(const Instruction& call) {
  const Options options = MatmulOptions(call);
  const Shape &a = call.operand(0)->shape(), &b = call.operand(1)->shape();
  const int64_t batch = b.rank() - 2;
  return {SideOf(a, batch, !options.Bool("transpose_a", false)),
          SideOf(b, batch, options.Bool("transpose_b", false))};
}

std::string FusedMismatch(const Instruction& call, const Options& config, absl::Span<const int64_t> dims,
                          int64_t feature) {
  int64_t next = 2;
  for (const std::string& op : FusedOps(config)) {
    if (!TakesOperand(op)) {
      if (op != "LINEAR" && !FindOnednnOp(op)) return fmt::format("its fused operation {} is not known", op);
      continue;
    }
    if (next >= call.operand_count()) return fmt::format("its fused operation {} has no operand", op);
    const Shape& operand = call.operand(next++)->shape();
    if (!CanBroadcastTo(operand, dims, feature))
      return fmt::format("operand {} is {}, which {} cannot add to the result", next - 1, ToString(operand),
                         op);
  }
  return next == call.operand_count() ? ""
                                      : fmt::format("its fused operations take {}, but it has {}",
                                                    Counted(next, "operand"), call.operand_count());
}

absl::Status ApplyFused(const OpContext& context, const Options& config, int64_t feature, Literal& wide) {
  HLO_RETURN_IF_ERROR(wide.MakeUnique());
  const absl::Span<double> x = wide.mutable_span<double>();
  size_t next = 2;
  for (const std::string& op : FusedOps(config)) {
    if (TakesOperand(op)) {
      HLO_ASSIGN_OR_RETURN(const Literal term, BroadcastTo(context.operands[next++], wide.dims(), feature));
      for (size_t i = 0; i < x.size(); ++i) x[i] += term.span<double>()[i];
    } else if (op == "LINEAR") {
      const double alpha = Alpha(config), beta = config.Group("fusions").Number("beta", 0);
      for (double& v : x) v = alpha * v + beta;
    } else {
      for (double& v : x) v = Activate(*FindOnednnOp(op), v);
    }
  }
  return absl::OkStatus();
}

std::string OnednnMatmulMismatch(const Instruction& call) {
  const Shape &a = call.operand(0)->shape(), &b = call.operand(1)->shape(), &d = ResultShapes(call)[0];
  bool fits =
      a.rank() >= 2 && b.rank() >= 2 && a.rank() >= b.rank() && !IsComplex(a.type()) && !IsComplex(b.type());
  if (fits) {
    const MatmulForm form = MatmulFormOf(call);
    fits = Pick(a.dims(), form.l.batch) == Pick(b.dims(), form.r.batch) &&
           Pick(a.dims(), form.l.contracting) == Pick(b.dims(), form.r.contracting) &&
           Concat(Pick(a.dims(), form.l.batch), Pick(a.dims(), form.l.free), Pick(b.dims(), form.r.free)) ==
               Index(d.dims());
  }
  if (!fits) return fmt::format("{} times {} does not give {}", ToString(a), ToString(b), ToString(d));
  return FusedMismatch(call, MatmulOptions(call), d.dims(), d.rank() - 1);
}

absl::StatusOr<Literal> OnednnMatmul(OpContext& context) {
  const MatmulForm form = MatmulFormOf(context.instruction);
  HLO_ASSIGN_OR_RETURN(const Literal a, WithType(context.operands[0], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(const Literal b, WithType(context.operands[1], ElementType::kF64));
  HLO_ASSIGN_OR_RETURN(Literal sum, DotSum(a, form.l, b, form.r, ElementType::kF64));
  HLO_RETURN_IF_ERROR(ApplyFused(context, MatmulOptions(context.instruction), sum.rank() - 1, sum));
  HLO_ASSIGN_OR_RETURN(Literal rounded, Rounded(sum, ResultShapes(context.instruction)[0]));
  return WithZeroedRest(context.shape(), std::move(rounded));
}

}  // namespace hlo::reference::custom
