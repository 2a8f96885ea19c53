#include "kernels/cpu/convolution/convolution.h"

#include <algorithm>
#include <vector>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cpu/convolution/amx_patches.h"
#include "kernels/cpu/convolution/convolution_method.h"
#include "kernels/cpu/convolution/dense_strides.h"
#include "kernels/cpu/convolution/depthwise.h"
#include "kernels/cpu/convolution/direct_convolution.h"
#include "kernels/cpu/convolution/im2col.h"
#include "kernels/cpu/convolution/integer_pairs.h"
#include "kernels/cpu/convolution/transposed_rows.h"
#include "kernels/cpu/convolution/widened.h"
#include "kernels/cpu/gemm/bf16_pairs.h"
#include "kernels/cpu/memory/buffer_cache.h"
#include "kernels/cpu/simd/all_finite.h"
#include "types/dispatch.h"

namespace hlo::cpu {
namespace {

// --- One product for each group and each position of the dimensions before the output's features

// Calls f(source) with a group's kernel as an operand: elements (output feature, k), k as in PatchSource.
template <class T, int kWidth, class F>
void WithKernelSource(const DenseArray& kernel, const ConvolutionLayout& c, int64_t group, F&& f) {
  Index sizes = c.window, strides = c.window_strides;
  if (c.input_feature_stride == 1) {
    sizes.push_back(c.group_inputs);
    strides.push_back(c.kernel_input_stride);
  } else {
    sizes.insert(sizes.begin(), c.group_inputs);
    strides.insert(strides.begin(), c.kernel_input_stride);
  }
  // Contiguous dimensions are merged.
  Index k_sizes, k_strides;
  for (int64_t d = 0; d < sizes.rank(); ++d) {
    if (sizes[d] == 1 && sizes.rank() > 1) continue;
    if (!k_sizes.empty() && k_strides.back() == strides[d] * sizes[d]) {
      k_sizes.back() *= sizes[d];
      k_strides.back() = strides[d];
    } else {
      k_sizes.push_back(sizes[d]);
      k_strides.push_back(strides[d]);
    }
  }
  if (k_sizes.empty()) k_sizes = {1}, k_strides = {1};
  const int64_t origin = c.window_origin + group * c.group_outputs * c.kernel_output_stride;
  const std::byte* data = static_cast<const std::byte*>(kernel.data) + origin * ByteCount(kernel.type);
  if (k_sizes.rank() == 1) {
    f(StridedSource<T, kWidth>(data, kernel.type, c.kernel_output_stride, k_strides[0]));
  } else {
    f(NestedSource<T, kWidth>(data, kernel.type, {c.group_outputs}, {c.kernel_output_stride}, k_sizes,
                              k_strides));
  }
}

// The operands of the products in the compute type.
template <class T>
class VectorOperands {
 public:
  static constexpr Terms kTerms = Terms::kSingle;

  VectorOperands(const T* input, const DenseArray& kernel) : input_(input), kernel_(kernel) {}
  // Multiplies patches with the kernel of a group. `offset` is that of the group's first element in the
  // input.
  void PatchesFirst(int64_t offset, const ConvolutionLayout& c, absl::Span<const PatchDim> dims,
                    int64_t count, int64_t group, const ProductSink<T>& sink) const {
    const PatchSource<T, kPanelRows<T>> patches(input_ + offset, c, dims);
    WithKernelSource<T, kPanelColumns<T>>(kernel_, c, group, [&](const auto& kernel) {
      MultiplyPanels<T>(count, c.group_outputs, c.taps() * c.group_inputs, patches, kernel, sink);
    });
  }
  void KernelFirst(int64_t offset, const ConvolutionLayout& c, absl::Span<const PatchDim> dims, int64_t count,
                   int64_t group, const ProductSink<T>& sink) const {
    const PatchSource<T, kPanelColumns<T>> patches(input_ + offset, c, dims);
    WithKernelSource<T, kPanelRows<T>>(kernel_, c, group, [&](const auto& kernel) {
      MultiplyPanels<T>(c.group_outputs, count, c.taps() * c.group_inputs, kernel, patches, sink);
    });
  }

 private:
  const T* input_;
  const DenseArray& kernel_;
};

template <class T, class Operands>
class Products {
 public:
  Products(const Operands& operands, const ConvolutionLayout& layout, OutputDims dims, void* out,
           ElementType out_type, const BlockFunction& epilogue)
      : operands_(operands),
        layout_(layout),
        dims_(std::move(dims)),
        sink_(SinkOf<T>(out, out_type, epilogue)) {}

  void Run() const {
    const int64_t before = PositionCount(dims_.before), after = PositionCount(dims_.after);
    const int64_t outer = IsFeatureLast() ? 1 : before;
    const int64_t count = layout_.groups * outer;
    const int64_t outputs = before / outer * after * layout_.group_outputs;
    const int64_t depth = layout_.taps() * layout_.group_inputs;
    const double each =
        ProductNanoseconds<T, Operands::kTerms>(static_cast<double>(outputs) * static_cast<double>(depth)) +
        500;
    const auto one = [&](int64_t i) { RunOne(i % layout_.groups, i / layout_.groups); };
    if (count < 4 * ThreadCount() && each > 100'000) {
      for (int64_t i = 0; i < count; ++i) one(i);
    } else {
      ParallelFor(count, each * static_cast<double>(count), one);
    }
  }

 private:
  bool IsFeatureLast() const { return PositionCount(dims_.after) == 1; }

  void RunOne(int64_t group, int64_t outer) const {
    int64_t offset = group * layout_.input_group_stride;
    const int64_t z = group * layout_.group_outputs;
    ProductSink<T> sink = sink_;
    if (IsFeatureLast()) {
      sink.row_stride = layout_.outputs;
      sink.origin = z;
      operands_.PatchesFirst(offset, layout_, dims_.before, PositionCount(dims_.before), group, sink);
      return;
    }
    const int64_t after = PositionCount(dims_.after);
    sink.row_stride = after;
    sink.origin = (outer * layout_.outputs + z) * after;
    // Folds the fixed outer position into input offsets and padding.
    ConvolutionLayout at = layout_;
    for (size_t d = dims_.before.size(); d-- > 0;) {
      const PatchDim& dim = dims_.before[d];
      const int64_t i = outer % dim.size;
      outer /= dim.size;
      if (dim.spatial == PatchDim::kBatch)
        offset += i * layout_.input_batch_stride;
      else
        at.padding[dim.spatial] -= i * layout_.stride[dim.spatial];
    }
    operands_.KernelFirst(offset, at, dims_.after, after, group, sink);
  }

  const Operands& operands_;
  const ConvolutionLayout& layout_;
  OutputDims dims_;
  ProductSink<T> sink_;
};

// Copies the input in the order batch, spatial dimensions, features, and updates `layout` accordingly.
template <class T>
CachedVector<std::byte> FeaturesLast(const T* input, ConvolutionLayout* layout) {
  ConvolutionLayout& c = *layout;
  StridedDims dims = {{c.group_inputs, &c.input_feature_stride}};
  for (int64_t d = c.rank() - 1; d >= 0; --d) dims.push_back({c.input[d], &c.input_strides[d]});
  dims.push_back({c.batch, &c.input_batch_stride});
  CachedVector<std::byte> copy(c.input_count() * sizeof(T));
  CopyInOrder(MakeDense(dims), sizeof(T), input, copy.data());
  return copy;
}

// Runs the epilogue over a whole result that no product computed, chunk by chunk.
void RunEpilogue(const BlockFunction& epilogue, void* out, int64_t width, int64_t count) {
  if (epilogue.run == nullptr) return;
  constexpr int64_t kChunk = 16 << 10;
  ParallelFor(CeilDiv(count, kChunk), static_cast<double>(count) * epilogue.nanoseconds, [&](int64_t chunk) {
    const int64_t first = chunk * kChunk, n = std::min(kChunk, count - first);
    epilogue.run(epilogue.context, {first, 1, n, n, static_cast<std::byte*>(out) + first * width, n});
  });
}

// Returns the scales of the kernel and the input for products by AMX. Returns nullopt if products would be
// flushed to 0, or be those of padding and an infinity.
[[maybe_unused]] std::optional<BF16Scales> ScalesOf(const DenseArray& kernel, const DenseArray& input,
                                                    const ConvolutionLayout& c) {
  if (input.type != ElementType::kBF16) return BF16Scales();
  const auto elements = [](const DenseArray& array) {
    return absl::MakeSpan(static_cast<const bfloat16*>(array.data), Product(array.dims));
  };
  if (HasPadding(c) && !IsFinite(kernel.data, kernel.type, Product(kernel.dims))) return std::nullopt;
  return NormalScales(elements(kernel), elements(input), c.taps() * c.group_inputs);
}

template <class T>
void ConvolveByAmx(const DenseArray& input, const DenseArray& kernel, BF16Scales scales,
                   const ConvolutionLayout& layout, OutputDims split, void* out, ElementType out_type,
                   const BlockFunction& epilogue) {
  using Element = typename AmxTerms<T>::Element;
  const auto* read = static_cast<const Element*>(input.data);
  ConvolutionLayout copied_layout = layout;
  CachedVector<std::byte> copy;
  if (layout.input_feature_stride != 1) {
    copy = FeaturesLast(read, &copied_layout);
    read = reinterpret_cast<const Element*>(copy.data());
  }
  const AmxOperands<T> operands(read, static_cast<const Element*>(kernel.data), scales, copied_layout);
  Products<T, AmxOperands<T>>(operands, copied_layout, std::move(split), out, out_type, epilogue).Run();
  ReleaseAmxTiles();
}

// Computes a result of `count` elements by run(to), then runs the epilogue on it.
template <class Run>
void RunWhole(void* out, int64_t count, int64_t width, const BlockFunction& epilogue, Run&& run) {
  CachedVector<std::byte> own;
  if (out == nullptr) {
    own.resize(count * width);
    out = own.data();
  }
  run(out);
  RunEpilogue(epilogue, out, width, count);
}

void ConvolveByPairs(const IntegerPairConvolution& pairs, const RoundedResult<uint32_t>& result,
                     int64_t count) {
  if (pairs.rows().columns > 0) return pairs.Run(result);
  RunWhole(result.data, count, result.width, result.epilogue, [&](void* to) {
    pairs.Run({to, result.width, result.narrow});
  });
}

template <class T>
void Convolve(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims, void* out,
              ElementType out_type, absl::Span<const int64_t> out_dims, const BlockFunction& epilogue) {
  const ConvolutionLayout layout = ConvolutionLayoutOf(input, kernel, dims, out_dims);
  const OutputDims split = OutputDimsOf(layout, *dims.labels);
  const ElementType compute = GemmComputeType(input.type, kernel.type, out_type);
  if constexpr (kPacksAmxTiles && (std::is_same_v<T, float> || std::is_same_v<T, uint32_t>)) {
    const std::optional<BF16Scales> scales =
        ConvolvesByAmx(layout, input, kernel, compute) ? ScalesOf(kernel, input, layout) : std::nullopt;
    if (scales.has_value())
      return ConvolveByAmx<T>(input, kernel, *scales, layout, split, out, out_type, epilogue);
  }
  const MethodChoice choice = ChooseByVectors(layout, input, kernel, dims, compute);
  if constexpr (std::is_same_v<T, uint32_t>) {
    if (choice.pairs.has_value()) {
      const RoundedResult<T> result = {out, ByteCount(out_type), NarrowRowOf<T>(out_type), epilogue};
      return ConvolveByPairs(*choice.pairs, result, Product(out_dims));
    }
  }
  const Widened<T> wide_input(input);
  const ConvolutionMethod method = choice.method;
  const int64_t kernel_size = Product(kernel.dims), out_size = Product(out_dims), width = ByteCount(out_type);
  const NarrowRow<T> narrow = NarrowRowOf<T>(out_type);
  // Methods other than the product compute the whole result before the epilogue runs.
  const auto whole = [&](auto run) {
    const Widened<T> wide_kernel(kernel);
    RunWhole(out, out_size, width, epilogue,
             [&](void* to) { run(wide_input.data(), wide_kernel.data(), layout, narrow, width, to); });
  };
  // The smaller of kernel and result is searched for infinities and NaN: the result cannot be finite if the
  // kernel is not.
  const bool searches = HasPadding(layout) && !std::is_integral_v<T>;
  const bool result_first = searches && IsFloat(out_type) && BitWidth(out_type) >= 16 &&
                            out_size < kernel_size && epilogue.run == nullptr;
  if (searches && !result_first && !IsFinite(kernel.data, kernel.type, kernel_size))
    return whole(NaiveConvolution<T>);
  if (method == ConvolutionMethod::kProduct) {
    ConvolutionLayout copied_layout = layout;
    const T* read = wide_input.data();
    CachedVector<std::byte> copy;
    if (IsFasterWithFeaturesLast(layout, split)) {
      copy = FeaturesLast<T>(read, &copied_layout);
      read = reinterpret_cast<const T*>(copy.data());
    }
    const VectorOperands<T> operands(read, kernel);
    Products<T, VectorOperands<T>>(operands, copied_layout, split, out, out_type, epilogue).Run();
  } else if (method == ConvolutionMethod::kDirect) {
    if constexpr (DirectConvolution::kSupports<T>) {
      if (choice.direct->SupportsEpilogue()) {
        const Widened<T> wide_kernel(kernel);
        choice.direct->Run<T>(wide_input.data(), wide_kernel.data(), {out, width, narrow, epilogue});
      } else {
        whole([&](const T* x, const T* weights, const ConvolutionLayout&, NarrowRow<T>, int64_t, void* to) {
          choice.direct->Run<T>(x, weights, {to, width, narrow});
        });
      }
    }
  } else if constexpr (!kComplex<T>) {
    whole(method == ConvolutionMethod::kTransposedRows  ? TransposedRows<T>
          : method == ConvolutionMethod::kDepthwiseRows ? DepthwiseRows<T>
                                                        : GroupsInner<T>);
  }
  const bool has_non_finite =
      result_first && !IsFinite(out, out_type, out_size) && !IsFinite(kernel.data, kernel.type, kernel_size);
  if (has_non_finite) whole(NaiveConvolution<T>);
}

}  // namespace

absl::Status Convolution(const DenseArray& input, const DenseArray& kernel, const ConvolutionDims& dims,
                         void* out, ElementType out_type, absl::Span<const int64_t> out_dims,
                         const BlockFunction& epilogue) {
  if (!GemmSupports(input.type, kernel.type, out_type)) {
    return absl::UnimplementedError(
        fmt::format("no product of {} and {} gives {}", Name(input.type), Name(kernel.type), Name(out_type)));
  }
  HLO_RETURN_IF_ERROR(CheckReach(input, dims));
  if (Product(out_dims) == 0) return absl::OkStatus();
  DispatchCompute(GemmComputeType(input.type, kernel.type, out_type),
                  [&]<class T>() { Convolve<T>(input, kernel, dims, out, out_type, out_dims, epilogue); });
  return absl::OkStatus();
}

}  // namespace hlo::cpu
