// Selects and launches the depthwise kernel: convolutions of one or two spatial dimensions whose filters read
// one feature each.

#include "kernels/cuda/convolution/depthwise_kernel.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "fmt/format.h"
#include "kernels/cuda/convolution/depthwise_body.h"
#include "kernels/cuda/launch/launch.h"
#include "loops/gemm_problem.h"
#include "types/index.h"

namespace hlo::cuda {
namespace {

constexpr int64_t kMaxDepthwiseCoordinate = 1 << 28;
constexpr int64_t kMaxTaps = 1 << 10, kMaxStep = 1 << 16;
constexpr int64_t kMaxSharedBytes = 48 << 10;

bool IsFilterOfOneFeature(const Instruction& convolution, const DimLabels& labels) {
  const int64_t features = convolution.operand(0)->shape().dim(labels.input_feature);
  return convolution.Get<attr::batch_group_count>(1) == 1 && features > 1 &&
         convolution.Get<attr::feature_group_count>(1) == features &&
         convolution.operand(1)->shape().dim(labels.kernel_input_feature) == 1 &&
         convolution.shape().dim(labels.output_feature) % features == 0;
}

// Sets one spatial dimension; a negative `number` means that there is none. Returns false if sizes are too
// large or the input is dilated.
bool SetDim(const Instruction& convolution, const DimLabels& labels, int64_t number, DepthwiseArgs& args,
            DepthwiseDim& dim) {
  if (number < 0) return true;
  const auto d = static_cast<size_t>(number);
  const Shape &input = convolution.operand(0)->shape(), &filter = convolution.operand(1)->shape(),
              &result = convolution.shape();
  const WindowDim& window = convolution.Get<attr::window>()[d];
  const int64_t in = labels.input_spatial[d], taps = labels.kernel_spatial[d], out = labels.output_spatial[d];
  const auto within = [](int64_t x, int64_t most) { return -most < x && x < most; };
  // The limits keep products and sums of two in 32 bits.
  if (window.base_dilation != 1 || !within(input.dim(in), kMaxDepthwiseCoordinate) ||
      !within(window.padding_low, kMaxDepthwiseCoordinate) || !within(window.stride, kMaxStep) ||
      !within(window.window_dilation, kMaxStep) || filter.dim(taps) > kMaxTaps ||
      !within(result.dim(out), kMaxDepthwiseCoordinate / std::max<int64_t>(1, window.stride)))
    return false;
  dim.input = static_cast<int32_t>(input.dim(in));
  dim.output = static_cast<int32_t>(result.dim(out));
  dim.taps = static_cast<int32_t>(filter.dim(taps));
  dim.stride = static_cast<int32_t>(window.stride);
  dim.padding = static_cast<int32_t>(window.padding_low);
  dim.dilation = static_cast<int32_t>(window.window_dilation);
  dim.input_stride = RowMajorStrides(input.dims())[in];
  dim.filter_stride = RowMajorStrides(filter.dims())[taps];
  dim.output_stride = RowMajorStrides(result.dims())[out];
  if (window.reversed) {
    args.filter_origin += (dim.taps - 1) * dim.filter_stride;
    dim.filter_stride = -dim.filter_stride;
  }
  return true;
}

void SetTile(DepthwiseDim& dim, uint32_t tile) {
  dim.tile = tile;
  dim.reach = (tile - 1) * static_cast<uint32_t>(dim.stride) +
              static_cast<uint32_t>((dim.taps - 1) * dim.dilation) + 1;
  dim.tiles = FastDiv(CeilDiv(static_cast<uint32_t>(dim.output), tile));
}

using LaunchVectors = absl::Status (*)(const LaunchShape&, const DepthwiseVectorArgs&, device::Stream);

template <class Stored>
LaunchVectors VectorsOf(int32_t taps, int32_t stride) {
  if (stride < 1 || stride > 2) return nullptr;
  switch (taps) {
    case 3:
      return stride == 1 ? &Launch<DepthwiseVectors<Stored, 3, 1>> : &Launch<DepthwiseVectors<Stored, 3, 2>>;
    case 5:
      return stride == 1 ? &Launch<DepthwiseVectors<Stored, 5, 1>> : &Launch<DepthwiseVectors<Stored, 5, 2>>;
    default:
      return nullptr;
  }
}
LaunchVectors VectorsOf(ElementType type, int32_t taps, int32_t stride) {
  switch (type) {
    case ElementType::kF32:
      return VectorsOf<float>(taps, stride);
    case ElementType::kF16:
      return VectorsOf<HalfBits>(taps, stride);
    case ElementType::kBF16:
      return VectorsOf<BFloatBits>(taps, stride);
    default:
      return nullptr;
  }
}

// A kernel that computes several features per thread.
struct DepthwiseVectorLaunch {
  LaunchVectors launch;
  LaunchShape shape;
  DepthwiseVectorArgs args;
};

// Returns nullopt if the features are not adjacent in whole vectors, or the window has no kernel.
std::optional<DepthwiseVectorLaunch> FindVectors(const DepthwiseArgs& args, int64_t batch) {
  const LaunchVectors launch = VectorsOf(args.input_type, args.columns.taps, args.columns.stride);
  const bool one_type = args.input_type == args.filter_type && args.input_type == args.result_type;
  if (launch == nullptr || !one_type || args.columns.dilation != 1 || args.input_feature != 1 ||
      args.filter_feature != 1 || args.result_feature != 1 || args.multiplier.divisor != 1)
    return std::nullopt;
  const int64_t width = 16 / ByteCount(args.input_type);
  for (const int64_t stride :
       {int64_t{args.features}, args.input_batch, args.filter_origin, args.result_batch,
        args.rows.input_stride, args.rows.filter_stride, args.rows.output_stride, args.columns.input_stride,
        args.columns.filter_stride, args.columns.output_stride}) {
    if (stride % width != 0) return std::nullopt;
  }
  constexpr uint32_t kOutputs = 4, kThreads = 256;
  DepthwiseVectorLaunch found{launch, {}, {.convolution = args}};
  found.args.vectors = FastDiv(args.features / static_cast<uint32_t>(width));
  found.args.groups = FastDiv(CeilDiv(static_cast<uint32_t>(args.columns.output), kOutputs));
  found.args.rows = FastDiv(static_cast<uint32_t>(args.rows.output));
  const double count = double{1} * found.args.vectors.divisor * found.args.groups.divisor *
                       found.args.rows.divisor * static_cast<double>(batch);
  if (count >= (1u << 31) - kThreads) return std::nullopt;
  found.args.count = static_cast<uint32_t>(count);
  found.shape = {{CeilDiv(found.args.count, kThreads)}, kThreads};
  return found;
}

}  // namespace

std::optional<CudaKernel> FindDepthwiseKernel(const Instruction& convolution) {
  const DimLabels& labels = *convolution.Get<attr::dim_labels>();
  const Shape &input = convolution.operand(0)->shape(), &filter = convolution.operand(1)->shape(),
              &result = convolution.shape();
  const auto rank = static_cast<int64_t>(labels.input_spatial.size());
  if (rank < 1 || rank > 2 || hlo::Product(result.dims()) == 0 || hlo::Product(input.dims()) == 0 ||
      hlo::Product(filter.dims()) == 0 || !IsFloat(input.type()) || !IsFloat(filter.type()) ||
      !IsFloat(result.type()) ||
      loops::GemmComputeType(input.type(), filter.type(), result.type()) != ElementType::kF32 ||
      !IsFilterOfOneFeature(convolution, labels))
    return std::nullopt;
  DepthwiseArgs args;
  if (!SetDim(convolution, labels, rank - 2, args, args.rows) ||
      !SetDim(convolution, labels, rank - 1, args, args.columns))
    return std::nullopt;
  const Index in = RowMajorStrides(input.dims()), taps = RowMajorStrides(filter.dims()),
              out = RowMajorStrides(result.dims());
  args.input_type = input.type();
  args.filter_type = filter.type();
  args.result_type = result.type();
  args.features = static_cast<uint32_t>(result.dim(labels.output_feature));
  args.multiplier = FastDiv(args.features / static_cast<uint32_t>(input.dim(labels.input_feature)));
  args.input_batch = in[labels.input_batch];
  args.input_feature = in[labels.input_feature];
  args.filter_feature = taps[labels.kernel_output_feature];
  args.result_batch = out[labels.output_batch];
  args.result_feature = out[labels.output_feature];
  // Accesses are coalesced: adjacent threads read adjacent features, or adjacent positions in a row.
  const bool features_last = args.input_feature == 1 && args.multiplier.divisor == 1;
  args.feature_tile = features_last ? 32 : 1;
  SetTile(args.columns, features_last ? 8 : 32);
  SetTile(args.rows, features_last ? 1 : 8);
  args.feature_tiles = FastDiv(CeilDiv(args.features, args.feature_tile));
  const int64_t shared = int64_t{4} * args.rows.reach * args.columns.reach * args.feature_tile;
  const int64_t blocks = int64_t{args.columns.tiles.divisor} * args.rows.tiles.divisor *
                         args.feature_tiles.divisor * result.dim(labels.output_batch);
  if (shared > kMaxSharedBytes || blocks > INT32_MAX) return std::nullopt;
  const LaunchShape shape{{static_cast<uint32_t>(blocks)}, kDepthwiseThreads, static_cast<size_t>(shared)};
  const std::optional<DepthwiseVectorLaunch> vectors = FindVectors(args, result.dim(labels.output_batch));
  std::string name =
      vectors.has_value()
          ? fmt::format("depthwise f32 vectors {}x{}", args.rows.taps, args.columns.taps)
          : fmt::format("depthwise f32 {}x{}x{}", args.feature_tile, args.rows.tile, args.columns.tile);
  return CudaKernel{std::move(name), 0,
                    [args, shape, vectors](absl::Span<const void* const> operands,
                                           absl::Span<void* const> results, void*, Stream stream) mutable {
                      args.input = operands[0];
                      args.filter = operands[1];
                      args.result = results[0];
                      const auto is_aligned = [](const void* data) {
                        return reinterpret_cast<uintptr_t>(data) % 16 == 0;
                      };
                      if (!vectors.has_value() || !is_aligned(args.input) || !is_aligned(args.filter) ||
                          !is_aligned(args.result))
                        return Launch<Depthwise>(shape, args, stream);
                      DepthwiseVectorArgs run = vectors->args;
                      run.convolution = args;
                      return vectors->launch(vectors->shape, run, stream);
                    }};
}

}  // namespace hlo::cuda
