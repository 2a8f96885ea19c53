// Tests GEMM against naive loops, within the a-priori bound of a sum of products.

#include "kernels/cpu/gemm/gemm.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "arrays.h"
#include "base/parallel.h"
#include "gtest/gtest.h"
#include "kernels/cpu/gemm/amx.h"
#include "kernels/cpu/gemm/bf16_pairs.h"
#include "kernels/cpu/gemm/byte_quads.h"
#include "kernels/cpu/simd/simd.h"

namespace hlo::cpu::gemm_test {
namespace {

using test::At;

struct Layout {
  bool transposed = false;
  int64_t gap = 0;  // Padding elements between rows.
};

struct Setting {
  ElementType a = ElementType::kF32, b = ElementType::kF32, c = ElementType::kF32;
  int64_t batch = 1, m, n, k;
  Layout a_layout, b_layout;
};

// A matrix [rows, columns] of an operand in its memory layout.
struct Matrix {
  Literal array;
  GemmOperand operand;

  Matrix(ElementType type, int64_t batch, int64_t rows, int64_t columns, Layout layout, uint32_t seed) {
    const int64_t outer = layout.transposed ? columns : rows, inner = layout.transposed ? rows : columns;
    array = test::RandomArray(type, {batch, outer, inner + layout.gap}, seed);
    const int64_t step = inner + layout.gap;
    operand.data = array.data();
    operand.type = type;
    operand.row_stride = layout.transposed ? 1 : step;
    operand.column_stride = layout.transposed ? step : 1;
    operand.batch_strides = {outer * step};
  }
  int64_t Place(int64_t b, int64_t i, int64_t j) const {
    return b * operand.batch_strides[0] + i * operand.row_stride + j * operand.column_stride;
  }
};

// `packs`: adds an epilogue, which the kernel for tiny products does not support.
Literal Multiply(const Setting& s, const Matrix& a, const Matrix& b, bool packs = false) {
  absl::StatusOr<Literal> c = Literal::CreateZeros(Shape::Array(s.c, {s.batch, s.m, s.n}));
  BlockFunction nothing;
  if (packs) nothing.run = [](const void*, const ArrayBlock&) {};
  Gemm({{.m = s.m,
         .n = s.n,
         .k = s.k,
         .batch_dims = {s.batch},
         .a = a.operand,
         .b = b.operand,
         .c_type = s.c,
         .c_row_stride = s.n,
         .c_batch_strides = {s.m * s.n}},
        c->mutable_data(),
        nothing});
  return *std::move(c);
}

std::string Describe(const Setting& s) {
  return std::string(Name(s.a)) + " x " + std::string(Name(s.b)) + " -> " + std::string(Name(s.c)) + " [" +
         std::to_string(s.batch) + "," + std::to_string(s.m) + "," + std::to_string(s.n) + "," +
         std::to_string(s.k) + "]" + (s.a_layout.transposed ? " a transposed" : "") +
         (s.b_layout.transposed ? " b transposed" : "");
}

// The elements of an operand in the forms that expected values and their bounds need.
struct Elements {
  std::vector<std::complex<double>> values;
  std::vector<double> sizes;
  std::vector<uint64_t> bits;

  explicit Elements(const Literal& array) : values(test::Values(array)) {
    for (size_t i = 0; i < values.size(); ++i) {
      sizes.push_back(std::abs(values[i]));
      bits.push_back(test::BitsAt(array, static_cast<int64_t>(i)));
    }
  }
};

void ExpectRight(const Setting& s, const Matrix& a, const Matrix& b, const Literal& c) {
  const double compute = test::Epsilon(GemmComputeType(s.a, s.b, s.c)) / 2;
  const Elements left(a.array), right(b.array);
  const bool is_integral = IsIntegral(s.c) && !IsPred(s.c);
  int wrong = 0;
  for (int64_t batch = 0; batch < s.batch; ++batch) {
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        std::complex<double> sum = 0;
        double size = 0;
        uint64_t bits = 0;
        for (int64_t k = 0; k < s.k; ++k) {
          const int64_t x = a.Place(batch, i, k), y = b.Place(batch, k, j);
          if (is_integral) {
            bits += left.bits[x] * right.bits[y];
          } else {
            sum += left.values[x] * right.values[y];
            size += left.sizes[x] * right.sizes[y];
          }
        }
        const std::complex<double> got = At(c, (batch * s.m + i) * s.n + j);
        double bound = static_cast<double>(s.k + 2) * compute * size;
        if (IsPred(s.c)) {
          sum = sum != 0.0;
          bound = 0;
        } else if (is_integral) {
          sum = test::Wrapped(bits, s.c);
          bound = 0;
        } else {
          bound += std::abs(sum) * test::Epsilon(s.c) / 2;
        }
        if (!(std::abs(got - sum) <= bound) && ++wrong <= 3)
          ADD_FAILURE() << "at [" << batch << "," << i << "," << j << "]: " << got << ", not " << sum;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

void ExpectRight(const Setting& s) {
  SCOPED_TRACE(Describe(s));
  const Matrix a(s.a, s.batch, s.m, s.k, s.a_layout, 1), b(s.b, s.batch, s.k, s.n, s.b_layout, 2);
  for (const bool packs : {false, true}) ExpectRight(s, a, b, Multiply(s, a, b, packs));
}

using enum ElementType;

TEST(GemmTest, EverySizeAroundTheRegisterTiles) {
  for (ElementType type : {kF32, kF64, kS16, kS32, kC64}) {
    for (int64_t m : {1, 2, 3, 5, 6, 7, 13, 97}) {
      for (int64_t n : {1, 4, 5, 8, 15, 16, 17, 33}) {
        for (int64_t k : {0, 1, 3, 8, 31}) ExpectRight({type, type, type, 1, m, n, k});
      }
    }
  }
}

TEST(GemmTest, FewRowsOfARowMajorMatrix) {
  for (ElementType type : {kF32, kBF16, kF16, kF64, kS32, kU64}) {
    for (int64_t m : {4, 5, 8, 9, 11, 12, 13}) {
      ExpectRight({type, type, type, 1, m, 64, 33});
      ExpectRight({type, type, type, 2, m, 1700, 70, {true, 3}, {false, 5}});
    }
  }
  ExpectRight({kF32, kF32, kBF16, 1, 7, 4200, 1100});
  for (const int64_t m : {1, 3, 7, 12}) ExpectRight({kF32, kS8, kF32, 1, m, 70, 133});
  ExpectRight({kF32, kS8, kF32, 2, 3, 70, 133, {}, {true}});
}

// Many rows of short sums are split, and need no packing.
TEST(GemmTest, ManyRowsOfFewColumns) {
  for (const ElementType type : {kF32, kF64}) {
    for (const int64_t n : {4, 7, 8, 13, 16, 25, 32}) {
      for (const int64_t k : {1, 3, 8, 16}) {
        ExpectRight({type, type, type, 1, 4099, n, k});
        ExpectRight({type, type, type, 2, 1201, n, k, {true, 3}, {true, 1}});
      }
    }
  }
}

// Sizes on both sides of the limits for operands that are read in place, with several passes over k.
TEST(GemmTest, OperandsInPlace) {
  for (ElementType type : {kF32, kF64}) {
    for (const Layout a : {Layout{false, 0}, Layout{false, 3}, Layout{true, 2}}) {
      for (const Layout b : {Layout{false, 0}, Layout{false, 1}, Layout{true, 0}}) {
        ExpectRight({type, type, type, 1, 13, 39, 260, a, b});
        ExpectRight({type, type, type, 1, 129, 33, 9, a, b});
        ExpectRight({type, type, type, 1, 14, 1030, 5, a, b});
      }
    }
  }
  ExpectRight({kF32, kF32, kF16, 1, 30, 80, 300});
  ExpectRight({kF32, kBF16, kF32, 1, 30, 80, 300});
}

TEST(GemmTest, EmptyResults) {
  for (int64_t m : {0, 3}) ExpectRight({kF32, kF32, kF32, 1, m, 0, 5});
  ExpectRight({kF32, kF32, kF32, 0, 3, 3, 3});
}

TEST(GemmTest, SizesBeyondTheBlocksOfTheCache) {
  ExpectRight({kF32, kF32, kF32, 1, 131, 523, 700});
  ExpectRight({kF64, kF64, kF64, 1, 101, 263, 521, {true}, {true}});
  ExpectRight({kBF16, kBF16, kBF16, 1, 103, 269, 600});
  ExpectRight({kF32, kF32, kF32, 1, 7, 3100, 20});
  ExpectRight({kF32, kF32, kF32, 1, 3100, 7, 20});
  ExpectRight({kBF16, kBF16, kF32, 1, 1100, 1040, 9});
}

TEST(GemmTest, ALongSumForASmallResultIsSplit) {
  ExpectRight({kF32, kF32, kF32, 1, 9, 17, 9001});
  ExpectRight({kBF16, kBF16, kBF16, 1, 5, 6, 5003, {true}, {false}});
  ExpectRight({kC64, kC64, kC64, 1, 1, 3, 5003});
  ExpectRight({kC64, kC64, kC64, 1, 2, 300, 5003, {true}, {true}});
  ExpectRight({kC128, kC128, kC128, 1, 300, 1, 5003});
}

TEST(GemmTest, AnyStrides) {
  for (ElementType type : {kF32, kF64, kBF16, kF16, kS8, kC64, kC128}) {
    for (bool a_transposed : {false, true}) {
      for (bool b_transposed : {false, true}) {
        for (int64_t m : {1, 2, 3, 20}) {
          ExpectRight({type, type, type, 3, m, 37, 65, {a_transposed, 3}, {b_transposed, 5}});
          ExpectRight({type, type, type, 2, 37, m, 29, {a_transposed, 1}, {b_transposed, 2}});
        }
      }
    }
  }
}

#if !defined(HLO_ISA_LEVELED)  // Panel sizes depend on the level, and this file is compiled for none.
// Calls multiply(a, b, sink, k) for matrices of one type in memory, with sizes around tiles and panels.
template <class T, class F>
void ExpectRightPanels(ElementType type, ElementType result, F&& multiply) {
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const int64_t k : {1, 2, 7, 31, 64, 65, 600, 1101}) {
        for (const int64_t m : {5, 12, 16, 29, 48}) {
          const int64_t n = m == 48 ? 32 : 70;
          const Setting s{type, type, result, 1, m, n, k, {a_transposed, 3}, {b_transposed, 1}};
          SCOPED_TRACE(Describe(s));
          const Matrix a(s.a, 1, m, k, s.a_layout, 1), b(s.b, 1, k, n, s.b_layout, 2);
          Literal c = *Literal::CreateZeros(Shape::Array(result, {1, m, n}));
          multiply(s, a.operand, b.operand,
                   ProductSink<T>{.data = c.mutable_data(), .row_stride = n, .byte_count = 4});
          ExpectRight(s, a, b, c);
        }
      }
    }
  }
}

// These tests also run where the kernels' instructions are emulated or no product prefers the kernel.
TEST(GemmTest, PairsOfBF16) {
  ExpectRightPanels<float>(
      kBF16, kF32, [](const Setting& s, const GemmOperand& a, const GemmOperand& b, auto sink) {
        const BF16Matrix left{static_cast<const bfloat16*>(a.data), a.row_stride, a.column_stride};
        const BF16Matrix right{static_cast<const bfloat16*>(b.data), b.column_stride, b.row_stride};
        MultiplyPanels<float, Terms::kPairs>(s.m, s.n, (s.k + 1) / 2,
                                             BF16PairSource<kPanelRows<float>>(left, s.k),
                                             BF16PairSource<kPanelColumns<float>>(right, s.k), sink);
      });
}

TEST(GemmTest, QuadsOfBytes) {
  ExpectRightPanels<uint32_t>(
      kS8, kS32, [](const Setting& s, const GemmOperand& a, const GemmOperand& b, auto sink) {
        const ByteQuadSource<kPanelRows<uint32_t>, true> left(a.data, a.row_stride, a.column_stride, s.k);
        const ByteQuadSource<kPanelColumns<uint32_t>, false> right(b.data, b.column_stride, b.row_stride,
                                                                   s.k);
        MultiplyPanels<uint32_t, Terms::kQuads>(s.m, s.n, (s.k + 3) / 4, left, right, sink);
      });
}

template <class T>
void ExpectRightAmxPanels(ElementType type, ElementType result) {
  if constexpr (kPacksAmxTiles) {
    ExpectRightPanels<T>(type, result,
                         [](const Setting& s, const GemmOperand& a, const GemmOperand& b, auto sink) {
                           const AmxSource<T, true> left(a.data, a.row_stride, a.column_stride, s.k);
                           const AmxSource<T, false> right(b.data, b.column_stride, b.row_stride, s.k);
                           MultiplyPanels<T, Terms::kAmx>(s.m, s.n, AmxWords<T>(s.k), left, right, sink);
                         });
  }
}
TEST(GemmTest, AmxTilesOfBF16AndBytes) {
  if (!HasAmx()) GTEST_SKIP() << "this processor, or its system, has no AMX";
  ExpectRightAmxPanels<float>(kBF16, kF32);
  ExpectRightAmxPanels<uint32_t>(kS8, kS32);
}
#endif

// Large products use AMX where the machine has it. Sums are split, and neither stride is 1.
TEST(GemmTest, LargeProductsOfBF16AndBytes) {
  for (const auto& [type, result] : {std::pair{kBF16, kF32}, std::pair{kBF16, kBF16}, std::pair{kS8, kS32}}) {
    ExpectRight({type, type, result, 1, 17, 40, 9001});
    ExpectRight({type, type, result, 3, 33, 65, 100, {true}, {true}});
    const Setting s{type, type, result, 1, 40, 24, 70};
    Matrix a(type, 1, 80, 140, {}, 1), b(type, 1, 140, 48, {}, 2);
    for (GemmOperand* x : {&a.operand, &b.operand}) x->row_stride *= 2, x->column_stride *= 2;
    ExpectRight(s, a, b, Multiply(s, a, b, true));
  }
}

// Hardware may flush products to 0: the last bits of the terms matter.
TEST(GemmTest, ScalesThatMakeProductsOfBF16Normal) {
  std::vector<bfloat16> a(8 * 40, bfloat16::FromFloat(1)), b(8 * 40, bfloat16::FromFloat(0x1p-100f));
  const auto scales = [&](bool by_rows) {
    const BF16Matrix left{a.data(), by_rows ? 40 : 1, by_rows ? 1 : 8}, right{b.data(), 40, 1};
    const std::optional<BF16Scales> result = NormalScales(left, 8, right, 8, 40);
    EXPECT_EQ(NormalScales(absl::MakeConstSpan(a), absl::MakeConstSpan(b), 40), result);
    return result;
  };
  const auto with = [](std::vector<bfloat16>& x, size_t i, float value) {
    x[i] = bfloat16::FromFloat(value);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const bool by_rows : {false, true}) {
    EXPECT_EQ(scales(by_rows), BF16Scales());
    with(a, 319, -0x1p-12f);
    EXPECT_EQ(scales(by_rows), BF16Scales());
    with(a, 319, -0x1p-13f);
    EXPECT_EQ(scales(by_rows), (BF16Scales{1, 0}));
    with(a, 319, 0);
    EXPECT_EQ(scales(by_rows), BF16Scales());
    with(a, 319, 0x1p-100f);
    EXPECT_EQ(scales(by_rows), (BF16Scales{30, 0}));  // Sums of 40 numbers below 2^-156 are 0 in f32.
    with(a, 7, 0x1p97f);
    EXPECT_EQ(scales(by_rows), (BF16Scales{30, 0}));
    with(a, 7, 0x1p98f);
    EXPECT_EQ(scales(by_rows), std::nullopt);  // 2^128 is infinite.
    with(a, 7, 1);
    with(b, 3, 0x1p-130f);
    EXPECT_EQ(scales(by_rows), (BF16Scales{23, 7}));
    with(a, 319, -0x1p-130f);
    EXPECT_EQ(scales(by_rows), (BF16Scales{23, 7}));
    with(b, 4, 0x1p120f);
    EXPECT_EQ(scales(by_rows), std::nullopt);
    with(b, 4, 0);
    with(b, 3, kInfinity);
    EXPECT_EQ(scales(by_rows), std::nullopt);  // An infinity beside small numbers.
    with(a, 319, 1);
    EXPECT_EQ(scales(by_rows), BF16Scales());
    with(b, 3, 0x1p-100f);
    with(b, 4, 0x1p-100f);
  }
}

// Multiplies dense row-major bf16 matrices.
void MultiplyBF16(int64_t m, int64_t n, int64_t k, const std::vector<bfloat16>& a,
                  const std::vector<bfloat16>& b, ElementType type, void* c) {
  Gemm({{.m = m,
         .n = n,
         .k = k,
         .a = {{kBF16, k, 1, {}}, a.data()},
         .b = {{kBF16, n, 1, {}}, b.data()},
         .c_type = type,
         .c_row_stride = n},
        c});
}

// Multiplies numbers of the given magnitudes, and compares with sums of f64.
void ExpectRightSmallProducts(int a_exponent, int a_range, int b_exponent, int b_range, bool has_signs) {
  constexpr int64_t m = 20, n = 40, k = 1100;
  std::vector<bfloat16> a(m * k), b(k * n);
  for (int64_t i = 0; i < m * k; ++i)
    a[i] = bfloat16::FromFloat(std::ldexp(1.0f + i % 5, a_exponent + i % a_range) *
                               (has_signs && i % 7 < 3 ? -1 : 1));
  for (int64_t i = 0; i < k * n; ++i)
    b[i] = bfloat16::FromFloat(std::ldexp(1.0f + i % 3, b_exponent + i % b_range));
  for (const ElementType type : {kF32, kBF16}) {
    Literal c = *Literal::CreateZeros(Shape::Array(type, {m, n}));
    MultiplyBF16(m, n, k, a, b, type, c.mutable_data());
    for (int64_t i = 0; i < m * n; ++i) {
      double sum = 0, magnitudes = 0;
      for (int64_t t = 0; t < k; ++t) {
        const double term =
            static_cast<double>(a[i / n * k + t].ToFloat()) * static_cast<double>(b[t * n + i % n].ToFloat());
        sum += term;
        magnitudes += std::abs(term);
      }
      // Terms that are not scaled round to a multiple of the least denormal in each step.
      const double rounding = (HasAmx() ? 1 : k / 2) * 0x1p-149;
      const double bound = static_cast<double>(k) * 0x1p-24 * magnitudes + rounding +
                           (type == kBF16 ? 0x1p-8 * std::abs(sum) + 0x1p-133 : 0);
      ASSERT_NEAR(At(c, i).real(), sum, bound) << Name(type) << " " << i;
      ASSERT_GT(magnitudes, 0x1p-149);
    }
  }
}

// Sums of scaled terms are as exact as others, also those that are denormal in the end.
TEST(GemmTest, SmallNumbersOfBF16AreNotFlushed) {
  for (const bool has_signs : {false, true}) {
    ExpectRightSmallProducts(-90, 3, -60, 2, has_signs);
    ExpectRightSmallProducts(-132, 7, -10, 4, has_signs);     // Denormals,
    ExpectRightSmallProducts(-4, 5, -133, 20, has_signs);     // of either operand,
    ExpectRightSmallProducts(-133, 120, -133, 9, has_signs);  // and of both.
    ExpectRightSmallProducts(-75, 40, -80, 50,
                             has_signs);  // Products are much smaller than the least denormal.
    ExpectRightSmallProducts(-133, 250, -8, 3, has_signs);  // Scaled terms would be infinite.
  }
}

TEST(GemmTest, TinyNumbersOfBF16AreNotLost) {
  constexpr int64_t size = 64;
  std::vector<bfloat16> a(size * size, bfloat16::FromFloat(0x1p-130f));
  std::vector<bfloat16> b(size * size, bfloat16::FromFloat(0x1p120f));
  std::vector<float> c(size * size);
  MultiplyBF16(size, size, size, a, b, kF32, c.data());
  for (const float each : c) ASSERT_EQ(each, 0x1p-4f);
}

TEST(GemmTest, EveryTypeWithItself) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const auto type = static_cast<ElementType>(t);
    ASSERT_TRUE(GemmSupports(type, type, type));
    if (type == kF8E8M0FNU) continue;  // The type has no negative numbers; its products are powers of two.
    const ElementType result = IsFloat(type) && BitWidth(type) < 16 ? kF32 : type;
    for (bool transposed : {false, true}) {
      ExpectRight({type, type, result, 1, 7, 18, 21, {transposed}, {transposed}});
      ExpectRight({type, type, result, 1, 2, 18, 21, {transposed}, {transposed}});
    }
  }
}

// Four terms per step, with incomplete last steps, and more terms than the depth of a panel.
TEST(GemmTest, ProductsOfBytesAreExact) {
  for (const int64_t k : {1, 4, 7, 50, 1024, 1027, 2301}) {
    for (const bool transposed : {false, true}) {
      ExpectRight({kS8, kS8, kS32, 1, 9, 16, k, {transposed}, {!transposed}});
      ExpectRight({kS8, kS8, kS32, 1, 25, 33, k, {transposed}, {transposed}});
      ExpectRight({kS8, kS8, kS8, 2, 12, 70, k, {!transposed}, {transposed}});
    }
  }
}

TEST(GemmTest, MixedTypes) {
  ExpectRight({kU8, kS8, kS32, 1, 9, 17, 50});
  ExpectRight({kS8, kS8, kS32, 1, 3, 17, 50});
  ExpectRight({kS4, kU4, kS8, 1, 9, 17, 51});
  ExpectRight({kS16, kU8, kS32, 1, 19, 33, 601, {true}, {false}});
  ExpectRight({kS16, kU16, kS32, 1, 9, 17, 50});
  ExpectRight({kS32, kS64, kS16, 1, 9, 17, 50});
  ExpectRight({kBF16, kF32, kF32, 1, 9, 17, 50});
  ExpectRight({kF32, kF32, kBF16, 1, 9, 17, 50});
  ExpectRight({kF16, kBF16, kF64, 1, 9, 17, 50});
  ExpectRight({kF8E4M3FN, kF8E5M2, kBF16, 1, 9, 17, 50});
  ExpectRight({kF8E4M3FN, kF8E5M2, kF8E4M3FN, 1, 9, 17, 5});
  ExpectRight({kBF16, kS4, kBF16, 1, 9, 17, 50});
  ExpectRight({kPred, kPred, kPred, 1, 9, 17, 50});
  ExpectRight({kPred, kPred, kS32, 1, 9, 17, 50});
  ExpectRight({kF32, kC64, kC64, 1, 9, 17, 50});
  ExpectRight({kF32, kC64, kC64, 1, 1, 17, 50});
  ExpectRight({kC64, kF32, kC64, 1, 17, 2, 50});
}

TEST(GemmTest, RejectsTypesThatDoNotWidenToTheResults) {
  EXPECT_FALSE(GemmSupports(kF32, kF32, kS32));
  EXPECT_FALSE(GemmSupports(kF32, kS32, kS32));
  EXPECT_FALSE(GemmSupports(kC64, kC64, kF32));
  EXPECT_FALSE(GemmSupports(kS32, kPred, kPred));
}

TEST(GemmTest, SpecialValuesStayInTheirRowsAndColumns) {
  for (ElementType type : {kF32, kF64}) {
    for (int64_t m : {2, 29}) {
      constexpr int64_t n = 35, k = 19;
      DispatchType(type, [&]<ElementType kType>() {
        if constexpr (kType == kF32 || kType == kF64) {
          using N = Native<kType>;
          Literal a = test::RandomArray(type, {m, k}, 1), b = test::RandomArray(type, {k, n}, 2);
          const N infinity = std::numeric_limits<N>::infinity();
          a.mutable_span<N>()[(m - 1) * k + k - 1] = infinity;
          b.mutable_span<N>()[3 * n + n - 1] = std::numeric_limits<N>::quiet_NaN();
          absl::StatusOr<Literal> c = Literal::CreateZeros(Shape::Array(type, {m, n}));
          Gemm({{.m = m,
                 .n = n,
                 .k = k,
                 .a = {{type, k, 1, {}}, a.data()},
                 .b = {{type, n, 1, {}}, b.data()},
                 .c_type = type,
                 .c_row_stride = n},
                c->mutable_data()});
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              const N got = c->span<N>()[i * n + j];
              if (j == n - 1)
                EXPECT_TRUE(std::isnan(got));
              else if (i == m - 1)
                EXPECT_EQ(std::fabs(got), infinity);
              else
                EXPECT_TRUE(std::isfinite(got)) << i << " " << j;
            }
          }
        }
      });
    }
  }
}

TEST(GemmTest, ASumOfNegativeZerosIsZero) {
  const float a[] = {-0.0f, -0.0f}, b[] = {1.0f, 1.0f};
  float c = 1;
  Gemm({{.m = 1,
         .n = 1,
         .k = 2,
         .a = {{kF32, 2, 1, {}}, a},
         .b = {{kF32, 1, 1, {}}, b},
         .c_type = kF32,
         .c_row_stride = 1},
        &c});
  EXPECT_EQ(c, 0);
  EXPECT_FALSE(std::signbit(c));
}

TEST(GemmTest, TheSameBitsWithAnyNumberOfThreads) {
  const Setting settings[] = {{kF32, kF32, kF32, 1, 300, 310, 700}, {kBF16, kBF16, kBF16, 1, 300, 310, 700},
                              {kF32, kF32, kF32, 1, 9, 17, 40000},  {kF32, kF32, kF32, 1, 1, 4000, 900},
                              {kF32, kF32, kF32, 1, 1, 1, 100000},  {kF64, kF64, kF64, 40, 30, 30, 30}};
  for (const Setting& s : settings) {
    SCOPED_TRACE(Describe(s));
    const Matrix a(s.a, s.batch, s.m, s.k, {}, 1), b(s.b, s.batch, s.k, s.n, {}, 2);
    SetThreadCount(1);
    const Literal one = Multiply(s, a, b);
    for (int threads : {2, 3}) {
      SetThreadCount(threads);
      const Literal many = Multiply(s, a, b);
      EXPECT_EQ(std::memcmp(one.data(), many.data(), static_cast<size_t>(one.byte_count())), 0) << threads;
    }
    SetThreadCount(0);
  }
}

TEST(GemmTest, BatchDimensionsInAnyPositionOrBroadcast) {
  // a[k, b1, m, b0], b[b1, n, k]: b0 is broadcast in b.
  constexpr int64_t b0 = 3, b1 = 2, m = 7, n = 9, k = 11;
  const Literal a = test::RandomArray(kF32, {k, b1, m, b0}, 1), b = test::RandomArray(kF32, {b1, n, k}, 2);
  std::vector<float> c(b0 * b1 * m * n);
  Gemm({{.m = m,
         .n = n,
         .k = k,
         .batch_dims = {b0, b1},
         .a = {{kF32, b0, b1 * m * b0, {1, m * b0}}, a.data()},
         .b = {{kF32, 1, k, {0, n * k}}, b.data()},
         .c_type = kF32,
         .c_row_stride = n,
         .c_batch_strides = {b1 * m * n, m * n}},
        c.data()});
  for (int64_t p = 0; p < static_cast<int64_t>(c.size()); ++p) {
    const int64_t j = p % n, i = p / n % m, y = p / n / m % b1, x = p / n / m / b1;
    double sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += a.span<float>()[((l * b1 + y) * m + i) * b0 + x] * b.span<float>()[(y * n + j) * k + l];
    EXPECT_NEAR(c[p], sum, 1e-5);
  }
}

TEST(GemmTest, TheEpilogueSeesEachElementOnce) {
  for (ElementType type : {kF32, kF64}) {
    for (int64_t m : {3, 200}) {
      constexpr int64_t n = 301, k = 5;
      const Literal a = test::RandomArray(kF32, {m, k}, 1), b = test::RandomArray(kF32, {k, n}, 2);
      Literal plain = *Literal::CreateZeros(Shape::Array(type, {m, n}));
      Literal shifted = *Literal::CreateZeros(Shape::Array(type, {m, n}));
      GemmProblem problem{{.m = m,
                           .n = n,
                           .k = k,
                           .a = {{kF32, k, 1, {}}, a.data()},
                           .b = {{kF32, n, 1, {}}, b.data()},
                           .c_type = type,
                           .c_row_stride = n},
                          plain.mutable_data()};
      Gemm(problem);
      problem.c = shifted.mutable_data();
      problem.epilogue.context = &type;
      problem.epilogue.run = [](const void* context, const ArrayBlock& block) {
        for (int64_t i = 0; i < block.rows; ++i) {
          for (int64_t j = 0; j < block.columns; ++j) {
            const int64_t at = i * block.data_stride + j, p = block.first + i * block.row_stride + j;
            const double add = 1000.0 * static_cast<double>(p / n * 1000 + p % n);
            if (*static_cast<const ElementType*>(context) == kF64)
              static_cast<double*>(block.data)[at] += add;
            else
              static_cast<float*>(block.data)[at] += static_cast<float>(add);
          }
        }
      };
      Gemm(problem);
      for (int64_t p = 0; p < m * n; ++p) {
        const double add = 1000.0 * static_cast<double>(p / n * 1000 + p % n);
        ASSERT_NEAR(At(shifted, p).real(), At(plain, p).real() + add, 20 + add * 1e-6) << p;
      }
    }
  }
}

}  // namespace
}  // namespace hlo::cpu::gemm_test
