// Tests dot and convolution on the emulator: integers bit-equal to the reference, and f32 against a scalar
// chain of fused multiply-adds.

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "emulated.h"
#include "hlo_run/element_type.h"
#include "kernels/cuda/emulator/hopper_emulation.h"
#include "kernels/cuda/gemm/f32_gemm_body.h"
#include "kernels/cuda/gemm/gemm_plan.h"
#include "kernels/cuda/intrinsics/small_floats.h"
#include "loops/gemm_problem.h"
#include "types/small_float.h"

namespace hlo::cuda::contraction_test {
namespace {

[[maybe_unused]] std::string Dims(std::initializer_list<int64_t> dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : ",") + std::to_string(d);
  return "[" + text + "]";
}

TEST(SmallFloats, AgreeWithTheReference) {
  for (const FloatFormat& format :
       {kF16Format, kBF16Format, kF8E5M2Format, kF8E4M3Format, kF8E3M4Format, kF8E4M3FNFormat,
        kF8E4M3B11FNUZFormat, kF8E4M3FNUZFormat, kF8E5M2FNUZFormat, kF8E8M0FNUFormat, kF6E3M2FNFormat,
        kF6E2M3FNFormat, kF4E2M1FNFormat}) {
    std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 5e-324, 1e300, -1e300};
    for (uint32_t code = 0; code < 1u << format.bits(); ++code) {
      const double value = DecodeSmallFloat(format, code), got = DecodeSmall(format, code);
      ASSERT_TRUE(std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(got) ||
                  (std::isnan(value) && std::isnan(got)))
          << code;
      // Midpoints to the next value and the numbers adjacent to them.
      const double half = (value + DecodeSmallFloat(format, (code + 1) & ((1u << format.bits()) - 1))) / 2;
      for (double x : {value, half, std::nextafter(half, 1e9), std::nextafter(half, -1e9)})
        values.push_back(x);
    }
    for (double x : values) ASSERT_EQ(EncodeSmall(format, x), EncodeSmallFloat(format, x)) << x;
  }
}

TEST(FastDiv, IsDivision) {
  std::mt19937 random(1);
  for (uint32_t divisor : {1u, 2u, 3u, 5u, 7u, 63u, 64u, 65u, 1000u, 65535u, 65537u, 0x7fffffffu}) {
    const FastDiv div(divisor);
    for (int i = 0; i < 1000; ++i) {
      const uint32_t n = random() & 0x7fffffffu;
      for (uint32_t x :
           {n, n / divisor * divisor, n / divisor * divisor - (n >= divisor ? 1 : 0), 0x7fffffffu})
        ASSERT_EQ(div.Quotient(x), x / divisor) << x << " / " << divisor;
    }
  }
}

// Returns the largest number of accesses of a warp that a bank serves sequentially; 1 means conflict-free.
// 16-byte accesses are served eight lanes at a time.
template <class Address>
int BankConflicts(int lanes, int words, Address address) {
  int worst = 0;
  for (int first = 0; first < 32; first += lanes) {
    std::map<uint32_t, std::set<uint32_t>> banks;
    for (int lane = first; lane < first + lanes; ++lane) {
      for (int w = 0; w < words; ++w) banks[(address(lane) + w) % 32].insert(address(lane) + w);
    }
    for (const auto& [bank, asked] : banks) worst = std::max(worst, static_cast<int>(asked.size()));
  }
  return worst;
}

template <class Tile>
void ExpectTileIsWhole() {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (uint32_t t = 0; t < Tile::kThreads; ++t) {
    for (int r = 0; r < Tile::kThreadRows; ++r) {
      for (int c = 0; c < Tile::kThreadColumns; ++c) {
        EXPECT_LT(Tile::Row(t, r), Tile::kRows);
        EXPECT_LT(Tile::Column(t, c), Tile::kColumns);
        EXPECT_TRUE(seen.emplace(Tile::Row(t, r), Tile::Column(t, c)).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(Tile::kRows) * Tile::kColumns);
}

template <class Map, int kWidth, int kDepth, int kRun>
void ExpectCopiesAreWhole() {
  std::set<std::pair<uint32_t, uint32_t>> seen;
  for (uint32_t t = 0; t < 128; ++t) {
    for (int i = 0; i < Map::kCount; ++i) {
      for (uint32_t x = 0; x < kRun; ++x) {
        EXPECT_LT(Map::Mn(t, i) + x, kWidth);
        EXPECT_LT(Map::K(t, i), kDepth);
        EXPECT_TRUE(seen.emplace(Map::K(t, i), Map::Mn(t, i) + x).second);
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kWidth) * kDepth);
}

TEST(F32Tile, EveryElementHasOneThread) {
  ExpectTileIsWhole<LargeF32Tile>();
  ExpectTileIsWhole<SmallF32Tile>();
  ExpectCopiesAreWhole<CopyAlongMn<128, 16, 128>, 128, 16, 1>();
  ExpectCopiesAreWhole<CopyAlongMn<64, 16, 128>, 64, 16, 1>();
  ExpectCopiesAreWhole<CopyAlongK<128, 16, 128, 8>, 128, 16, 1>();
  ExpectCopiesAreWhole<CopyAlongK<64, 16, 128, 8>, 64, 16, 1>();
  ExpectCopiesAreWhole<CopyVectors<128, 16, 128, 4>, 128, 16, 4>();
  ExpectCopiesAreWhole<CopyVectors<64, 16, 128, 4>, 64, 16, 4>();
}

TEST(F32Tile, SharedMemoryHasNoBankConflicts) {
  constexpr uint32_t kPitch = 132;
  for (int warp = 0; warp < 4; ++warp) {
    const auto thread = [&](int lane) { return static_cast<uint32_t>(warp * 32 + lane); };
    for (int r = 0; r < 8; r += 4)
      EXPECT_EQ(BankConflicts(8, 4, [&](int lane) { return LargeF32Tile::Row(thread(lane), r); }), 1);
    for (int c = 0; c < 16; c += 4)
      EXPECT_EQ(BankConflicts(8, 4, [&](int lane) { return LargeF32Tile::Column(thread(lane), c); }), 1);
    for (int i = 0; i < CopyAlongK<128, 16, 128, 8>::kCount; ++i) {
      using Map = CopyAlongK<128, 16, 128, 8>;
      EXPECT_EQ(
          BankConflicts(32, 1, [&](int l) { return Map::K(thread(l), i) * kPitch + Map::Mn(thread(l), i); }),
          1);
    }
    for (int i = 0; i < CopyAlongMn<128, 16, 128>::kCount; ++i) {
      using Map = CopyAlongMn<128, 16, 128>;
      EXPECT_EQ(
          BankConflicts(32, 1, [&](int l) { return Map::K(thread(l), i) * kPitch + Map::Mn(thread(l), i); }),
          1);
    }
  }
}

// The planned product of a dot.
struct Planned {
  absl::StatusOr<CheckedModule> module;
  std::vector<Literal> arguments;
  std::optional<Gemm> gemm;
};
[[maybe_unused]] Planned Plan(const OneInstruction& dot) {
  Planned planned{.module = ReadModule(dot.Text())};
  EXPECT_TRUE(planned.module.ok()) << planned.module.status();
  const Instruction& root = *planned.module->module().entry()->root();
  const Shape &lhs = root.operand(0)->shape(), &rhs = root.operand(1)->shape();
  const loops::GemmProblem problem = loops::DotProblem(
      {lhs.type(), lhs.dims(), root.Get<attr::lhs_batch_dims>(), root.Get<attr::lhs_contracting_dims>()},
      {rhs.type(), rhs.dims(), root.Get<attr::rhs_batch_dims>(), root.Get<attr::rhs_contracting_dims>()},
      root.shape().type());
  planned.gemm = GemmOf(problem);
  EXPECT_TRUE(planned.gemm.has_value());
  ChooseAccess(&*planned.gemm);
  return planned;
}

// An m x k matrix, stored as k x m if `transposed`.
struct Case {
  int64_t m, n, k;
  bool lhs_transposed, rhs_transposed;
};

// Every f32 kernel without split-K gives the bits of one scalar chain per element.
TEST(F32Gemm, IsAScalarChain) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  const Case cases[] = {{130, 129, 33, false, false}, {128, 132, 48, true, false}, {65, 68, 17, false, true},
                        {1, 131, 40, true, true},     {64, 64, 1, false, false},   {100, 36, 0, false, false},
                        {37, 260, 15, true, false}};
  for (const Case& c : cases) {
    const OneInstruction dot{"f32" + Dims({c.m, c.n}),
                             "dot",
                             {"f32" + (c.lhs_transposed ? Dims({c.k, c.m}) : Dims({c.m, c.k})),
                              "f32" + (c.rhs_transposed ? Dims({c.n, c.k}) : Dims({c.k, c.n}))},
                             std::string("lhs_contracting_dims={") + (c.lhs_transposed ? "0" : "1") +
                                 "}, rhs_contracting_dims={" + (c.rhs_transposed ? "1" : "0") + "}"};
    SCOPED_TRACE(dot.Text());
    const Planned planned = Plan(dot);
    const std::vector<float> a = RandomFloats(c.m * c.k + 4, 1), b = RandomFloats(c.k * c.n + 4, 2);
    std::vector<float> want(c.m * c.n);
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < c.k; ++k)
          sum = std::fma(a[c.lhs_transposed ? k * c.m + i : i * c.k + k],
                         b[c.rhs_transposed ? j * c.k + k : k * c.n + j], sum);
        want[i * c.n + j] = sum;
      }
    }
    for (const GemmMethod method :
         {GemmMethod::kF32Large, GemmMethod::kF32Small, GemmMethod::kGeneralTiles, GemmMethod::kElements}) {
      StepList list;
      ASSERT_TRUE(AddGemm(*planned.gemm, ElementType::kF32, method, &list));
      for (int32_t schedule : {0, 2}) {
        std::vector<float> got(want.size(), NAN);
        const StepArrays arrays{a.data(), b.data(), got.data(), nullptr, EmulatedStream(schedule)};
        for (const KernelStep& step : list.steps) ASSERT_TRUE(step(arrays).ok()) << step(arrays);
        EXPECT_EQ(got, want) << list.name;
      }
    }
  }
}

// The same through the registry, so that it runs on a GPU too.
TEST(Dot, F32IsAScalarChain) {
  constexpr int64_t kM = 70, kN = 90, kK = 117;
  const absl::StatusOr<CheckedModule> module =
      ReadModule(OneInstruction{"f32[70,90]",
                                "dot",
                                {"f32[70,117]", "f32[117,90]"},
                                "lhs_contracting_dims={1}, rhs_contracting_dims={0}"}
                     .Text());
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<float> a = RandomFloats(kM * kK, 8), b = RandomFloats(kK * kN, 9);
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters())
    arguments.push_back(*Literal::Create(parameter->shape()));
  std::copy(a.begin(), a.end(), arguments[0].mutable_span<float>().begin());
  std::copy(b.begin(), b.end(), arguments[1].mutable_span<float>().begin());
  const absl::StatusOr<Literal> got = RunEmulated(*module, arguments, 0);
  ASSERT_TRUE(got.ok()) << got.status();
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum = std::fma(a[i * kK + k], b[k * kN + j], sum);
      ASSERT_EQ(got->span<float>()[i * kN + j], sum) << i << " " << j;
    }
  }
}

TEST(Dot, AnyDimensionNumbers) {
  ExpectExact(
      {"f32[3,2,17,5,9]",
       "dot",
       {"f32[17,2,5,7,3]", "f32[3,9,7,2]"},
       "lhs_batch_dims={4,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,3}, rhs_contracting_dims={2}"});
  ExpectExact({"f32[70,66]",
               "dot",
               {"f32[3,70,5]", "f32[5,3,66]"},
               "lhs_contracting_dims={0,2}, rhs_contracting_dims={1,0}"});
  ExpectExact({"f32[70,66]",
               "dot",
               {"f32[5,70,30]", "f32[30,66,5]"},
               "lhs_contracting_dims={2,0}, rhs_contracting_dims={0,2}"});
  ExpectExact({"f32[]", "dot", {"f32[5]", "f32[5]"}, "lhs_contracting_dims={0}, rhs_contracting_dims={0}"});
  ExpectExact(
      {"f32[4,3]", "dot", {"f32[4,0]", "f32[0,3]"}, "lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
  ExpectExact(
      {"f32[0,3]", "dot", {"f32[0,2]", "f32[2,3]"}, "lhs_contracting_dims={1}, rhs_contracting_dims={0}"});
}

TEST(Dot, F64OnTensorCores) {
  // Terms or rows of each operand are contiguous; aligned or not; all tiles and edges.
  const auto dims = [](int64_t first, int64_t second) {
    return "f64[" + std::to_string(first) + "," + std::to_string(second) + "]";
  };
  for (const auto& [m, n, k] : {std::tuple{130, 70, 37}, {66, 130, 40}, {20, 64, 16}, {128, 72, 18}}) {
    for (const int a : {0, 1}) {
      for (const int b : {0, 1}) {
        const std::string attributes = "lhs_contracting_dims={" + std::to_string(a) +
                                       "}, rhs_contracting_dims={" + std::to_string(b) + "}";
        EXPECT_EQ(ExpectExact({dims(m, n),
                               "dot",
                               {a == 1 ? dims(m, k) : dims(k, m), b == 1 ? dims(n, k) : dims(k, n)},
                               attributes}),
                  "dot f64 mma 64x64x16");
      }
    }
  }
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  EXPECT_EQ(ExpectExact({"f64[40,72]", "dot", {"f64[40,520]", "f64[520,72]"}, by_row}),
            "dot f64 mma 64x64x16 in 2 chunks");
  // Large tiles from a wave on.
  const std::string batches = "lhs_batch_dims={0}, rhs_batch_dims={0}, ";
  for (const int a : {1, 2}) {
    for (const int b : {1, 2}) {
      EXPECT_EQ(ExpectExact({"f64[132,66,34]",
                             "dot",
                             {a == 2 ? "f64[132,66,19]" : "f64[132,19,66]",
                              b == 2 ? "f64[132,34,19]" : "f64[132,19,34]"},
                             batches + "lhs_contracting_dims={" + std::to_string(a) +
                                 "}, rhs_contracting_dims={" + std::to_string(b) + "}"},
                            1),
                "dot f64 mma 128x64x16");
    }
  }
  // Rows in two dimensions.
  EXPECT_EQ(ExpectExact({"f64[5,26,70]",
                         "dot",
                         {"f64[5,37,26]", "f64[37,70]"},
                         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"}),
            "dot f64 mma 128x128x16");
  EXPECT_NE(ExpectExact({"f64[130,70]", "dot", {"f64[130,37]", "f64[37,70]"}, by_row}, 1, 86).find("general"),
            std::string::npos);
}

TEST(Dot, LongSumsAreSplit) {
  EXPECT_EQ(ExpectExact({"f32[65,30]",
                         "dot",
                         {"f32[65,1300]", "f32[1300,30]"},
                         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"}),
            "dot f32 64x64x16 in 4 chunks");
  ExpectExact({"s32[9,10]",
               "dot",
               {"s32[9,1100]", "s32[10,1100]"},
               "lhs_contracting_dims={1}, rhs_contracting_dims={1}"});
}

TEST(Dot, ThinProducts) {
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string by_column = "lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  for (const std::string type : {"f32", "f64", "bf16", "f16"}) {
    EXPECT_EQ(ExpectExact({type + "[33]", "dot", {type + "[33,515]", type + "[515]"}, by_row}).find("thin"),
              8);
    ExpectExact({type + "[33]", "dot", {type + "[33,512]", type + "[512]"}, by_row});
    ExpectExact({type + "[300]", "dot", {type + "[515,300]", type + "[515]"}, by_column});
    ExpectExact({type + "[3,300]", "dot", {type + "[3,515]", type + "[515,300]"}, by_row});
    ExpectExact({type + "[5,8]", "dot", {type + "[5,9000]", type + "[9000,8]"}, by_row});
  }
}

TEST(Dot, EveryElementType) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const std::string type(Name(static_cast<ElementType>(t)));
    ExpectExact({type + "[37,41]",
                 "dot",
                 {type + "[37,35]", type + "[35,41]"},
                 "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                1);
    ExpectExact(
        {type + "[3,2,5]",
         "dot",
         {type + "[3,7,2]", type + "[3,7,5]"},
         "lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}"},
        1);
  }
}

TEST(Dot, MixedTypes) {
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::vector<std::string> types[] = {
      {"s32", "s8", "u8"},   {"f32", "bf16", "f16"}, {"f32", "f8e4m3fn", "f8e5m2"},
      {"f64", "f32", "f64"}, {"s64", "s32", "s16"},  {"bf16", "f32", "f32"},
      {"c64", "f32", "c64"}, {"f32", "s8", "f32"},   {"s32", "pred", "s4"}};
  for (const std::vector<std::string>& t : types) {
    ExpectExact({t[0] + "[37,19]", "dot", {t[1] + "[37,35]", t[2] + "[35,19]"}, by_row}, 1);
    ExpectExact({t[0] + "[37,3]", "dot", {t[1] + "[37,300]", t[2] + "[300,3]"}, by_row}, 1);
  }
}

// Expects by the kernel's name that tensor cores are used: mma and, if `groups`, wgmma.
void ExpectTensorCores(const OneInstruction& instruction, bool groups = false) {
  const std::string name = ExpectExact(instruction, 1, 80);
  EXPECT_NE(name.find(" mma"), std::string::npos) << name << instruction.Text();
  if (!groups) return;
  const std::string group_name = ExpectExact(instruction, 2, 90);
  EXPECT_NE(group_name.find("wgmma"), std::string::npos) << group_name << instruction.Text();
}

TEST(Hopper, DescriptorsMatchCopiedBoxes) {
  // 128 x 64 elements with their indices as values, as K-major boxes and as MN-major slabs.
  std::vector<uint16_t> array(128 * 64);
  for (size_t i = 0; i < array.size(); ++i) array[i] = static_cast<uint16_t>(i);
  alignas(1024) static std::byte shared[128 * 128];
  for (const bool rows : {false, true}) {
    BoxSource source{.data = array.data(), .dims = {rows ? 128u : 64u, rows ? 64u : 128u, 1}};
    source.byte_strides[1] = source.dims[0] * 2;
    source.byte_strides[2] = sizeof(uint16_t) * array.size();
    source.box[1] = rows ? 64 : 128;
    for (int64_t slab = 0; slab < (rows ? 2 : 1); ++slab)
      Deliver({shared + slab * 8192, static_cast<uint32_t>(slab * 8192), source, {slab * 64, 0, 0}});
    for (uint32_t part = 0; part < 4; ++part) {
      const MatrixDescriptor descriptor = rows ? DescribeRows(part * 16 * 128, 64) : DescribeTerms(part * 32);
      for (uint32_t mn = 0; mn < 128; ++mn) {
        for (uint32_t k = 0; k < 16; ++k) {
          uint16_t got;
          std::memcpy(&got, shared + ElementAddress(descriptor, rows, mn, k), sizeof got);
          const uint32_t term = part * 16 + k;
          ASSERT_EQ(got, rows ? term * 128 + mn : mn * 64 + term) << rows << " " << mn << " " << k;
        }
      }
    }
  }
}

TEST(Hopper, DescriptorsMatchBytes) {
  std::vector<uint8_t> array(96 * 128);
  for (size_t i = 0; i < array.size(); ++i) array[i] = static_cast<uint8_t>(i * 37 >> 3);
  alignas(1024) static std::byte shared[96 * 128];
  BoxSource source{.data = array.data(), .element_bytes = 1, .dims = {128, 96, 1}, .box = {128, 96, 1}};
  source.byte_strides[0] = 1;
  source.byte_strides[1] = 128;
  source.byte_strides[2] = array.size();
  Deliver({shared, 0, source, {0, 0, 0}});
  for (uint32_t part = 0; part < 4; ++part) {
    for (uint32_t mn = 0; mn < 96; ++mn) {
      for (uint32_t k = 0; k < 32; ++k) {
        const std::byte got = shared[ElementAddress(DescribeTerms(part * 32), false, mn, k, 1)];
        ASSERT_EQ(static_cast<uint8_t>(got), array[mn * 128 + part * 32 + k]) << mn << " " << k;
      }
    }
  }
}

TEST(Hopper, ProductsOfEveryOrderAreExact) {
  for (const std::string type : {"bf16", "f16"}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const std::string dims = std::string("lhs_contracting_dims={") + (a ? "0" : "1") +
                                 "}, rhs_contracting_dims={" + (b ? "1" : "0") + "}";
        ExpectTensorCores({(a ? "f32" : type) + "[72,136]",
                           "dot",
                           {type + (a ? "[328,72]" : "[72,328]"), type + (b ? "[136,328]" : "[328,136]")},
                           dims},
                          true);
      }
    }
  }
  // Bytes that are packed to be K-major; sums wrap.
  for (const std::string a : {"s8", "u8"}) {
    for (const std::string b : {"s8", "u8"}) {
      ExpectTensorCores({"s32[72,136]",
                         "dot",
                         {a + "[72,336]", b + "[336,136]"},
                         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                        true);
      ExpectTensorCores({"s32[2,130,70]",
                         "dot",
                         {a + "[2,130,208]", b + "[2,70,208]"},
                         "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
                         "rhs_contracting_dims={2}"},
                        true);
    }
  }
  ExpectTensorCores({"s32[64,72]",
                     "dot",
                     {"s8[64,2100]", "s4[2100,72]"},
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                    true);
  // More tiles than thread blocks.
  ExpectTensorCores({"bf16[136,264]",
                     "dot",
                     {"bf16[136,80]", "bf16[80,264]"},
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                    true);
  // Packed; batched; split-K; a broadcast batch.
  ExpectTensorCores({"f32[70,66]",
                     "dot",
                     {"bf16[70,67]", "bf16[67,66]"},
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                    true);
  ExpectTensorCores(
      {"bf16[3,72,64]",
       "dot",
       {"bf16[3,72,64]", "bf16[3,64,64]"},
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"},
      true);
  ExpectTensorCores({"f32[64,72]",
                     "dot",
                     {"f16[64,1100]", "f16[1100,72]"},
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
                    true);
  ExpectTensorCores({"f32[72,80]",
                     "dot",
                     {"f32[72,72]", "f32[72,80]"},
                     "lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_bf16_bf16_f32_x6"},
                    true);
}

// Tiles of 64, 128 and 256 columns by the number of tiles, with results of all kinds, at edges that vectors
// do not fill.
TEST(Hopper, TilesByWaves) {
  struct Case {
    int64_t batch, n;
    std::string tile;
  };
  const Case cases[] = {{2, 194, "128x64x64"}, {60, 194, "128x128x64"}, {119, 250, "128x256x64"}};
  for (const auto& [batch, n, tile] : cases) {
    for (const std::string result : {"bf16", "f32"}) {
      const std::string b = std::to_string(batch), columns = std::to_string(n);
      const std::string name = ExpectExact(
          {result + "[" + b + ",66," + columns + "]",
           "dot",
           {"bf16[" + b + ",66,64]", "bf16[" + b + ",64," + columns + "]"},
           "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"},
          1);
      EXPECT_NE(name.find("wgmma " + tile), std::string::npos) << name;
    }
  }
}

// FP8 without conversion, if the algorithm allows fewer accumulator bits.
TEST(Hopper, ProductsOfFloatBytes) {
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::string fast = ", algorithm=dot_any_f8_any_f8_f32_fast_accum";
  const auto expect = [&](const OneInstruction& dot, bool as_bytes) {
    const std::string name = ExpectExact(dot, 2, 90);
    EXPECT_EQ(name.find("wgmma 128x128x128") != std::string::npos, as_bytes) << name << dot.Text();
  };
  for (const std::string a : {"f8e4m3fn", "f8e5m2"}) {
    for (const std::string b : {"f8e4m3fn", "f8e5m2"}) {
      expect({"f32[72,136]", "dot", {a + "[72,336]", b + "[336,136]"}, by_row + fast}, true);
      // The operands are exchanged.
      expect({"bf16[2,70,130]",
              "dot",
              {a + "[2,208,70]", b + "[2,130,208]"},
              "lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={2}" +
                  fast},
             true);
      expect({"f32[72,136]", "dot", {a + "[72,336]", b + "[336,136]"}, by_row}, false);
    }
  }
  // Split-K; more tiles than thread blocks; odd numbers of terms; products that wgmma does not support.
  expect({"f16[64,72]", "dot", {"f8e5m2[64,2100]", "f8e4m3fn[2100,72]"}, by_row + fast}, true);
  expect({"f32[264,136]", "dot", {"f8e4m3fn[264,67]", "f8e4m3fn[67,136]"}, by_row + fast}, true);
  expect({"f32[72,20]", "dot", {"f8e4m3fn[72,96]", "f8e4m3fn[96,20]"}, by_row + fast}, false);
  expect({"f32[72,72]", "dot", {"f8e4m3[72,96]", "f8e4m3fn[96,72]"}, by_row + fast}, false);
}

TEST(Hopper, FloatBytesKeepTheirBounds) {
  constexpr int64_t kM = 64, kN = 64, kK = 1024;
  for (const bool fast : {false, true}) {
    const OneInstruction dot{
        "f32[64,64]",
        "dot",
        {"f8e4m3fn[64,1024]", "f8e4m3fn[1024,64]"},
        std::string("lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_any_f8_any_f8_f32") +
            (fast ? "_fast_accum" : "")};
    absl::StatusOr<CheckedModule> module = ReadModule(dot.Text());
    ASSERT_TRUE(module.ok()) << module.status();
    std::vector<Literal> arguments;
    std::vector<double> values[2];
    for (const Instruction* parameter : module->module().entry()->parameters()) {
      Literal argument = *Literal::Create(parameter->shape());
      std::mt19937 random(static_cast<uint32_t>(arguments.size()) + 5);
      for (auto& x : argument.mutable_span<Native<ElementType::kF8E4M3FN>>()) {
        x = Native<ElementType::kF8E4M3FN>::FromDouble(
            std::uniform_real_distribution<double>(0.1, 1)(random));
        values[arguments.size()].push_back(x.ToFloat());
      }
      arguments.push_back(std::move(argument));
    }
    const absl::StatusOr<Literal> got = RunEmulated(*module, arguments, 2);
    ASSERT_TRUE(got.ok()) << got.status();
    double worst = 0;
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kK; ++k) sum += values[0][i * kK + k] * values[1][k * kN + j];
        worst = std::max(worst, std::fabs(got->span<float>()[i * kN + j] - sum) / sum);
      }
    }
    // FP8 without conversion loses about 2^-11 if accumulators are added every 128 terms, and a hundred times
    // that otherwise; converted to f16 it is exact here.
    EXPECT_LT(worst, fast ? 0x1p-10 : kK * 0x1p-24);
    EXPECT_EQ(worst > 0x1p-14, fast);
  }
}

TEST(TensorCores, OperandsInEveryOrder) {
  for (const std::string type : {"bf16", "f16"}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const std::string dims = std::string("lhs_contracting_dims={") + (a ? "0" : "1") +
                                 "}, rhs_contracting_dims={" + (b ? "1" : "0") + "}";
        // Aligned, and unaligned; the latter are packed.
        ExpectTensorCores({type + "[136,144]",
                           "dot",
                           {type + (a ? "[72,136]" : "[136,72]"), type + (b ? "[144,72]" : "[72,144]")},
                           dims});
        ExpectTensorCores({"f32[131,67]",
                           "dot",
                           {type + (a ? "[71,131]" : "[131,71]"), type + (b ? "[67,71]" : "[71,67]")},
                           dims});
      }
    }
  }
}

TEST(TensorCores, EveryTypeIsExact) {
  const std::string by_row = "lhs_contracting_dims={1}, rhs_contracting_dims={0}";
  const std::vector<std::string> types[] = {{"s32", "s8", "s8"},
                                            {"s32", "u8", "s8"},
                                            {"u32", "s8", "u8"},
                                            {"s8", "u8", "u8"},
                                            {"pred", "pred", "pred"},
                                            {"s4", "s4", "s4"},
                                            {"f32", "f8e4m3fn", "f8e5m2"},
                                            {"bf16", "f8e4m3b11fnuz", "f16"},
                                            {"f4e2m1fn", "f4e2m1fn", "f4e2m1fn"},
                                            {"f32", "bf16", "f8e8m0fnu"}};
  for (const std::vector<std::string>& t : types) {
    const OneInstruction dot{t[0] + "[37,40]", "dot", {t[1] + "[37,83]", t[2] + "[83,40]"}, by_row};
    ExpectTensorCores(dot);
  }
  ExpectTensorCores(
      {"f32[2,36,40]",
       "dot",
       {"bf16[2,36,24]", "bf16[2,24,40]"},
       "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}"});
  ExpectTensorCores({"f32[20,32]", "dot", {"bf16[20,1024]", "bf16[1024,32]"}, by_row});
}

// Compares with sums in double of operands rounded as the algorithm specifies.
TEST(TensorCores, AlgorithmsKeepTheirBounds) {
  struct Algorithm {
    std::string name;
    double unit;  // Error of a product relative to the sum of magnitudes.
    bool tensor;
  };
  constexpr int64_t kM = 33, kN = 40, kK = 96;
  const Algorithm algorithms[] = {{"", kK * 0x1p-24, false},
                                  {"dot_f32_f32_f32", kK * 0x1p-24, false},
                                  {"dot_tf32_tf32_f32", 0x1p-10, true},
                                  {"dot_tf32_tf32_f32_x3", 0x1p-18, true},
                                  {"dot_bf16_bf16_f32", 0x1p-7, true},
                                  {"dot_bf16_bf16_f32_x3", 0x1p-13, true},
                                  {"dot_bf16_bf16_f32_x6", 0x1p-19, true},
                                  {"dot_bf16_bf16_f32_x9", 0x1p-19, true}};
  for (const Algorithm& algorithm : algorithms) {
    const OneInstruction dot{"f32[33,40]",
                             "dot",
                             {"f32[33,96]", "f32[96,40]"},
                             "lhs_contracting_dims={1}, rhs_contracting_dims={0}" +
                                 (algorithm.name.empty() ? "" : ", algorithm=" + algorithm.name)};
    absl::StatusOr<CheckedModule> module = ReadModule(dot.Text());
    ASSERT_TRUE(module.ok()) << module.status();
    const std::vector<float> a = RandomFloats(kM * kK, 3), b = RandomFloats(kK * kN, 4);
    std::vector<Literal> arguments;
    for (const Instruction* parameter : module->module().entry()->parameters())
      arguments.push_back(*Literal::Create(parameter->shape()));
    std::copy(a.begin(), a.end(), arguments[0].mutable_span<float>().begin());
    std::copy(b.begin(), b.end(), arguments[1].mutable_span<float>().begin());
    std::string name;
    const absl::StatusOr<Literal> got = RunEmulated(*module, arguments, 2, &name);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(name.find("mma") != std::string::npos, algorithm.tensor) << name;
    double worst = 0;
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t j = 0; j < kN; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < kK; ++k) {
          sum += double{a[i * kK + k]} * b[k * kN + j];
          magnitude += std::fabs(double{a[i * kK + k]} * b[k * kN + j]);
        }
        worst = std::max(worst, std::fabs(got->span<float>()[i * kN + j] - sum) / magnitude);
      }
    }
    EXPECT_LT(worst, algorithm.unit) << name;
    // The error must not be much smaller than expected, which proves that the type is used.
    if (algorithm.unit > 0x1p-14) {
      EXPECT_GT(worst, algorithm.unit / 64) << name;
    }
  }
}

TEST(TensorCores, InfinitiesInPieces) {
  const OneInstruction dot{
      "f32[36,40]",
      "dot",
      {"f32[36,17]", "f32[17,40]"},
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}, algorithm=dot_bf16_bf16_f32_x6"};
  absl::StatusOr<CheckedModule> module = ReadModule(dot.Text());
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters()) {
    arguments.push_back(WholeNumbers(parameter->shape(), 7));
    for (float& x : arguments.back().mutable_span<float>()) x = 1 + std::fabs(x);
  }
  arguments[0].mutable_span<float>()[5] = INFINITY;
  const absl::StatusOr<Literal> want = Evaluate(*module, arguments), got = RunEmulated(*module, arguments, 0);
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_TRUE(CompareArrays(*got, *want, CompareRule::Exact()).ok());
}

TEST(TensorCores, OlderArchitectures) {
  const OneInstruction f16{"f32[37,40]",
                           "dot",
                           {"f16[37,80]", "f16[80,40]"},
                           "lhs_contracting_dims={1}, rhs_contracting_dims={0}"};
  const OneInstruction bf16{"f32[37,40]",
                            "dot",
                            {"bf16[37,80]", "bf16[80,40]"},
                            "lhs_contracting_dims={1}, rhs_contracting_dims={0}"};
  for (const auto& [dot, capability, tensor] :
       {std::tuple{f16, 75, true}, std::tuple{bf16, 75, false}, std::tuple{bf16, 80, true}}) {
    absl::StatusOr<CheckedModule> module = ReadModule(dot.Text());
    ASSERT_TRUE(module.ok());
    const auto kernel =
        FindCudaKernel(*module->module().entry()->root(),
                       {.compute_capability = capability, .shared_bytes_per_block = 96 << 10});
    ASSERT_TRUE(kernel.has_value());
    EXPECT_EQ(kernel->name.find("mma") != std::string::npos, tensor);
  }
}

// Window, dimension labels and groups of a two-dimensional convolution.
void ExpectConvolution(const std::string& result, const std::string& input, const std::string& kernel,
                       const std::string& attributes) {
  ExpectExact({result, "convolution", {input, kernel}, attributes});
}

TEST(Convolution, WindowsAndLayoutsAreExact) {
  ExpectConvolution("f32[2,9,9,20]", "f32[2,9,9,7]", "f32[3,3,7,20]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
  ExpectConvolution("f32[2,20,9,9]", "f32[2,7,9,9]", "f32[20,7,3,3]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01");
  ExpectConvolution("f32[2,5,4,20]", "f32[2,9,9,7]", "f32[3,3,7,20]",
                    "window={size=3x3 stride=2x3 pad=1_1x2_1}, dim_labels=b01f_01io->b01f");
  ExpectConvolution("f32[3,9,8,70]", "f32[3,11,11,12]", "f32[1,1,12,70]",
                    "window={size=1x1 pad=-1_-1x-2_-1}, dim_labels=b01f_01io->b01f");
  ExpectConvolution(
      "f32[2,20,11,19]", "f32[2,7,6,7]", "f32[20,7,3,2]",
      "window={size=3x2 pad=1_1x4_3 lhs_dilate=2x2 rhs_reversal=1x0}, dim_labels=bf01_oi01->bf01");
  ExpectConvolution("f32[2,6,3,20]", "f32[2,9,9,7]", "f32[3,2,7,20]",
                    "window={size=3x2 stride=1x2 pad=1_2x-1_1 rhs_dilate=3x4 rhs_reversal=1x1}, "
                    "dim_labels=b01f_01io->b01f");
  ExpectConvolution("f32[2,10,9,20]", "f32[2,6,5,7]", "f32[3,4,7,20]",
                    "window={size=3x4 stride=2x3 pad=3_4x8_10 lhs_dilate=3x4 rhs_dilate=2x3}, "
                    "dim_labels=b01f_01io->b01f");
}

// Kernels test bounds in three dimensions; borders in further dimensions are separate products.
TEST(Convolution, ManyDimensionsWithBorders) {
  ExpectConvolution("f32[2,4,5,3,6,9]", "f32[2,4,5,3,6,5]", "f32[3,3,2,3,5,9]",
                    "window={size=3x3x2x3 pad=1_1x1_1x0_1x1_1}, dim_labels=b0123f_0123io->b0123f");
  ExpectConvolution("s32[2,7,5,4,3,4,4]", "s32[2,3,4,4,3,5,3]", "s32[7,3,3,2,3,3,3]",
                    "window={size=3x2x3x3x3 stride=1x1x1x2x1 pad=2_1x1_0x1_1x2_3x1_2 "
                    "rhs_reversal=0x1x0x1x0}, dim_labels=bf01234_oi01234->bf01234");
  // Dilated, entirely outside the input, and with negative padding.
  ExpectConvolution("f32[1,6,7,5,8,2]", "f32[1,4,5,3,4,3]", "f32[2,3,3,3,3,2]",
                    "window={size=2x3x3x3 pad=2_1x3_3x1_3x2_1 lhs_dilate=1x1x1x2 rhs_dilate=1x2x1x1}, "
                    "dim_labels=b0123f_0123io->b0123f");
  ExpectConvolution("f32[1,5,5,5,6,2]", "f32[1,4,4,4,4,3]", "f32[2,2,2,1,3,2]",
                    "window={size=2x2x2x1 pad=1_1x1_1x1_1x4_-2}, dim_labels=b0123f_0123io->b0123f");
}

TEST(Convolution, GroupsAreExact) {
  ExpectConvolution("f32[2,8,8,18]", "f32[2,8,8,6]", "f32[3,3,2,18]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=3");
  ExpectConvolution("f32[2,8,8,10]", "f32[2,8,8,10]", "f32[3,3,1,10]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=10");
  ExpectConvolution("f32[2,20,8,8]", "f32[2,10,8,8]", "f32[20,1,3,3]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=10");
  ExpectConvolution("f32[2,6,6,18]", "f32[6,8,8,40]", "f32[3,3,40,18]",
                    "window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=3");
}

TEST(Convolution, OfOneFeatureEach) {
  for (const std::string type : {"f32", "bf16", "f8e4m3fn"}) {
    const auto expect = [&](const std::string& result, const std::string& input, const std::string& kernel,
                            const std::string& attributes) {
      ExpectExactBy("depthwise", {type + result, "convolution", {type + input, type + kernel}, attributes});
    };
    // Features in vectors.
    if (type != "f8e4m3fn") {
      const auto vectors = [&](const std::string& result, const std::string& input, const std::string& kernel,
                               const std::string& attributes) {
        ExpectExactBy("vectors", {type + result,
                                  "convolution",
                                  {type + input, type + kernel},
                                  attributes + ", dim_labels=b01f_01io->b01f"});
      };
      vectors("[2,9,10,40]", "[2,9,10,40]", "[3,3,1,40]",
              "window={size=3x3 pad=1_1x1_1}, feature_group_count=40");
      vectors("[1,4,6,8]", "[1,9,11,8]", "[2,3,1,8]",
              "window={size=2x3 stride=2x2 pad=0_0x1_1 rhs_reversal=1x1}, feature_group_count=8");
      vectors("[2,5,6,16]", "[2,5,6,16]", "[5,5,1,16]",
              "window={size=5x5 pad=4_4x2_2 rhs_dilate=2x1}, feature_group_count=16");
      vectors("[1,3,4,8]", "[1,5,7,8]", "[3,5,1,8]",
              "window={size=3x5 stride=1x2 pad=0_0x2_2}, feature_group_count=8");
    }
    // Features last, in blocks of 32; reversed and dilated windows, strides, padding of both signs.
    expect("[2,9,10,42]", "[2,9,10,42]", "[3,3,1,42]",
           "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=42");
    expect("[1,6,4,7]", "[1,11,13,7]", "[4,3,1,7]",
           "window={size=4x3 stride=2x3 pad=2_2x-1_2 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f, "
           "feature_group_count=7");
    // Rows last, in tiles of 8 x 32, and two filters per feature.
    expect("[2,6,17,35]", "[2,3,17,35]", "[6,1,3,5]",
           "window={size=3x5 pad=2_2x4_4 rhs_dilate=2x2 rhs_reversal=0x1}, dim_labels=bf01_oi01->bf01, "
           "feature_group_count=3");
    expect("[2,5,70]", "[2,5,70]", "[5,1,4]",
           "window={size=4 pad=3_0}, dim_labels=bf0_oi0->bf0, feature_group_count=5");
  }
}

TEST(Convolution, OtherRanks) {
  ExpectConvolution("f32[2,66,20]", "f32[2,64,30]", "f32[5,30,20]",
                    "window={size=5 pad=3_3}, dim_labels=b0f_0io->b0f");
  ExpectConvolution("f32[2,5,6,7,12]", "f32[2,5,6,7,12]", "f32[3,3,3,12,12]",
                    "window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=b012f_012io->b012f");
  ExpectConvolution("f32[12,40]", "f32[12,30]", "f32[30,40]", "dim_labels=bf_io->bf");
}

TEST(Convolution, GradientsAreExact) {
  // The kernel gradient: the window is as large as the result.
  ExpectConvolution("f32[3,3,17,20]", "f32[40,12,12,17]", "f32[40,12,12,20]",
                    "window={size=12x12 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf");
  // The input gradient of a convolution with stride two.
  ExpectConvolution(
      "f32[2,12,12,17]", "f32[2,6,6,20]", "f32[3,3,17,20]",
      "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f");
}

TEST(Convolution, TensorCores) {
  for (const std::string& type : {std::string("bf16"), std::string("f16")}) {
    ExpectTensorCores({type + "[2,9,9,24]",
                       "convolution",
                       {type + "[2,9,9,16]", type + "[3,3,16,24]"},
                       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"});
    ExpectTensorCores({type + "[2,5,4,20]",
                       "convolution",
                       {type + "[2,9,9,16]", type + "[20,3,3,16]"},
                       "window={size=3x3 stride=2x3 pad=1_1x2_1}, dim_labels=b01f_o01i->b01f"});
    ExpectTensorCores(
        {type + "[2,13,13,32]",
         "convolution",
         {type + "[2,7,7,16]", type + "[3,3,32,16]"},
         "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f"});
  }
  ExpectTensorCores({"s32[2,9,9,24]",
                     "convolution",
                     {"s8[2,9,9,16]", "s8[24,3,3,16]"},
                     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f"});
}

// The positions of several images are the columns of one product, whose pairs and vectors are aligned but
// whose images are apart in the result.
TEST(Convolution, FeaturesFirst) {
  const std::string window = "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01";
  const std::string pointwise = "window={size=1x1}, dim_labels=bf01_oi01->bf01";
  for (const std::string type : {"f32", "f64"}) {
    ExpectConvolution(type + "[3,24,6,6]", type + "[3,16,6,6]", type + "[24,16,3,3]", window);
    ExpectConvolution(type + "[3,72,8,8]", type + "[3,64,8,8]", type + "[72,64,1,1]", pointwise);
  }
  for (const auto& [type, result] :
       {std::pair<std::string, std::string>("bf16", "bf16"), {"f16", "f16"}, {"f16", "f32"}, {"s8", "s32"}}) {
    ExpectTensorCores(
        {result + "[3,24,6,6]", "convolution", {type + "[3,16,6,6]", type + "[24,16,3,3]"}, window});
    const OneInstruction convolution{
        result + "[3,72,8,8]", "convolution", {type + "[3,64,8,8]", type + "[72,64,1,1]"}, pointwise};
    ExpectTensorCores(convolution, type == "s8");
    ExpectExact(convolution, 2, 90);
  }
}

TEST(Convolution, EveryElementType) {
  for (int t = 0; t < kElementTypeCount; ++t) {
    const std::string type(Name(static_cast<ElementType>(t)));
    ExpectExact({type + "[2,6,6,20]",
                 "convolution",
                 {type + "[2,6,6,17]", type + "[3,3,17,20]"},
                 "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
                1);
  }
}

// Arrays hold one code that may be special, at the start, within and at the end, aligned or not. All codes of
// types of up to 16 bits are tested, and some of wider types. It is found if the reference's value is not
// finite.
TEST(Search, FindsNonFiniteElements) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  struct Case {
    ElementType type;
    std::vector<uint64_t> codes;
    std::function<bool(uint64_t)> is_finite;
  };
  std::vector<Case> cases = {
      {ElementType::kF32,
       {0, 1, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff},
       [](uint64_t code) { return std::isfinite(std::bit_cast<float>(static_cast<uint32_t>(code))); }},
      {ElementType::kF64,
       {0, 0x7ff00000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001,
        0xffffffffffffffff},
       [](uint64_t code) { return std::isfinite(std::bit_cast<double>(code)); }}};
  for (const ElementType type :
       {ElementType::kF8E5M2, ElementType::kF8E4M3, ElementType::kF8E3M4, ElementType::kF8E4M3FN,
        ElementType::kF8E4M3FNUZ, ElementType::kF8E5M2FNUZ, ElementType::kF8E4M3B11FNUZ,
        ElementType::kF8E8M0FNU, ElementType::kF4E2M1FN, ElementType::kF16, ElementType::kBF16}) {
    Case narrow{type, {}, [type](uint64_t code) {
                  return std::isfinite(DecodeSmallFloat(FormatOf(type), static_cast<uint32_t>(code)));
                }};
    for (uint64_t code = 0; code < uint64_t{1} << FormatOf(type).bits();
         code += BitWidth(type) == 16 ? 331 : 1)
      narrow.codes.push_back(code);
    for (const uint64_t code : {0x7c00, 0xfc00, 0x7c01, 0x7bff, 0x7f80, 0xff80, 0x7f81, 0x7f7f})
      if (BitWidth(type) == 16) narrow.codes.push_back(code);
    cases.push_back(std::move(narrow));
  }
  for (const Case& each : cases) {
    const auto bytes = static_cast<size_t>(ByteCount(each.type));
    for (const uint64_t code : each.codes) {
      const int64_t count = 37 + static_cast<int64_t>(code % 3);
      for (const int64_t at : {int64_t{0}, int64_t{18}, count - 1}) {
        alignas(16) std::byte memory[48 * 8] = {};
        std::byte* data = memory + (code % 2 == 0 ? 0 : bytes);
        std::memcpy(data + at * bytes, &code, bytes);
        alignas(16) std::byte workspace[256];
        std::memset(workspace, 0xff, sizeof workspace);
        StepList list;
        AddNonFiniteSearch(count, each.type, &list);
        ASSERT_LE(list.workspace_bytes, static_cast<int64_t>(sizeof workspace));
        ASSERT_EQ(list.steps.size(), 1u);
        ASSERT_TRUE(list.steps[0]({.b = data, .workspace = workspace, .stream = EmulatedStream(2)}).ok());
        uint32_t found;
        std::memcpy(&found, workspace, sizeof found);
        EXPECT_EQ(found, each.is_finite(code) ? 0 : 1) << Name(each.type) << " " << code << " at " << at;
      }
    }
  }
}

TEST(Convolution, PaddingIsNotMultipliedByInfinities) {
  const OneInstruction convolution{"f32[2,6,6,20]",
                                   "convolution",
                                   {"f32[2,6,6,30]", "f32[3,3,30,20]"},
                                   "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"};
  absl::StatusOr<CheckedModule> module = ReadModule(convolution.Text());
  ASSERT_TRUE(module.ok());
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters())
    arguments.push_back(WholeNumbers(parameter->shape(), 1));
  for (float& x : arguments[0].mutable_span<float>()) x = 1 + std::fabs(x);
  arguments[1].mutable_span<float>()[0] = INFINITY;
  const absl::StatusOr<Literal> want = Evaluate(*module, arguments), got = RunEmulated(*module, arguments, 0);
  ASSERT_TRUE(want.ok() && got.ok());
  const CompareReport report = CompareArrays(*got, *want, CompareRule::Exact());
  EXPECT_TRUE(report.ok()) << ToString(report);
}

}  // namespace
}  // namespace hlo::cuda::contraction_test
