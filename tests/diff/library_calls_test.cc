// Tests cuBLAS matmul and cuDNN convolution calls, which the fast engine rewrites to instructions, against
// the reference's functions for the calls.

#include <string>

#include "engines.h"
#include "fmt/format.h"
#include "gtest/gtest.h"

namespace hlo::library_calls_test {
namespace {

void Expect(const std::string& text, double bound = 2e-5) {
  for (const Device& device : {Device{}, Device{Device::Kind::kEmulatedGpu}})
    test::ExpectEnginesAgree(text, {.rule = CompareRule::Close(bound, bound), .device = device});
}

TEST(LibraryCallsTest, Products) {
  struct Gemm {
    const char *type, *target, *options;
    int more;  // Number of additional operands.
    double bound = 2e-5;
  };
  const Gemm gemms[] = {
      {"f32", "__cublas$gemm", R"("alpha_real":1,"beta":0,"epilogue":"DEFAULT")", 0},
      {"f64", "__cublas$gemm", R"("alpha_real":-0.25,"beta":1,"epilogue":"DEFAULT")", 1, 1e-12},
      {"bf16", "__cublas$lt$matmul", R"("alpha_real":2,"beta":0.5,"epilogue":"DEFAULT")", 1, 1e-2},
      {"c64", "__cublas$gemm", R"("alpha_real":2,"beta":0,"epilogue":"DEFAULT")", 0},
      {"f32", "__cublas$lt$matmul", R"("alpha_real":1,"beta":0,"epilogue":"RELU")", 0},
      {"f32", "__cublas$lt$matmul", R"("alpha_real":1,"beta":0,"epilogue":"GELU")", 0},
      {"f16", "__cublas$lt$matmul", R"("alpha_real":1,"beta":1,"epilogue":"SILU")", 1, 1e-2},
  };
  for (const Gemm& gemm : gemms) {
    Expect(
        fmt::format(
            R"(ENTRY e {{ a = {0}[3,7,20] parameter(0) b = {0}[3,9,20] parameter(1) c = {0}[3,7,9] parameter(2)
  g = ({0}[3,7,9], s8[64]) custom-call(a, b{3}), custom_call_target="{1}", backend_config={{"gemm_backend_config":{{{2},"alpha_imag":0,"dot_dimension_numbers":{{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["2"],"lhs_batch_dimensions":["0"],"rhs_batch_dimensions":["0"]}}}}}}
  ROOT r = {0}[3,7,9] get-tuple-element(g), index=0 }})",
            gemm.type, gemm.target, gemm.options, gemm.more > 0 ? ", c" : ""),
        gemm.bound);
  }
}

// Shapes of a convolution y = x * w, which is tested in all three directions.
struct Convolution {
  const char *x, *w, *y, *numbers;
};

TEST(LibraryCallsTest, ConvolutionsAndTheirAdjoints) {
  const Convolution convolutions[] = {
      {"f32[2,3,7,6]", "f32[4,3,3,2]", "f32[2,4,4,5]",
       "window={size=3x2 stride=2x1 pad=1_2x0_1 rhs_dilate=1x2}, dim_labels=bf01_oi01->bf01"},
      {"f32[2,7,6,4]", "f32[3,2,2,6]", "f32[2,4,5,6]",
       "window={size=3x2 stride=2x1 pad=1_2x0_1 rhs_dilate=1x2}, dim_labels=b01f_01io->b01f, "
       "feature_group_count=2"},
      {"f32[3,9,2]", "f32[4,2,5]", "f32[3,3,5]",
       "window={size=4 stride=2 pad=-1_1}, dim_labels=b0f_0io->b0f"},
      {"f32[1,4,5,5]", "f32[4,1,3,3]", "f32[1,4,5,5]",
       "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01, feature_group_count=4"},
      {"f32[5,2,3]", "f32[2,4,3]", "f32[2,2,4]", "window={size=2 stride=3 pad=0_0}, dim_labels=0bf_0oi->0bf"},
      {"f32[2,6,1]", "f32[3,1,2]", "f32[2,6,2]",
       "window={size=3 pad=1_1 rhs_reversal=1}, dim_labels=b0f_0io->b0f"},
  };
  for (const Convolution& c : convolutions) {
    const auto expect = [&](const char* result, const char* first, const char* second, const char* target) {
      Expect(fmt::format(R"(ENTRY e {{ a = {1} parameter(0) b = {2} parameter(1)
  c = ({0}, u8[8]) custom-call(a, b), custom_call_target="__cudnn${3}", {4}, backend_config={{"cudnn_conv_backend_config":{{"conv_result_scale":1,"activation_mode":"kNone"}}}}
  ROOT r = {0} get-tuple-element(c), index=0 }})",
                         result, first, second, target, c.numbers));
    };
    expect(c.y, c.x, c.w, "convForward");
    expect(c.x, c.y, c.w, "convBackwardInput");
    expect(c.w, c.x, c.y, "convBackwardFilter");
  }
}

}  // namespace
}  // namespace hlo::library_calls_test
