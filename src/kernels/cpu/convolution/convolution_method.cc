#include "kernels/cpu/convolution/convolution_method.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/convolution/depthwise.h"
#include "kernels/cpu/convolution/transposed_rows.h"
#include "kernels/cpu/convolution/widened.h"
#include "kernels/cpu/gemm/amx.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

bool IsDepthwise(const ConvolutionLayout& c, const ConvolutionDims& dims) {
  return dims.batch_groups == 1 && c.group_inputs == 1 && c.group_outputs == 1;
}

// Returns true if vectors span groups. These are groups of one output that are adjacent in input and output,
// as in depthwise convolutions with features last and in the gradients of their kernels; or groups of few
// features that fill a vector.
bool HasAdjacentGroups(const ConvolutionLayout& c, int64_t lanes) {
  if (c.groups == 1 || c.output_feature_stride != 1) return false;
  if (c.group_outputs == 1) return c.input_group_stride == 1;
  return c.input_feature_stride == 1 && c.input_group_stride == c.group_inputs && PermutesGroups(c, lanes);
}

MethodChoice Choose(const ConvolutionLayout& c, const DenseArray& input, const DenseArray& kernel,
                    const ConvolutionDims& dims, ElementType out_type) {
  const ElementType compute = GemmComputeType(input.type, kernel.type, out_type);
  if (ConvolvesByAmx(c, input, kernel, compute)) return {ConvolutionMethod::kAmxProduct};
  return ChooseByVectors(c, input, kernel, dims, compute);
}

}  // namespace

absl::Status CheckReach(const DenseArray& input, const ConvolutionDims& dims) {
  for (size_t d = 0; d < dims.window.size(); ++d) {
    const WindowDim& w = dims.window[d];
    const auto reaches = [](int64_t count, int64_t step) {
      return WithinReach(step) && (count <= 1 || step < (int64_t{1} << 60) / count);
    };
    const bool is_small = WithinReach(w.padding_low) && WithinReach(w.padding_high) &&
                          WithinReach(w.stride) &&
                          reaches(input.dims[dims.labels->input_spatial[d]], w.base_dilation) &&
                          reaches(w.size, w.window_dilation);
    if (!is_small)
      return absl::UnimplementedError("windows that reach over 2^60 positions are not evaluated");
  }
  return absl::OkStatus();
}

ConvolutionLayout ConvolutionLayoutOf(const DenseArray& input, const DenseArray& kernel,
                                      const ConvolutionDims& dims, absl::Span<const int64_t> out_dims) {
  const DimLabels& l = *dims.labels;
  const Index input_strides = RowMajorStrides(input.dims), kernel_strides = RowMajorStrides(kernel.dims),
              output_strides = RowMajorStrides(out_dims);
  ConvolutionLayout c;
  c.input = Pick(input.dims, l.input_spatial);
  c.input_strides = Pick(input_strides, l.input_spatial);
  c.window = Pick(kernel.dims, l.kernel_spatial);
  c.window_strides = Pick(kernel_strides, l.kernel_spatial);
  c.output = Pick(out_dims, l.output_spatial);
  c.output_strides = Pick(output_strides, l.output_spatial);
  for (size_t d = 0; d < dims.window.size(); ++d) {
    const WindowDim& w = dims.window[d];
    c.stride.push_back(w.stride);
    c.padding.push_back(w.padding_low);
    c.window_dilation.push_back(w.window_dilation);
    c.base_dilation.push_back(w.base_dilation);
    if (w.reversed) {
      c.window_origin += (c.window[d] - 1) * c.window_strides[d];
      c.window_strides[d] = -c.window_strides[d];
    }
  }
  c.batch = out_dims[l.output_batch];
  c.input_batch_stride = input_strides[l.input_batch];
  c.output_batch_stride = output_strides[l.output_batch];
  c.group_inputs = kernel.dims[l.kernel_input_feature];
  c.input_feature_stride = input_strides[l.input_feature];
  c.kernel_input_stride = kernel_strides[l.kernel_input_feature];
  c.outputs = out_dims[l.output_feature];
  c.kernel_output_stride = kernel_strides[l.kernel_output_feature];
  c.output_feature_stride = output_strides[l.output_feature];
  c.groups = std::max(dims.feature_groups, dims.batch_groups);
  c.group_outputs = c.outputs / c.groups;
  c.input_group_stride =
      dims.batch_groups > 1 ? c.batch * c.input_batch_stride : c.group_inputs * c.input_feature_stride;
  return c;
}

bool HasPadding(const ConvolutionLayout& c) {
  for (int64_t d = 0; d < c.rank(); ++d) {
    const int64_t last =
        (c.output[d] - 1) * c.stride[d] + (c.window[d] - 1) * c.window_dilation[d] - c.padding[d];
    if (c.padding[d] > 0 || c.base_dilation[d] != 1 || last >= c.input[d]) return true;
  }
  return false;
}

bool ConvolvesByAmx(const ConvolutionLayout& c, const DenseArray& input, const DenseArray& kernel,
                    ElementType compute) {
  const int64_t k = c.taps() * c.group_inputs;
  const int64_t rows = std::min(c.group_outputs, c.batch * Product(c.output));
  // The copy with features last does not separate groups.
  if (input.type != kernel.type || (c.groups > 1 && c.input_feature_stride != 1)) return false;
  if (input.type == ElementType::kBF16) return compute == ElementType::kF32 && PrefersAmx<float>(rows, k);
  return input.type == ElementType::kS8 && compute == ElementType::kU32 && PrefersAmx<uint32_t>(rows, k);
}

MethodChoice ChooseByVectors(const ConvolutionLayout& c, const DenseArray& input, const DenseArray& kernel,
                             const ConvolutionDims& dims, ElementType compute) {
  const int64_t lanes = kVectorBytes / ByteCount(compute);
  if (c.rank() > 0 && !IsComplex(compute) && HasAdjacentGroups(c, lanes)) {
    const bool transposes = IsDepthwise(c, dims) && TransposesRows(c, lanes);
    return {transposes ? ConvolutionMethod::kTransposedRows : ConvolutionMethod::kGroupsInner};
  }
  if (c.rank() > 0 && IsDepthwise(c, dims) && !IsComplex(compute)) {
    const int64_t last = c.rank() - 1;
    // A plane is not computed in parallel, so a large one is left to other methods if it is the only one.
    constexpr double kMaxTerms = 4 << 20;
    const double terms = static_cast<double>(Product(c.output)) * static_cast<double>(c.taps());
    const bool is_small = c.output[last] >= lanes && terms <= kMaxTerms;
    if (c.input_strides[last] == 1 && c.output_strides[last] == 1 && DepthwiseRowFits(c) &&
        (c.groups > 1 || is_small))
      return {ConvolutionMethod::kDepthwiseRows};
  }
  if (std::optional<DirectConvolution> direct = DirectConvolution::Make(c, compute)) {
    std::optional<IntegerPairConvolution> pairs;
    if (compute == ElementType::kU32) pairs = IntegerPairConvolution::Make(c, input, kernel);
    if (pairs.has_value()) direct.reset();
    return {ConvolutionMethod::kDirect, std::move(direct), std::move(pairs)};
  }
  return {ConvolutionMethod::kProduct};
}

OutputDims OutputDimsOf(const ConvolutionLayout& c, const DimLabels& labels) {
  OutputDims dims;
  for (int64_t d = 0; d < c.rank() + 2; ++d) {
    if (d == labels.output_feature) continue;
    PatchDim dim{c.batch, PatchDim::kBatch};
    for (int64_t s = 0; s < c.rank(); ++s) {
      if (labels.output_spatial[s] == d) dim = {c.output[s], s};
    }
    (d < labels.output_feature ? dims.before : dims.after).push_back(dim);
  }
  return dims;
}

int64_t PositionCount(absl::Span<const PatchDim> dims) {
  int64_t count = 1;
  for (const PatchDim& dim : dims) count *= dim.size;
  return count;
}

bool IsFasterWithFeaturesLast(const ConvolutionLayout& c, const OutputDims& dims) {
  if (c.groups != 1 || c.group_inputs < 2 || c.input_feature_stride == 1 || c.group_outputs * c.taps() < 32)
    return false;
  const absl::Span<const PatchDim> rows = PositionCount(dims.after) == 1 ? dims.before : dims.after;
  if (rows.empty()) return false;
  const PatchDim& fast = rows.back();
  const int64_t step = fast.spatial == PatchDim::kBatch
                           ? c.input_batch_stride
                           : c.stride[fast.spatial] * c.input_strides[fast.spatial];
  return step != 1;
}

std::string_view Word(ConvolutionMethod method) {
  switch (method) {
    case ConvolutionMethod::kProduct:
      return "product";
    case ConvolutionMethod::kAmxProduct:
      return "amx_product";
    case ConvolutionMethod::kDirect:
      return "direct";
    case ConvolutionMethod::kDepthwiseRows:
      return "depthwise_rows";
    case ConvolutionMethod::kGroupsInner:
      return "groups_inner";
    case ConvolutionMethod::kTransposedRows:
      return "transposed_rows";
    default:
      return "naive";
  }
}

ConvolutionMethod MethodOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                           ElementType out_type, absl::Span<const int64_t> out_dims) {
  return Choose(ConvolutionLayoutOf(input, kernel, dims, out_dims), input, kernel, dims, out_type).method;
}

int64_t ConvolutionMemory(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims, bool keeps_result) {
  if (!CheckReach(input, dims).ok() || Product(out_dims) == 0) return 0;
  const ConvolutionLayout layout = ConvolutionLayoutOf(input, kernel, dims, out_dims);
  const ElementType compute = GemmComputeType(input.type, kernel.type, out_type);
  const auto widened = [&](const DenseArray& array) {
    bool is_native = false;
    DispatchCompute(compute, [&]<class T>() { is_native = IsStoredAs<T>(array.type); });
    return is_native ? 0 : Product(array.dims) * ByteCount(compute);
  };
  // Tiny numbers may require another method than AMX.
  const int64_t amx =
      ConvolvesByAmx(layout, input, kernel, compute)
          ? Product(kernel.dims) * ByteCount(kernel.type) +
                (layout.input_feature_stride == 1 ? 0 : Product(input.dims) * ByteCount(input.type))
          : 0;
  const MethodChoice choice = ChooseByVectors(layout, input, kernel, dims, compute);
  if (choice.pairs.has_value()) return std::max(amx, choice.pairs->Memory(ByteCount(out_type), keeps_result));
  const bool is_product = choice.method == ConvolutionMethod::kProduct;
  const bool is_direct = choice.direct.has_value();
  // A kernel that is not finite may require another method.
  const int64_t whole = (is_product || is_direct) && !HasPadding(layout)
                            ? 0
                            : widened(kernel) + (keeps_result ? 0 : Product(out_dims) * ByteCount(out_type));
  const int64_t transposed = choice.method == ConvolutionMethod::kTransposedRows
                                 ? TransposedRowsMemory(layout, ByteCount(compute), ByteCount(out_type))
                                 : 0;
  const bool packs = choice.method == ConvolutionMethod::kGroupsInner && layout.kernel_output_stride != 1;
  const bool turns = is_product && IsFasterWithFeaturesLast(layout, OutputDimsOf(layout, *dims.labels));
  const int64_t direct =
      is_direct ? widened(kernel) + choice.direct->Memory(ByteCount(out_type), keeps_result) : 0;
  return std::max(amx, widened(input) + transposed + (packs ? Product(kernel.dims) * ByteCount(compute) : 0) +
                           std::max({whole, turns ? Product(input.dims) * ByteCount(compute) : 0, direct}));
}

ProductRows ProductRowsOf(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                          ElementType out_type, absl::Span<const int64_t> out_dims) {
  if (!CheckReach(input, dims).ok()) return {};
  const ConvolutionLayout layout = ConvolutionLayoutOf(input, kernel, dims, out_dims);
  const MethodChoice choice = Choose(layout, input, kernel, dims, out_type);
  if (choice.direct.has_value()) return choice.direct->rows();
  if (choice.pairs.has_value()) return choice.pairs->rows();
  if (choice.method != ConvolutionMethod::kProduct && choice.method != ConvolutionMethod::kAmxProduct)
    return {};
  const int64_t after = PositionCount(OutputDimsOf(layout, *dims.labels).after);
  const int64_t depth = layout.taps() * layout.group_inputs;
  if (after > 1) return {after, after, depth};
  return {layout.outputs, layout.group_outputs, depth};
}

}  // namespace hlo::cpu
