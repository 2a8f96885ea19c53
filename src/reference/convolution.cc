// Convolution (semantics 6.4).

#include <algorithm>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "reference/contraction.h"
#include "reference/op.h"
#include "reference/window.h"
#include "types/promotion.h"

namespace hlo::reference {
namespace {

// A convolution of dense arrays in the dimension order input[batch, spatial, feature], kernel[spatial, input
// feature, output feature], output[batch, spatial, feature].
struct Convolver {
  WindowTaps taps;  // Offsets in one input image and in the kernel.
  Index output_spatial;
  int64_t output_batch, output_features;
  int64_t input_entry_size;  // Elements of one input image.
  int64_t kernel_inputs;
  int64_t feature_groups, batch_groups;

  template <Wide W>
  absl::Status Run(const W* input, const W* kernel, W* output);

 private:
  template <Wide W>
  void AddGroup(int64_t group, absl::Span<const Tap> window, const W* input, const W* kernel,
                W* output) const;
};

// Computes the output features z of one group: output[z] = sum over the taps and r = 0, ..., kernel_inputs -
// 1 of
//   input[tap, r] * kernel[tap, r, z].
// A feature group reads its own input features, a batch group its own part of the batch.
template <Wide W>
void Convolver::AddGroup(int64_t group, absl::Span<const Tap> window, const W* input, const W* kernel,
                         W* output) const {
  const int64_t features = output_features / std::max(feature_groups, batch_groups);
  const int64_t z = group * features;
  if (feature_groups > 1) input += group * kernel_inputs;
  if (batch_groups > 1) input += group * output_batch * input_entry_size;
  for (const Tap& tap : window) {
    for (int64_t r = 0; r < kernel_inputs; ++r) {
      AddScaled(input[tap.base + r], kernel + tap.window + r * output_features + z, features, output + z);
    }
  }
}

template <Wide W>
absl::Status Convolver::Run(const W* input, const W* kernel, W* output) {
  const int64_t positions = Product(output_spatial);
  std::fill_n(output, output_batch * positions * output_features, W{});
  int64_t position = 0;
  for (const Index& o : EachIndex(output_spatial)) {
    const absl::Span<const Tap> window = taps.At(o);
    HLO_RETURN_IF_ERROR(Deadline::Check());
    for (int64_t n = 0; n < output_batch; ++n) {
      W* out = output + (n * positions + position) * output_features;
      for (int64_t group = 0; group < std::max(feature_groups, batch_groups); ++group) {
        AddGroup(group, window, input + n * input_entry_size, kernel, out);
      }
    }
    ++position;
  }
  return absl::OkStatus();
}

// Expands a sparse operand, which stores one element of each block of N along `dimension` and its position:
//   dense[..., i * N + places[..., i, ...], ...] = stored[..., i, ...], and zeros elsewhere.
absl::StatusOr<Literal> Dense(const Literal& stored, const Literal& places, const SparsitySide& sparsity) {
  if (places.dims() != stored.dims()) {
    return absl::InvalidArgumentError(
        fmt::format("the sparse operand is {}, but the places of its elements are {}",
                    ToString(stored.shape()), ToString(places.shape())));
  }
  const int64_t d = sparsity.dimension, block = sparsity.block;
  if (d < 0 || d >= stored.rank() || block < 1 || !WithinReach(block)) {
    return absl::InvalidArgumentError(
        fmt::format("blocks of {} along dimension {} of {}", block, d, ToString(stored.shape())));
  }
  if (stored.dim(d) > 0 && block > (int64_t{1} << 60) / stored.dim(d)) {
    return absl::ResourceExhaustedError(
        fmt::format("{} in blocks of {} is too large", ToString(stored.shape()), block));
  }
  Shape shape = Shape::Array(stored.type(), stored.dims());
  shape.set_dim(d, stored.dim(d) * block);
  HLO_ASSIGN_OR_RETURN(Literal dense, Literal::CreateZeros(shape));
  HLO_ASSIGN_OR_RETURN(const Literal indices, AsIndices(places));
  const Index strides = RowMajorStrides(dense.dims());
  const int64_t width = ByteCount(stored.type());
  int64_t from = 0;
  for (Index i : EachIndex(stored.dims())) {
    i[d] = i[d] * block + std::clamp<int64_t>(indices.span<int64_t>()[from], 0, block - 1);
    std::copy_n(stored.data() + from * width, width, dense.mutable_data() + Offset(i, strides) * width);
    ++from;
  }
  return dense;
}

// Checks the sizes of expanded sparse operands; the checker has seen only the stored ones.
bool Fits(const Convolver& convolver, const Literal& input, const Literal& kernel) {
  const int64_t last = input.rank() - 1;
  return input.dim(0) == convolver.output_batch * convolver.batch_groups &&
         input.dim(last) == convolver.kernel_inputs * convolver.feature_groups &&
         kernel.dim(last) == convolver.output_features;
}

// Returns an operand dense, in its wide type, with its dimensions in the order `order`.
absl::StatusOr<Literal> Prepared(const OpContext& context, int64_t operand, const Index& order,
                                 ElementType type) {
  Literal array = context.operands[operand];
  if (const SparsityConfig* config = context.instruction.Get<attr::sparsity_config>()) {
    const SparsitySide& side = operand == 0 ? config->lhs : config->rhs;
    if (side.present) {
      HLO_ASSIGN_OR_RETURN(array, Dense(array, context.operands[side.operand], side));
    }
  }
  HLO_ASSIGN_OR_RETURN(array, Widened(array, type));
  return Transposed(array, order);
}

}  // namespace

// out[n, o, z] = sum over kernel positions k, then input features r, of lhs[n, p, r] * rhs[k, r, z] with
//   p = (o * stride + k * rhs_dilate - pad_low) / lhs_dilate,
// where k is reversed as in the window, and terms with p in the padding or between elements are omitted.
absl::StatusOr<Literal> Convolution(OpContext& context) {
  const Instruction& convolution = context.instruction;
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Index input_order = Concat({labels.input_batch}, labels.input_spatial, {labels.input_feature});
  const Index kernel_order =
      Concat(labels.kernel_spatial, {labels.kernel_input_feature}, {labels.kernel_output_feature});
  const Index output_order = Concat({labels.output_batch}, labels.output_spatial, {labels.output_feature});
  const ElementType lhs_type = context.operands[0].type(), rhs_type = context.operands[1].type();
  const ElementType product = ProductType(lhs_type, rhs_type, context.shape().type());
  const ElementType type = ContractionType(product);
  HLO_ASSIGN_OR_RETURN(const Literal input, Prepared(context, 0, input_order, type));
  HLO_ASSIGN_OR_RETURN(const Literal kernel, Prepared(context, 1, kernel_order, type));
  HLO_ASSIGN_OR_RETURN(Literal output,
                       Literal::Create(Shape::Array(type, Pick(context.shape().dims(), output_order))));

  const int64_t spatial = static_cast<int64_t>(labels.input_spatial.size());
  const Index input_strides = RowMajorStrides(input.dims());
  HLO_ASSIGN_OR_RETURN(
      WindowTaps taps,
      WindowTaps::Make(convolution.Get<attr::window>(), input.dims().subspan(1, spatial),
                       absl::MakeSpan(input_strides).subspan(1, spatial), RowMajorStrides(kernel.dims())));
  Convolver convolver{.taps = std::move(taps),
                      .output_spatial = output.dims().subspan(1, spatial),
                      .output_batch = output.dim(0),
                      .output_features = output.dim(spatial + 1),
                      .input_entry_size = input_strides[0],
                      .kernel_inputs = kernel.dim(spatial),
                      .feature_groups = convolution.Get<attr::feature_group_count>(1),
                      .batch_groups = convolution.Get<attr::batch_group_count>(1)};
  if (!Fits(convolver, input, kernel)) {
    return absl::InvalidArgumentError("the sparse operands, made dense, do not fit together");
  }
  const absl::Status status = DispatchWide(type, [&]<class W>() {
    return convolver.Run(input.span<W>().data(), kernel.span<W>().data(), output.mutable_span<W>().data());
  });
  if (!status.ok()) return status;

  HLO_ASSIGN_OR_RETURN(output, Transposed(output, Inverse(output_order)));
  return RoundedSum(output, product, context.shape());
}

}  // namespace hlo::reference
