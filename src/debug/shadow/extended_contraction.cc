#include "debug/shadow/extended_contraction.h"

#include <algorithm>
#include <cstdint>

#include "base/deadline.h"
#include "base/status.h"
#include "debug/shadow/extended_array.h"
#include "reference/arrays.h"
#include "reference/contraction.h"
#include "reference/ragged_rows.h"
#include "reference/window.h"
#include "types/index.h"

namespace hlo::debug {
namespace {

// Returns an operand of a dot, with its low part, transposed to this order of dimensions.
absl::StatusOr<ExtendedValue> Transposed(const ShadowValue& operand, const Index& order) {
  ExtendedValue result;
  HLO_ASSIGN_OR_RETURN(result.high, reference::Transposed(operand.wide, order));
  if (operand.low.shape().IsValid()) {
    HLO_ASSIGN_OR_RETURN(result.low, reference::Transposed(operand.low, order));
  }
  return result;
}

}  // namespace

template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedSum(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const Literal& array = operands[0].wide;
  const IntList reduced = context.instruction.Get<attr::dimensions>();
  const Index strides = RowMajorStrides(array.dims());
  Index kept_dims, kept_strides;
  for (int64_t d = 0; d < array.rank(); ++d) {
    if (Contains(reduced, d)) continue;
    kept_dims.push_back(array.dim(d));
    kept_strides.push_back(strides[d]);
  }
  const Index reduced_dims = Pick(array.dims(), reduced), reduced_strides = Pick(strides, reduced);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(context.declared.dims()));
  const ExtendedViewOf<T> x(operands[0]), init(operands[1]);
  int64_t out = 0;
  for (const Index& i : EachIndex(kept_dims)) {
    T sum = init[0];
    const int64_t base = Offset(i, kept_strides);
    for (const Index& r : EachIndex(reduced_dims)) sum = sum + x[base + Offset(r, reduced_strides)];
    Store(result, out++, sum);
    HLO_RETURN_IF_ERROR(Deadline::Check());
  }
  return result;
}

// result[b, m, n] = sum over k of lhs[b, m, k] rhs[b, k, n].
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedDot(const RuleContext& context,
                                                         absl::Span<const ShadowValue> operands) {
  const reference::DotDims l = reference::LhsDims(context.wide), r = reference::RhsDims(context.wide);
  HLO_ASSIGN_OR_RETURN(const ExtendedValue lhs,
                       Transposed(operands[0], reference::Concat(l.batch, l.free, l.contracting)));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue rhs,
                       Transposed(operands[1], reference::Concat(r.batch, r.contracting, r.free)));
  const auto size = [&](const ShadowValue& operand, const Index& dims) {
    int64_t count = 1;
    for (const int64_t d : dims) count *= operand.wide.dim(d);
    return count;
  };
  const int64_t batch = size(operands[0], l.batch), rows = size(operands[0], l.free),
                depth = size(operands[0], l.contracting), columns = size(operands[1], r.free);
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(context.declared.dims()));
  const ExtendedViewOf<T> a(lhs.high, lhs.low), b(rhs.high, rhs.low);
  for (int64_t row = 0; row < batch * rows; ++row) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    for (int64_t n = 0; n < columns; ++n) {
      T sum;
      for (int64_t k = 0; k < depth; ++k)
        sum = sum + a[row * depth + k] * b[(row / rows * depth + k) * columns + n];
      Store(result, row * columns + n, sum);
    }
  }
  return result;
}

template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedRaggedDot(const RuleContext& context,
                                                               absl::Span<const ShadowValue> operands) {
  HLO_ASSIGN_OR_RETURN(const reference::RaggedRows rows,
                       reference::RaggedRows::Make(context.instruction, operands[0].wide, operands[1].wide,
                                                   operands[2].declared));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue lhs, Transposed(operands[0], rows.lhs_order()));
  HLO_ASSIGN_OR_RETURN(const ExtendedValue rhs, Transposed(operands[1], rows.rhs_order()));
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(context.declared.dims()));
  const ExtendedViewOf<T> a(lhs.high, lhs.low), b(rhs.high, rhs.low), sum(result.high, result.low);
  HLO_RETURN_IF_ERROR(rows.Each([&](const reference::RaggedRows::Row& row) {
    for (int64_t n = 0; n < rows.length(); ++n)
      Store(result, row.result + n, sum[row.result + n] + a[row.lhs] * b[row.rhs + n]);
    return Deadline::Check();
  }));
  return result;
}

// out[n, o, z] = sum over the taps and input features r of input[n, tap, r] * kernel[tap, r, z].
template <class T>
absl::StatusOr<std::optional<ExtendedValue>> ExtendedConvolution(const RuleContext& context,
                                                                 absl::Span<const ShadowValue> operands) {
  const Instruction& convolution = context.instruction;
  if (convolution.Get<attr::sparsity_config>() != nullptr) return std::nullopt;
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Index output_order =
      reference::Concat({labels.output_batch}, labels.output_spatial, {labels.output_feature});
  HLO_ASSIGN_OR_RETURN(const ExtendedValue input,
                       Transposed(operands[0], reference::Concat({labels.input_batch}, labels.input_spatial,
                                                                 {labels.input_feature})));
  HLO_ASSIGN_OR_RETURN(
      const ExtendedValue kernel,
      Transposed(operands[1], reference::Concat(labels.kernel_spatial, {labels.kernel_input_feature},
                                                {labels.kernel_output_feature})));
  HLO_ASSIGN_OR_RETURN(ExtendedValue result, NewValue<T>(Pick(context.declared.dims(), output_order)));
  const auto spatial = static_cast<int64_t>(labels.input_spatial.size());
  const Index input_strides = RowMajorStrides(input.high.dims());
  HLO_ASSIGN_OR_RETURN(
      reference::WindowTaps taps,
      reference::WindowTaps::Make(convolution.Get<attr::window>(), input.high.dims().subspan(1, spatial),
                                  absl::MakeSpan(input_strides).subspan(1, spatial),
                                  RowMajorStrides(kernel.high.dims())));
  const int64_t batch = result.high.dim(0), features = result.high.dim(spatial + 1),
                depth = kernel.high.dim(spatial);
  const int64_t feature_groups = convolution.Get<attr::feature_group_count>(1),
                batch_groups = convolution.Get<attr::batch_group_count>(1);
  const int64_t group_size = features / std::max(feature_groups, batch_groups);
  const Index places = result.high.dims().subspan(1, spatial);
  const int64_t place_count = Product(places);
  const ExtendedViewOf<T> x(input.high, input.low), w(kernel.high, kernel.low);
  int64_t place = 0;
  for (const Index& o : EachIndex(places)) {
    HLO_RETURN_IF_ERROR(Deadline::Check());
    const absl::Span<const reference::Tap> window = taps.At(o);
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t z = 0; z < features; ++z) {
        const int64_t group = z / group_size;
        const int64_t image = n + (batch_groups > 1 ? group * batch : 0);
        const int64_t start = image * input_strides[0] + (feature_groups > 1 ? group * depth : 0);
        T sum;
        for (const reference::Tap& tap : window) {
          for (int64_t r = 0; r < depth; ++r)
            sum = sum + x[start + tap.base + r] * w[tap.window + r * features + z];
        }
        Store(result, (n * place_count + place) * features + z, sum);
      }
    }
    ++place;
  }
  HLO_ASSIGN_OR_RETURN(result.high, reference::Transposed(result.high, Inverse(output_order)));
  HLO_ASSIGN_OR_RETURN(result.low, reference::Transposed(result.low, Inverse(output_order)));
  return result;
}

#define HLO_INSTANTIATE(T)                                                                                   \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedDot<T>(const RuleContext&,                   \
                                                                       absl::Span<const ShadowValue>);       \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedRaggedDot<T>(const RuleContext&,             \
                                                                             absl::Span<const ShadowValue>); \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedConvolution<T>(                              \
      const RuleContext&, absl::Span<const ShadowValue>);                                                    \
  template absl::StatusOr<std::optional<ExtendedValue>> ExtendedSum<T>(const RuleContext&,                   \
                                                                       absl::Span<const ShadowValue>);
HLO_INSTANTIATE(DoubleDouble)
HLO_INSTANTIATE(ComplexDoubleDouble)
#undef HLO_INSTANTIATE

}  // namespace hlo::debug
