// Tests convolutions whose patches TMA copies in im2col mode, on the emulator: bits equal to the reference on
// integers, and the checks of the emulator itself.

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "emulated.h"
#include "kernels/cuda/emulator/tma_emulation.h"

namespace hlo::cuda::im2col_test {
namespace {

std::string ExpectIm2col(const OneInstruction& convolution, int schedules = 2) {
  const bool f32 = convolution.operands[0].substr(0, 3) == "f32";
  return ExpectExactBy(f32 ? "im2col tma" : "im2col wgmma", convolution, schedules);
}

std::string Convolve(const std::string& type, const std::string& result, const std::string& input,
                     const std::string& filter, const std::string& attributes, int schedules = 2) {
  return ExpectIm2col({type + result, "convolution", {type + input, type + filter}, attributes}, schedules);
}

// Runs convolutions and expects a kernel whose name contains `kernel`.
struct ConvolveBy {
  std::string type, kernel;
  void operator()(const std::string& result, const std::string& input, const std::string& filter,
                  const std::string& attributes) const {
    const std::string name = Convolve(type, result, input, filter, attributes);
    EXPECT_NE(name.find(kernel), std::string::npos) << name;
  }
};

TEST(Im2col, FiltersInBothOrders) {
  const std::string window = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_";
  for (const std::string type : {"bf16", "f16"}) {
    // Less than a block of channels, one, and more.
    for (const std::string channels : {"16", "64", "72"}) {
      Convolve(type, "[2,9,7,40]", "[2,9,7," + channels + "]", "[40,3,3," + channels + "]",
               window + "o01i->b01f");
      Convolve(type, "[2,9,7,40]", "[2,9,7," + channels + "]", "[3,3," + channels + ",40]",
               window + "01io->b01f");
    }
  }
}

TEST(Im2col, EveryWindowIsExact) {
  const std::string labels = ", dim_labels=b01f_o01i->b01f";
  // Strides, padding of both signs, dilation, and filters in reverse.
  Convolve("bf16", "[3,5,6,72]", "[3,9,17,24]", "[72,3,3,24]",
           "window={size=3x3 stride=2x3 pad=1_1x2_1}" + labels);
  Convolve("bf16", "[3,6,7,34]", "[3,9,10,32]", "[34,3,2,32]",
           "window={size=3x2 pad=-1_2x1_0 rhs_dilate=2x4}" + labels);
  Convolve("bf16", "[2,7,7,64]", "[2,13,13,16]", "[64,1,1,16]", "window={size=1x1 stride=2x2}" + labels);
  Convolve("bf16", "[2,8,5,40]", "[2,9,7,24]", "[40,2,3,24]", "window={size=2x3 rhs_reversal=1x1}" + labels);
  Convolve("bf16", "[2,8,5,40]", "[2,9,7,24]", "[2,3,24,40]",
           "window={size=2x3 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f");
  // Large windows and padding at the limits of im2col mode.
  Convolve("bf16", "[1,64,2,40]", "[1,4,6,16]", "[40,2,3,16]",
           "window={size=2x3 pad=127_1x120_0 rhs_dilate=68x62}" + labels);
  // One spatial dimension.
  Convolve("bf16", "[3,66,40]", "[3,64,24]", "[5,24,40]", "window={size=5 pad=3_3}, dim_labels=b0f_0io->b0f");
}

TEST(Im2col, InputGradients) {
  Convolve("bf16", "[2,9,7,24]", "[2,9,7,72]", "[3,3,24,72]",
           "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f");
  Convolve("f16", "[2,9,7,40]", "[2,9,7,24]", "[24,3,3,40]",
           "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_i01o->b01f");
  // With a stride: a product for each class of positions.
  Convolve("bf16", "[3,13,13,32]", "[3,7,7,24]", "[3,3,32,24]",
           "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f");
}

// Sums over taps of few pixels are split; more tiles than thread blocks.
TEST(Im2col, ChunksAndWaves) {
  const std::string name = Convolve("bf16", "[1,8,8,64]", "[1,8,8,128]", "[64,3,3,128]",
                                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f");
  EXPECT_NE(name.find("in 2 chunks"), std::string::npos) << name;
  Convolve("bf16", "[3,12,12,40]", "[3,12,12,16]", "[40,2,2,16]",
           "window={size=2x2 pad=1_0x0_1}, dim_labels=b01f_o01i->b01f", 4);
}

// Results whose positions are adjacent exchange the operands.
TEST(Im2col, ResultsByFeature) {
  Convolve("bf16", "[40,2,9,7]", "[2,9,7,24]", "[40,3,3,24]",
           "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->fb01");
  Convolve("f16", "[40,2,9,7]", "[2,9,7,24]", "[3,3,24,40]",
           "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->fb01");
}

TEST(Im2col, PackedChannels) {
  const std::string name = Convolve("bf16", "[2,9,7,40]", "[2,9,7,20]", "[40,3,3,20]",
                                    "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f");
  EXPECT_NE(name.find("packed"), std::string::npos) << name;
}

TEST(Im2col, FilterGradients) {
  for (const std::string channels : {"16", "64", "72"}) {
    for (const std::string type : {"bf16", "f16"}) {
      Convolve(type, "[3,3," + channels + ",40]", "[2,9,7," + channels + "]", "[2,9,7,40]",
               "window={size=9x7 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf");
      // The operands are exchanged.
      Convolve(type, "[40,3,3," + channels + "]", "[2,9,7," + channels + "]", "[2,9,7,40]",
               "window={size=9x7 pad=1_1x1_1}, dim_labels=f01b_i01o->f01b");
    }
  }
  // Strides and dilation of the forward convolution; padding of both signs.
  Convolve("bf16", "[3,2,24,136]", "[4,11,13,24]", "[4,5,4,136]",
           "window={size=5x4 stride=1x2 pad=1_-1x-1_0 rhs_dilate=2x3}, dim_labels=f01b_i01o->01bf");
  // One spatial dimension.
  Convolve("bf16", "[5,32,40]", "[3,40,32]", "[3,40,40]",
           "window={size=40 pad=2_2}, dim_labels=f0b_i0o->0bf");
}

// The last chunk of the pixels is shorter, and none is empty.
TEST(Im2col, ChunksOfPixels) {
  for (const std::string type : {"bf16", "f16"}) {
    for (const std::string images : {"17", "18"}) {
      const std::string name =
          Convolve(type, "[2,1,24,40]", "[" + images + ",10,11,24]", "[" + images + ",9,11,40]",
                   "window={size=9x11}, dim_labels=f01b_i01o->01bf", 1);
      EXPECT_NE(name.find("in 3 chunks"), std::string::npos) << name;
    }
  }
  // Parts of f32 results.
  ExpectIm2col({"f32[40,2,1,24]",
                "convolution",
                {"bf16[17,10,11,24]", "bf16[17,9,11,40]"},
                "window={size=9x11}, dim_labels=f01b_i01o->f01b"});
}

TEST(Im2col, ProductsOfF32AreExact) {
  // Less than a block of channels, one, and more; filters in both orders, strides, dilation and reversal.
  for (const std::string channels : {"16", "32", "44"}) {
    Convolve("f32", "[2,9,7,36]", "[2,9,7," + channels + "]", "[36,3,3," + channels + "]",
             "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->b01f");
    Convolve("f32", "[2,9,7,36]", "[2,9,7," + channels + "]", "[3,3," + channels + ",36]",
             "window={size=3x3 pad=1_1x1_1 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f");
  }
  Convolve("f32", "[3,5,6,72]", "[3,9,17,24]", "[72,3,3,24]",
           "window={size=3x3 stride=2x3 pad=1_1x2_1}, dim_labels=b01f_o01i->b01f");
  Convolve("f32", "[3,6,7,35]", "[3,9,10,32]", "[35,3,2,32]",
           "window={size=3x2 pad=-1_2x1_0 rhs_dilate=2x4}, dim_labels=b01f_o01i->b01f");
  Convolve("f32", "[3,66,40]", "[3,64,24]", "[5,24,40]", "window={size=5 pad=3_3}, dim_labels=b0f_0io->b0f");
  // Results by feature, and input gradients with a stride.
  Convolve("f32", "[40,2,9,7]", "[2,9,7,24]", "[40,3,3,24]",
           "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_o01i->fb01");
  Convolve("f32", "[3,13,13,32]", "[3,7,7,24]", "[3,3,32,24]",
           "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f");
}

TEST(Im2col, F32FilterGradients) {
  for (const std::string channels : {"32", "64", "76"}) {
    Convolve("f32", "[3,3," + channels + ",36]", "[2,9,7," + channels + "]", "[2,9,7,36]",
             "window={size=9x7 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf");
    Convolve("f32", "[36,3,3," + channels + "]", "[2,9,7," + channels + "]", "[2,9,7,36]",
             "window={size=9x7 pad=1_1x1_1}, dim_labels=f01b_i01o->f01b");
  }
  const std::string name = Convolve("f32", "[40,2,1,64]", "[17,10,11,64]", "[17,9,11,40]",
                                    "window={size=9x11}, dim_labels=f01b_i01o->f01b");
  EXPECT_NE(name.find("chunks"), std::string::npos) << name;
}

// First layers: the columns of a row of the window are packed as channels.
TEST(Im2col, RowWindows) {
  for (const std::string type : {"bf16", "f16", "f32"}) {
    const ConvolveBy convolve{type, "rows of the window"};
    convolve("[2,8,9,40]", "[2,16,17,3]", "[40,7,7,3]",
             "window={size=7x7 stride=2x2 pad=3_2x3_3}, dim_labels=b01f_o01i->b01f");
    convolve("[2,8,9,40]", "[2,16,17,3]", "[7,7,3,40]",
             "window={size=7x7 stride=2x2 pad=3_2x3_3 rhs_reversal=1x1}, dim_labels=b01f_01io->b01f");
    // A step of one pixel; planes of channels; negative padding; dilated rows.
    convolve("[2,8,7,24]", "[2,3,8,7]", "[24,3,3,3]",
             "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->b01f");
    convolve("[3,7,4,24]", "[3,9,12,5]", "[3,4,5,24]",
             "window={size=3x4 stride=1x2 pad=1_1x-1_-1 rhs_dilate=2x1}, dim_labels=b01f_01io->b01f");
    convolve("[2,66,24]", "[2,64,2]", "[5,2,24]", "window={size=5 pad=3_3}, dim_labels=b0f_0io->b0f");
  }
}

TEST(Im2col, EmptyConvolutions) {
  const std::string labels = ", dim_labels=b01f_o01i->b01f";
  ExpectExact(
      {"f32[2,0,7,24]", "convolution", {"f32[2,2,9,3]", "f32[24,3,3,3]"}, "window={size=3x3}" + labels});
  ExpectExact(
      {"bf16[0,2,7,24]", "convolution", {"bf16[0,4,9,3]", "bf16[24,3,3,3]"}, "window={size=3x3}" + labels});
  ExpectExact({"f32[2,0,17,3]",
               "convolution",
               {"f32[2,0,9,24]", "f32[24,3,3,3]"},
               "window={size=3x3 pad=1_1x1_1 lhs_dilate=2x2}, dim_labels=b01f_i01o->b01f"});
}

TEST(Im2col, RowWindowGradients) {
  for (const std::string type : {"bf16", "f16"}) {
    const ConvolveBy convolve{type, "rows of the window"};
    convolve("[7,7,3,40]", "[2,16,17,3]", "[2,8,9,40]",
             "window={size=8x9 pad=3_2x3_3 rhs_dilate=2x2}, dim_labels=f01b_i01o->01bf");
    convolve("[40,7,7,3]", "[20,16,17,3]", "[20,8,9,40]",
             "window={size=8x9 pad=3_2x3_3 rhs_dilate=2x2}, dim_labels=f01b_i01o->f01b");
    convolve("[3,3,5,24]", "[2,9,8,5]", "[2,9,8,24]",
             "window={size=9x8 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf");
    convolve("[5,2,24]", "[3,64,2]", "[3,66,24]", "window={size=66 pad=3_3}, dim_labels=f0b_i0o->0bf");
  }
}

// Input gradients of first layers: the classes of positions are columns of one product.
TEST(Im2col, PhaseColumns) {
  for (const std::string type : {"bf16", "f16", "f32"}) {
    const ConvolveBy convolve{type, "phases as columns"};
    convolve("[2,14,12,3]", "[2,7,6,24]", "[24,7,7,3]",
             "window={size=7x7 pad=3_4x3_4 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_i01o->b01f");
    convolve("[2,14,12,3]", "[2,7,6,72]", "[7,7,3,72]",
             "window={size=7x7 pad=3_4x3_4 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=b01f_01oi->b01f");
    // Classes without taps; a dimension without dilation; other results.
    convolve("[5,2,12,9]", "[2,6,9,16]", "[16,1,3,5]",
             "window={size=1x3 pad=0_1x1_1 lhs_dilate=2x1}, dim_labels=b01f_i01o->fb01");
    convolve("[3,66,4]", "[3,22,16]", "[16,5,4]",
             "window={size=5 pad=2_4 lhs_dilate=3}, dim_labels=b0f_i0o->b0f");
  }
}

// Shapes beyond the limits run on other kernels.
TEST(Im2col, ShapesBeyondTheLimitsRunOnOtherKernels) {
  const auto expect_other = [](const std::string& result, const std::string& input, const std::string& filter,
                               const std::string& attributes) {
    const std::string name =
        ExpectExact({"bf16" + result, "convolution", {"bf16" + input, "bf16" + filter}, attributes}, 1);
    EXPECT_EQ(name.find("im2col"), std::string::npos) << name;
  };
  const std::string labels = ", dim_labels=b01f_o01i->b01f";
  expect_other("[1,133,1,40]", "[1,4,6,16]", "[40,1,3,16]",
               "window={size=1x3 pad=129_0x119_0 rhs_dilate=1x62}" + labels);
  expect_other("[1,1,66,40]", "[1,1,600,16]", "[40,1,2,16]",
               "window={size=1x2 stride=1x9 rhs_dilate=1x11}" + labels);
  expect_other("[1,2,400,40]", "[1,2,656,16]", "[40,1,2,16]", "window={size=1x2 rhs_dilate=1x256}" + labels);
}

void SetFloat(Literal& array, int64_t i, float value) {
  if (array.shape().type() == ElementType::kF32)
    array.mutable_span<float>()[i] = value;
  else
    array.mutable_span<Native<ElementType::kBF16>>()[i] = Native<ElementType::kBF16>::FromDouble(value);
}

TEST(Im2col, PaddingIsNotMultipliedByInfinities) {
  const OneInstruction convolutions[] = {
      {"f32[2,9,7,40]",
       "convolution",
       {"bf16[2,9,7,24]", "bf16[3,3,24,40]"},
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
      {"f32[3,3,24,40]",
       "convolution",
       {"bf16[2,9,7,24]", "bf16[2,9,7,40]"},
       "window={size=9x7 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf"},
      {"f32[2,9,7,40]",
       "convolution",
       {"f32[2,9,7,24]", "f32[3,3,24,40]"},
       "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
      {"f32[2,8,9,40]",
       "convolution",
       {"bf16[2,16,17,3]", "bf16[40,7,7,3]"},
       "window={size=7x7 stride=2x2 pad=3_2x3_3}, dim_labels=b01f_o01i->b01f"},
      {"f32[2,14,12,3]",
       "convolution",
       {"bf16[2,7,6,24]", "bf16[24,7,7,3]"},
       "window={size=7x7 pad=3_4x3_4 lhs_dilate=2x2 rhs_reversal=1x1}, "
       "dim_labels=b01f_i01o->b01f"}};
  for (const bool in_filter : {false, true})
    for (const OneInstruction& convolution : convolutions) {
      absl::StatusOr<CheckedModule> module = ReadModule(convolution.Text());
      ASSERT_TRUE(module.ok());
      std::vector<Literal> arguments;
      for (const Instruction* parameter : module->module().entry()->parameters()) {
        arguments.push_back(*Literal::Create(parameter->shape()));
        const bool is_infinite = in_filter == (arguments.size() == 2);
        for (int64_t i = 0; i < arguments.back().element_count(); ++i)
          SetFloat(arguments.back(), i, is_infinite && i == 0 ? INFINITY : 1);
      }
      std::string name;
      const absl::StatusOr<Literal> want = Evaluate(*module, arguments),
                                    got = RunEmulated(*module, arguments, 0, &name);
      ASSERT_TRUE(want.ok() && got.ok());
      EXPECT_NE(name.find("im2col"), std::string::npos) << name;
      const CompareReport report = CompareArrays(*got, *want, CompareRule::Exact());
      EXPECT_TRUE(report.ok()) << ToString(report);
    }
}

// A source of one image of 4 rows and 5 columns of 8 channels, with its indices as values, and a window of 3
// x 3 with padding 1 and stride 2 along the columns.
struct Image {
  std::vector<uint16_t> values = std::vector<uint16_t>(4 * 5 * 8);
  TensorMap map;

  Image() {
    std::iota(values.begin(), values.end(), uint16_t{1});
    map.source = {.data = values.data(),
                  .rank = 4,
                  .dims = {8, 5, 4, 1},
                  .byte_strides = {2, 16, 80, 320},
                  .box = {64, 16, 1, 1},
                  .im2col = true,
                  .lower_corner = {-1, -1},
                  .upper_corner = {-1, -1},
                  .traversal_stride = {2, 1}};
  }
};

TEST(TmaEmulation, PixelsFollowEachOtherAcrossRowsAndImages) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  const Image image;
  alignas(1024) static std::byte shared[16 * 128];
  // The second of three positions in the second of four rows; the tap in the last row and column.
  Deliver({shared, 0, image.map.source, {0, 1, 0, 0}, {2, 2}});
  for (int64_t i = 0; i < 16; ++i) {
    const int64_t place = 4 + i, column = place % 3 * 2 - 1 + 2, row = place / 3 % 4 - 1 + 2, n = place / 12;
    for (int64_t c = 0; c < 64; ++c) {
      uint16_t got;
      std::memcpy(&got, shared + Swizzled128(static_cast<uint32_t>(i * 128 + c * 2)), sizeof got);
      const bool inside = column < 5 && row < 4 && n == 0 && c < 8;
      ASSERT_EQ(got, inside ? image.values[(row * 5 + column) * 8 + c] : 0) << i << " " << c;
    }
  }
}

// Runs a kernel whose first thread uses a barrier, and returns the emulator's error; empty if there is none.
std::string EmulatorErrorOf(absl::FunctionRef<void(HostEnv&, uint64_t*)> body) {
  const absl::Status status = Emulate({1}, 32, 8192 + 64, kSchedules[0], [&](HostEnv& env) {
    if (env.thread() != 0) return;
    auto* barrier = reinterpret_cast<uint64_t*>(env.shared() + 8192);
    InitBarrier(env, barrier, 1);
    body(env, barrier);
    WaitFor(env, barrier, 0);
  });
  return std::string(status.message());
}

TEST(TmaEmulation, ReportsViolationsOfHardwareLimits) {
  if (test::OnGpu()) GTEST_SKIP() << "runs on the emulator alone";
  const Image image;
  const auto copy = [](HostEnv& env, const TensorMap& map, PixelIndex pixel, uint32_t offset, uint32_t bytes,
                       uint64_t* barrier) {
    ArriveExpecting(env, barrier, bytes);
    CopyPixels(env, env.shared(), map, 0, pixel, offset, 0, barrier);
  };
  const auto error_of = [&](const TensorMap& map, PixelIndex pixel, uint32_t offset, uint32_t bytes) {
    return EmulatorErrorOf(
        [&](HostEnv& env, uint64_t* barrier) { copy(env, map, pixel, offset, bytes, barrier); });
  };
  EXPECT_EQ(error_of(image.map, {-1, -1, 0}, 2, 2048), "");
  EXPECT_NE(error_of(image.map, {-1, -1, 0}, 256, 2048).find("offset is out of range"), std::string::npos);
  EXPECT_NE(error_of(image.map, {0, -1, 0}, 2, 2048).find("starts outside"), std::string::npos);
  EXPECT_NE(error_of(image.map, {-1, 3, 0}, 2, 2048).find("starts outside"), std::string::npos);
  EXPECT_NE(error_of(image.map, {-1, -1, 0}, 2, 1024).find("no thread sets"), std::string::npos);
  TensorMap map = image.map;
  map.source.lower_corner[0] = -129;
  EXPECT_NE(error_of(map, {-1, -1, 0}, 0, 2048).find("corner"), std::string::npos);
  map = image.map;
  map.source.traversal_stride[1] = 9;
  EXPECT_NE(error_of(map, {-1, -1, 0}, 0, 2048).find("traversal stride"), std::string::npos);
  map = image.map;
  map.source.byte_strides[1] = 24;
  EXPECT_NE(error_of(map, {-1, -1, 0}, 0, 2048).find("16 bytes"), std::string::npos);
  map = image.map;
  map.source.box[0] = 72;
  EXPECT_NE(error_of(map, {-1, -1, 0}, 0, 2304).find("swizzle"), std::string::npos);
  EXPECT_NE(EmulatorErrorOf([&](HostEnv& env, uint64_t* barrier) {
              ArriveExpecting(env, barrier, 2048);
              Arrive(env, barrier);
              CopyPixels(env, env.shared(), image.map, 0, {-1, -1, 0}, 0, 0, barrier);
            }).find("all arrivals"),
            std::string::npos);
}

}  // namespace
}  // namespace hlo::cuda::im2col_test
