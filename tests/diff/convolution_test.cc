// Tests every convolution method against the definition (semantics 6.4), with random attributes and dimension
// numbers.

#include "kernels/cpu/convolution/convolution.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>

#include "arrays.h"
#include "base/parallel.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "kernels/cpu/gemm/amx.h"
#include "kernels/cpu/simd/simd.h"
#include "types/index.h"

namespace hlo::cpu::convolution_test {
namespace {

using enum ElementType;

struct Case {
  int64_t batch = 1, inputs = 1, outputs = 1;  // Operand sizes; `inputs` is the number of input features.
  std::vector<int64_t> size;                   // Spatial sizes.
  std::vector<WindowDim> window;
  int64_t feature_groups = 1, batch_groups = 1;
  // Memory order of [batch, feature, spatial...] and [output feature, input feature, spatial...].
  std::vector<int64_t> input_order, kernel_order, output_order;
  ElementType input_type = kF32, kernel_type = kF32, out_type = kF32;
};

int64_t OutputSize(int64_t size, const WindowDim& w) {
  const int64_t dilated = size == 0 ? 0 : (size - 1) * w.base_dilation + 1;
  const int64_t room = dilated + w.padding_low + w.padding_high - ((w.size - 1) * w.window_dilation + 1);
  return room < 0 ? 0 : room / w.stride + 1;
}

struct Operands {
  Index input_dims, kernel_dims, output_dims;  // Sizes in memory order.
  DimLabels labels;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;

  explicit Operands(const Case& c) {
    Index input = {c.batch, c.inputs}, kernel = {c.outputs, c.inputs / c.feature_groups},
          output = {c.batch / c.batch_groups, c.outputs};
    for (size_t d = 0; d < c.size.size(); ++d) {
      input.push_back(c.size[d]);
      kernel.push_back(c.window[d].size);
      output.push_back(OutputSize(c.size[d], c.window[d]));
    }
    input_dims = Pick(input, c.input_order);
    kernel_dims = Pick(kernel, c.kernel_order);
    output_dims = Pick(output, c.output_order);
    const auto place = [](const std::vector<int64_t>& order, int64_t dim) {
      return static_cast<int64_t>(std::find(order.begin(), order.end(), dim) - order.begin());
    };
    for (int64_t d = 0; d < static_cast<int64_t>(c.size.size()); ++d) {
      input_spatial.push_back(place(c.input_order, d + 2));
      kernel_spatial.push_back(place(c.kernel_order, d + 2));
      output_spatial.push_back(place(c.output_order, d + 2));
    }
    labels.input_batch = place(c.input_order, 0);
    labels.input_feature = place(c.input_order, 1);
    labels.kernel_output_feature = place(c.kernel_order, 0);
    labels.kernel_input_feature = place(c.kernel_order, 1);
    labels.output_batch = place(c.output_order, 0);
    labels.output_feature = place(c.output_order, 1);
    labels.input_spatial = input_spatial;
    labels.kernel_spatial = kernel_spatial;
    labels.output_spatial = output_spatial;
  }
  Operands(const Operands&) = delete;
};

ConvolutionDims DimsOf(const Case& c, const Operands& o) {
  return {c.window, &o.labels, c.feature_groups, c.batch_groups};
}

Literal Convolved(const Case& c, const Operands& o, const Literal& input, const Literal& kernel) {
  absl::StatusOr<Literal> out = Literal::CreateZeros(Shape::Array(c.out_type, o.output_dims));
  const absl::Status status =
      Convolution({input.data(), c.input_type, o.input_dims}, {kernel.data(), c.kernel_type, o.kernel_dims},
                  DimsOf(c, o), out->mutable_data(), c.out_type, o.output_dims);
  EXPECT_TRUE(status.ok()) << Message(status);
  return *std::move(out);
}

ConvolutionMethod Method(const Case& c) {
  const Operands o(c);
  return MethodOf({nullptr, c.input_type, o.input_dims}, {nullptr, c.kernel_type, o.kernel_dims},
                  DimsOf(c, o), c.out_type, o.output_dims);
}

std::string Describe(const Case& c) {
  std::string text = std::string(Name(c.out_type)) + " batch " + std::to_string(c.batch) + " features " +
                     std::to_string(c.inputs) + "->" + std::to_string(c.outputs) + " groups " +
                     std::to_string(c.feature_groups) + "," + std::to_string(c.batch_groups);
  for (size_t d = 0; d < c.size.size(); ++d) {
    const WindowDim& w = c.window[d];
    text += " | " + std::to_string(c.size[d]) + " window " + std::to_string(w.size) + " stride " +
            std::to_string(w.stride) + " pad " + std::to_string(w.padding_low) + "_" +
            std::to_string(w.padding_high) + " dilate " + std::to_string(w.base_dilation) + "," +
            std::to_string(w.window_dilation) + (w.reversed ? " reversed" : "");
  }
  for (const auto* order : {&c.input_order, &c.kernel_order, &c.output_order}) {
    text += " ";
    for (int64_t d : *order) text += std::to_string(d);
  }
  return text;
}

void ExpectRight(const Case& c) {
  SCOPED_TRACE(Describe(c));
  const Operands o(c);
  const Literal input = test::RandomArray(c.input_type, {o.input_dims.begin(), o.input_dims.end()}, 1);
  const Literal kernel = test::RandomArray(c.kernel_type, {o.kernel_dims.begin(), o.kernel_dims.end()}, 2);
  const Literal out = Convolved(c, o, input, kernel);
  const Index is = RowMajorStrides(o.input_dims), ks = RowMajorStrides(o.kernel_dims),
              os = RowMajorStrides(o.output_dims);
  const auto rank = static_cast<int64_t>(c.size.size());
  const int64_t group_inputs = c.inputs / c.feature_groups;
  Index window;
  for (const WindowDim& w : c.window) window.push_back(w.size);
  const std::vector<std::complex<double>> inputs = test::Values(input), weights = test::Values(kernel);
  int wrong = 0;
  for (int64_t n = 0; n < c.batch / c.batch_groups; ++n) {
    for (int64_t z = 0; z < c.outputs; ++z) {
      const int64_t feature_group = z / (c.outputs / c.feature_groups),
                    batch_group = z / (c.outputs / c.batch_groups);
      for (const Index& at : EachIndex(Pick(o.output_dims, o.output_spatial))) {
        std::complex<double> sum = 0;
        double size = 0;
        uint64_t bits = 0;
        int64_t terms = 2;
        for (const Index& k : EachIndex(window)) {
          int64_t x = (n + batch_group * (c.batch / c.batch_groups)) * is[o.labels.input_batch];
          int64_t y = z * ks[o.labels.kernel_output_feature];
          bool is_inside = true;
          for (int64_t d = 0; d < rank; ++d) {
            const WindowDim& w = c.window[d];
            const int64_t p = at[d] * w.stride + k[d] * w.window_dilation - w.padding_low;
            if (p < 0 || p % w.base_dilation != 0 || p / w.base_dilation >= c.size[d]) is_inside = false;
            x += p / w.base_dilation * is[o.input_spatial[d]];
            y += (w.reversed ? w.size - 1 - k[d] : k[d]) * ks[o.kernel_spatial[d]];
          }
          if (!is_inside) continue;
          for (int64_t r = 0; r < group_inputs; ++r, ++terms) {
            const int64_t from = x + (feature_group * group_inputs + r) * is[o.labels.input_feature];
            const int64_t weight = y + r * ks[o.labels.kernel_input_feature];
            sum += inputs[from] * weights[weight];
            size += std::abs(inputs[from]) * std::abs(weights[weight]);
            bits += test::BitsAt(input, from) * test::BitsAt(kernel, weight);
          }
        }
        int64_t place = n * os[o.labels.output_batch] + z * os[o.labels.output_feature];
        for (int64_t d = 0; d < rank; ++d) place += at[d] * os[o.output_spatial[d]];
        const double normal = std::max(std::abs(sum), c.out_type == kF16 ? 0x1p-14 : 0.0);
        double bound = static_cast<double>(terms) * 0x1p-24 * size + normal * test::Epsilon(c.out_type) / 2;
        if (IsIntegral(c.out_type)) {
          sum = test::Wrapped(bits, c.out_type);
          bound = 0;
        }
        if (!(std::abs(test::At(out, place) - sum) <= bound) && ++wrong <= 3)
          ADD_FAILURE() << "batch " << n << " feature " << z << ": " << test::At(out, place) << ", not "
                        << sum;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

const std::vector<int64_t> kFeatureLast = {0, 2, 3, 1}, kFeatureFirst = {0, 1, 2, 3}, kHwio = {2, 3, 1, 0};

Case TwoDims(int64_t batch, int64_t inputs, int64_t outputs, int64_t size, WindowDim w) {
  return {.batch = batch,
          .inputs = inputs,
          .outputs = outputs,
          .size = {size, size + 1},
          .window = {w, w},
          .input_order = kFeatureLast,
          .kernel_order = kHwio,
          .output_order = kFeatureLast};
}
WindowDim Win(int64_t size, int64_t stride = 1, int64_t padding = 0) {
  return {.size = size, .stride = stride, .padding_low = padding, .padding_high = padding};
}

TEST(ConvolutionTest, TheShapesOfImageNetworks) {
  for (bool feature_first : {false, true}) {
    Case cases[] = {TwoDims(2, 3, 17, 23, Win(7, 2, 3)), TwoDims(1, 16, 33, 9, Win(1)),
                    TwoDims(1, 16, 33, 9, Win(1, 2)),    TwoDims(1, 40, 24, 8, Win(3, 1, 1)),
                    TwoDims(2, 130, 7, 5, Win(3, 2, 1)), TwoDims(1, 300, 24, 4, Win(3, 1, 1))};
    for (Case& c : cases) {
      if (feature_first) {
        c.input_order = c.output_order = kFeatureFirst;
        c.kernel_order = kFeatureFirst;
      }
      ExpectRight(c);
    }
  }
}

TEST(ConvolutionTest, DepthwiseAlongRowsAndAlongFeatures) {
  for (const WindowDim& w : {Win(3, 1, 1), Win(5, 2, 2), Win(3, 3, 0), Win(1),
                             WindowDim{.size = 3, .padding_low = 4, .padding_high = -1, .window_dilation = 2},
                             WindowDim{.size = 2,
                             .stride = 2,
                             .padding_low = -1,
                             .padding_high = 3,
                             .base_dilation = 3,
                             .reversed = true}}) {
    for (int64_t features : {9, 19, 32}) {
      Case c = TwoDims(2, features, features, 11, w);
      c.feature_groups = features;
      EXPECT_EQ(Method(c), ConvolutionMethod::kGroupsInner);
      ExpectRight(c);
      c.input_order = c.output_order = c.kernel_order = kFeatureFirst;
      EXPECT_EQ(Method(c), ConvolutionMethod::kDepthwiseRows);
      ExpectRight(c);
      c.input_type = c.kernel_type = c.out_type = kBF16;
      ExpectRight(c);
    }
  }
}

TEST(ConvolutionTest, SingleFeaturesAlongRows) {
  for (const WindowDim& w :
       {Win(3, 1, 1), Win(5, 2, 2), Win(9, 1, 8),
        WindowDim{.size = 3, .padding_low = 4, .padding_high = -1, .window_dilation = 2},
        WindowDim{.size = 2, .stride = 2, .padding_high = 3, .base_dilation = 3, .reversed = true}}) {
    for (const int64_t size : {47, 53}) {
      Case c = TwoDims(2, 1, 1, size, w);
      for (const ElementType type : {kF32, kF64}) {
        c.input_type = c.kernel_type = c.out_type = type;
        c.input_order = c.output_order = c.kernel_order = kFeatureFirst;
        EXPECT_EQ(Method(c), ConvolutionMethod::kDepthwiseRows);
        ExpectRight(c);
      }
    }
  }
}

TEST(ConvolutionTest, DepthwiseWithFewFeatures) {
  for (const WindowDim& w :
       {Win(3, 1, 1), Win(5, 2, 2), WindowDim{.size = 2, .padding_low = 3, .base_dilation = 2}}) {
    for (int64_t features : {2, 3}) {
      Case c = TwoDims(2, features, features, 37, w);
      c.feature_groups = features;
      for (const ElementType type : {kF32, kBF16}) {
        c.input_type = c.kernel_type = c.out_type = type;
#if !defined(HLO_ISA_LEVELED)  // The method depends on the level, and this file is compiled for none.
        EXPECT_EQ(Method(c), kLanes<float> > 2 * features ? ConvolutionMethod::kTransposedRows
                                                          : ConvolutionMethod::kGroupsInner);
#endif
        ExpectRight(c);
      }
    }
  }
}

TEST(ConvolutionTest, GroupsOfFewFeatures) {
  for (const WindowDim& w : {Win(3, 1, 1), Win(5, 2, 2), Win(1),
                             WindowDim{.size = 3, .padding_low = 4, .padding_high = -1, .window_dilation = 2},
                             WindowDim{.size = 2, .padding_low = 3, .base_dilation = 2, .reversed = true}}) {
    for (const auto& [features, group] : {std::pair(18, 2), {32, 2}, {20, 4}, {96, 4}, {24, 8}}) {
      Case c = TwoDims(1, features, features, 9, w);
      c.feature_groups = features / group;
      for (const ElementType type : {kF32, kF64, kBF16, kS32}) {
        c.input_type = c.kernel_type = c.out_type = type;
        if (group <= kLanes<double>) {
          EXPECT_EQ(Method(c), ConvolutionMethod::kGroupsInner);
        }
        ExpectRight(c);
        c.kernel_order = kFeatureFirst;
        ExpectRight(c);
        c.kernel_order = kHwio;
      }
    }
  }
}

// Convolutions, most of which are computed directly: the widths of tiles, blocks of rows, padding on either
// side, kernels that are packed, and rounded results.
std::vector<Case> DirectCases() {
  std::vector<Case> cases;
  const WindowDim windows[] = {
      Win(3, 1, 1),
      Win(3),
      Win(7, 2, 3),
      {.size = 3, .stride = 2, .padding_low = 4, .padding_high = -1, .window_dilation = 3},
      {.size = 4, .padding_low = -1, .padding_high = 3, .reversed = true},
      {.size = 3, .padding_low = 1, .padding_high = 2, .base_dilation = 2, .reversed = true},
      {.size = 2, .padding_low = 3, .padding_high = 1, .base_dilation = 3},
      {.size = 4,
       .stride = 3,
       .padding_low = 2,
       .padding_high = 2,
       .window_dilation = 2,
       .base_dilation = 2}};
  for (const WindowDim& window : windows) {
    for (const auto& [inputs, outputs] : {std::pair(1, 6), {3, 35}}) {
      for (const auto* order : {&kFeatureLast, &kFeatureFirst}) {
        Case c = TwoDims(1, inputs, outputs, 14, window);
        c.input_order = c.output_order = *order;
        for (const std::vector<int64_t>& kernel_order : {kHwio, {2, 3, 0, 1}, kFeatureFirst}) {
          c.kernel_order = kernel_order;
          cases.push_back(c);
        }
        for (const ElementType type : {kF16, kF64, kS32}) {
          c.input_type = c.kernel_type = c.out_type = type;
          cases.push_back(c);
        }
      }
    }
  }
  return cases;
}

TEST(ConvolutionTest, ConvolvesDirectly) {
  for (const Case& c : DirectCases()) {
    const WindowDim& window = c.window[1];
    // Positions of a phase that are adjacent in the result are adjacent in the input.
    const bool is_contiguous = c.output_order == kFeatureLast || window.base_dilation % window.stride == 0;
    EXPECT_EQ(Method(c), is_contiguous ? ConvolutionMethod::kDirect : ConvolutionMethod::kProduct)
        << Describe(c);
    ExpectRight(c);
  }
}

// Gradients of kernels: rows of tiles span features, and the sums are long.
TEST(ConvolutionTest, ConvolvesGradientsOfKernelsDirectly) {
  for (const auto& [inputs, outputs] : {std::pair(1, 6), {9, 35}}) {
    for (const int64_t padding : {0, 2}) {
      Case c = TwoDims(inputs, 3, outputs, 15, Win(0));
      c.window = {Win(13, 1, padding), Win(14, 1, padding)};
      c.input_order = c.kernel_order = {1, 2, 3, 0};
      c.output_order = {2, 3, 0, 1};
      for (const ElementType type : padding == 0 ? std::array{kF32, kF16} : std::array{kF64, kU32}) {
        c.input_type = c.kernel_type = c.out_type = type;
        EXPECT_EQ(Method(c), ConvolutionMethod::kDirect) << Describe(c);
        ExpectRight(c);
      }
    }
  }
}

// Gradients of kernels in layouts for some of which the input and the result are copied.
std::vector<Case> KernelGradients() {
  std::vector<Case> cases;
  for (const auto& [batch, dilation] : {std::pair(9, 1), {9, 2}, {1, 1}, {1, 2}}) {
    Case c = TwoDims(batch, 3, 20, 14, Win(0));
    for (WindowDim& w : c.window)
      w = {.size = 7, .padding_low = 1, .padding_high = 1, .window_dilation = dilation};
    if (dilation == 1) c.size = {8, 7};
    for (const auto& [input, kernel, output] :
         {std::tuple(std::vector<int64_t>{1, 0, 2, 3}, std::vector<int64_t>{1, 0, 2, 3}, kFeatureFirst),
          {{0, 2, 3, 1}, {2, 3, 1, 0}, {0, 2, 3, 1}},
          {{2, 0, 1, 3}, {0, 2, 3, 1}, {1, 3, 0, 2}}}) {
      c.input_order = input;
      c.kernel_order = kernel;
      c.output_order = output;
      cases.push_back(c);
    }
  }
  return cases;
}

TEST(ConvolutionTest, CopiesTheInputForGradientsOfKernels) {
  for (Case c : KernelGradients()) {
    for (const ElementType type : {kF32, kF16}) {
      c.input_type = c.kernel_type = c.out_type = type;
      EXPECT_EQ(Method(c), ConvolutionMethod::kDirect) << Describe(c);
      ExpectRight(c);
    }
  }
}

// Stores the blocks of a result.
void StoreBlock(const void* context, const ArrayBlock& block) {
  float* to = *static_cast<float* const*>(context);
  for (int64_t r = 0; r < block.rows; ++r) {
    std::memcpy(to + block.first + r * block.row_stride,
                static_cast<const float*>(block.data) + r * block.data_stride,
                static_cast<size_t>(block.columns) * sizeof(float));
  }
}

TEST(ConvolutionTest, TheEpilogueSeesTheWholeResult) {
  std::vector<Case> cases = DirectCases();
  for (const Case& c : KernelGradients()) cases.push_back(c);
  for (const Case& c : cases) {
    if (c.out_type != kF32) continue;
    const Operands o(c);
    const Literal input = test::RandomArray(kF32, {o.input_dims.begin(), o.input_dims.end()}, 1);
    const Literal kernel = test::RandomArray(kF32, {o.kernel_dims.begin(), o.kernel_dims.end()}, 2);
    const Literal out = Convolved(c, o, input, kernel);
    for (const int threads : {1, 3}) {
      SetThreadCount(threads);
      std::vector<float> seen(static_cast<size_t>(out.element_count()), NAN);
      float* const to = seen.data();
      Literal stored = *Literal::CreateZeros(out.shape());
      for (std::byte* data : {static_cast<std::byte*>(nullptr), stored.mutable_data()}) {
        std::fill(seen.begin(), seen.end(), NAN);
        ASSERT_TRUE(Convolution({input.data(), kF32, o.input_dims}, {kernel.data(), kF32, o.kernel_dims},
                                DimsOf(c, o), data, kF32, o.output_dims, {StoreBlock, &to, 1})
                        .ok());
        EXPECT_EQ(std::memcmp(seen.data(), out.data(), static_cast<size_t>(out.byte_count())), 0)
            << Describe(c) << " threads " << threads << (data == nullptr ? "" : " stored");
      }
      SetThreadCount(0);
    }
  }
}

// Products of AMX tiles where the machine has them, and of pairs of integers: features that fill no word,
// groups, reversed and dilated windows, features first, and operands in orders that are copied.
TEST(ConvolutionTest, BytesAndBF16) {
  struct Types {
    ElementType operand, out;
  };
  for (const Types& types : {Types{kS8, kS32}, Types{kS8, kS8}, Types{kU8, kS32}, Types{kS16, kS32},
                             Types{kS16, kU16}, Types{kBF16, kBF16}, Types{kBF16, kF32}}) {
    const auto expect_right = [&](Case c) {
      c.input_type = c.kernel_type = types.operand;
      c.out_type = types.out;
      ExpectRight(c);
      c.output_order = kFeatureFirst;
      ExpectRight(c);
      c.input_order = kFeatureFirst;
      c.kernel_order = {0, 1, 2, 3};
      ExpectRight(c);
    };
    for (const int64_t inputs : {3, 16, 33, 64}) expect_right(TwoDims(2, inputs, 17, 6, Win(3, 1, 1)));
    expect_right(TwoDims(1, 40, 32, 9, Win(3, 2, 1)));
    WindowDim w = Win(3, 1, 2);
    w.window_dilation = 2;
    w.reversed = true;
    expect_right(TwoDims(1, 32, 16, 7, w));
    w.base_dilation = 3;
    expect_right(TwoDims(1, 20, 16, 4, w));
    Case grouped = TwoDims(2, 64, 40, 5, Win(3, 1, 1));
    grouped.feature_groups = 2;
    expect_right(grouped);
    expect_right(TwoDims(1, 300, 16, 5, Win(4)));  // Sums of several panels.
    Case one = TwoDims(1, 16, 16, 5, Win(2));
    one.input_type = one.kernel_type = types.operand, one.out_type = types.out;
    const bool is_by_amx = HasAmx() && (types.operand == kS8 || types.operand == kBF16);
    EXPECT_EQ(Method(one), is_by_amx ? ConvolutionMethod::kAmxProduct : ConvolutionMethod::kDirect);
  }
}

TEST(ConvolutionTest, TinyNumbersOfBF16AreNotLost) {
  Case c = TwoDims(1, 32, 32, 5, Win(3, 1, 1));
  c.input_type = c.kernel_type = kBF16;
  const Operands o(c);
  const auto filled = [](const Index& dims, float value) {
    Literal array = *Literal::CreateZeros(Shape::Array(kBF16, dims));
    for (bfloat16& each : array.mutable_span<bfloat16>()) each = bfloat16::FromFloat(value);
    return array;
  };
  for (const auto& [x, weight] : {std::pair{0x1p-130f, 0x1p120f}, {0x1p-80f, 0x1p-60f}}) {
    const Literal out = Convolved(c, o, filled(o.input_dims, x), filled(o.kernel_dims, weight));
    // The first output is the sum of four taps.
    EXPECT_EQ(out.span<float>()[0], static_cast<float>(4.0 * 32 * x * weight));
  }
}

TEST(ConvolutionTest, GroupsOfFeaturesAndOfTheBatch) {
  for (bool feature_first : {false, true}) {
    Case c = TwoDims(6, 12, 8, 7, Win(3, 1, 1));
    if (feature_first) c.input_order = c.output_order = c.kernel_order = kFeatureFirst;
    c.feature_groups = 4;
    ExpectRight(c);
    c.outputs = 24;
    c.feature_groups = 12;  // Two output features per input feature.
    ExpectRight(c);
    c.feature_groups = 1;
    c.batch_groups = 3;
    ExpectRight(c);
    c.batch_groups = 6;
    ExpectRight(c);
  }
}

// Gradients as frameworks emit them: the input gradient dilates the base and reverses the kernel; the kernel
// gradient swaps batch and features and has a large window.
TEST(ConvolutionTest, GradientsHaveDilatedBasesAndLargeWindows) {
  Case input = TwoDims(
      2, 10, 12, 6, {.size = 3, .padding_low = 1, .padding_high = 2, .base_dilation = 2, .reversed = true});
  input.kernel_order = {2, 3, 0, 1};
  ExpectRight(input);
  Case kernel = TwoDims(9, 2, 20, 12, Win(11, 1, 1));
  kernel.input_order = {1, 2, 3, 0};
  kernel.kernel_order = {1, 2, 3, 0};
  kernel.output_order = {2, 3, 0, 1};
  ExpectRight(kernel);
}

TEST(ConvolutionTest, GradientsOfDepthwiseKernels) {
  for (const WindowDim& w : {Win(11, 1, 1), Win(5, 1, 2), WindowDim{.size = 4, .window_dilation = 2}}) {
    for (const int64_t features : {3, 19, 32, 70}) {
      Case c = TwoDims(features, 3, features, 12, w);
      c.batch_groups = features;
      c.input_order = {1, 2, 3, 0};
      c.output_order = {2, 3, 0, 1};
      for (const std::vector<int64_t>& order :
           {std::vector<int64_t>{1, 2, 3, 0}, {0, 1, 2, 3}, {2, 0, 3, 1}}) {
        c.kernel_order = order;
        for (const ElementType type : {kF32, kBF16, kS32}) {
          c.input_type = c.kernel_type = c.out_type = type;
          EXPECT_EQ(Method(c), ConvolutionMethod::kGroupsInner);
          ExpectRight(c);
        }
      }
    }
  }
}

TEST(ConvolutionTest, RandomAttributesAndDimensionNumbers) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto shuffled = [&](int64_t rank) {
    std::vector<int64_t> order(rank);
    for (int64_t d = 0; d < rank; ++d) order[d] = d;
    std::shuffle(order.begin(), order.end(), random);
    return order;
  };
  const ElementType types[] = {kF32, kF32, kBF16, kS32, kS8, kC64, kF64, kU8, kS16};
  for (int i = 0; i < 400; ++i) {
    Case c;
    const int64_t rank = draw(0, 3), groups = draw(0, 2) == 0 ? draw(1, 4) : 1, kind = draw(0, 1);
    c.feature_groups = kind == 0 ? groups : 1;
    c.batch_groups = kind == 1 ? groups : 1;
    c.batch = draw(1, 3) * c.batch_groups;
    c.inputs = draw(1, 9) * c.feature_groups;
    c.outputs = draw(1, 9) * groups;
    for (int64_t d = 0; d < rank; ++d) {
      c.size.push_back(draw(rank == 3 ? 1 : 0, rank == 1 ? 40 : 9));
      c.window.push_back({.size = draw(1, 4),
                          .stride = draw(1, 3),
                          .padding_low = draw(-2, 4),
                          .padding_high = draw(-2, 4),
                          .window_dilation = draw(1, 3),
                          .base_dilation = draw(1, 3),
                          .reversed = draw(0, 1) == 1});
    }
    c.input_order = shuffled(rank + 2);
    c.kernel_order = shuffled(rank + 2);
    c.output_order = shuffled(rank + 2);
    c.input_type = c.kernel_type = c.out_type = types[draw(0, 8)];
    ExpectRight(c);
  }
}

// Padding is not a term of the sum: an infinite weight must not be multiplied by a padding zero.
TEST(ConvolutionTest, InfiniteWeightsAreNotMultipliedByPadding) {
  for (int64_t features : {1, 4}) {
    Case c = TwoDims(1, features, features, 5, Win(3, 1, 1));
    c.feature_groups = features;
    const Operands o(c);
    Literal input = *Literal::Create(Shape::Array(kF32, o.input_dims));
    Literal kernel = *Literal::Create(Shape::Array(kF32, o.kernel_dims));
    for (float& x : input.mutable_span<float>()) x = 1;
    for (float& x : kernel.mutable_span<float>()) x = 1;
    for (int64_t f = 0; f < features; ++f)
      kernel.mutable_span<float>()[f] = std::numeric_limits<float>::infinity();
    const Literal out = Convolved(c, o, input, kernel);
    for (int64_t p = 0; p < out.element_count(); ++p) {
      const int64_t row = p / features / 6, column = p / features % 6;
      if (row == 0 || column == 0)
        EXPECT_TRUE(std::isfinite(out.span<float>()[p])) << p;
      else
        EXPECT_EQ(out.span<float>()[p], std::numeric_limits<float>::infinity()) << p;
    }
  }
}

TEST(ConvolutionTest, TheSameBitsWithAnyNumberOfThreads) {
  Case cases[] = {TwoDims(2, 20, 70, 30, Win(3, 1, 1)), TwoDims(2, 64, 64, 30, Win(3, 1, 1))};
  cases[1].feature_groups = 64;
  for (const Case& c : cases) {
    const Operands o(c);
    const Literal input = test::RandomArray(kF32, {o.input_dims.begin(), o.input_dims.end()}, 1);
    const Literal kernel = test::RandomArray(kF32, {o.kernel_dims.begin(), o.kernel_dims.end()}, 2);
    SetThreadCount(1);
    const Literal one = Convolved(c, o, input, kernel);
    SetThreadCount(2);
    const Literal two = Convolved(c, o, input, kernel);
    SetThreadCount(0);
    EXPECT_EQ(std::memcmp(one.data(), two.data(), static_cast<size_t>(one.byte_count())), 0);
  }
}

TEST(ConvolutionTest, HugeWindowsAreRejected) {
  Case c = TwoDims(1, 1, 1, 3, Win(1));
  c.window[0].base_dilation = int64_t{1} << 62;
  const Operands o(TwoDims(1, 1, 1, 3, Win(1)));
  const float x[12] = {};
  float out[12];
  const absl::Status status = Convolution({x, kF32, o.input_dims}, {x, kF32, o.kernel_dims},
                                          {c.window, &o.labels, 1, 1}, out, kF32, o.output_dims);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace hlo::cpu::convolution_test
