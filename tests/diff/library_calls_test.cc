// Tests calls of cuBLAS, cuDNN and oneDNN, which the fast engine rewrites to instructions, and of JAX's
// sparse product against the reference's functions for the calls.

#include <string>

#include "absl/strings/str_cat.h"
#include "engines.h"
#include "fmt/format.h"
#include "gtest/gtest.h"

namespace hlo::library_calls_test {
namespace {

void Expect(const std::string& text, double bound = 2e-5) {
  for (const Device& device : {Device{}, Device{Device::Kind::kEmulatedGpu}})
    test::ExpectEnginesAgree(text, {.rule = CompareRule::Close(bound, bound), .device = device});
}

TEST(LibraryCallsTest, ProductsAgreeWithTheReference) {
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

// The dimension numbers of attention on arrays [batch, row, head, width].
constexpr const char* kForwardNumbers =
    R"("bmm1_dot_dimension_numbers":{"lhs_contracting_dimensions":["3"],"rhs_contracting_dimensions":["3"],"lhs_batch_dimensions":["0","2"],"rhs_batch_dimensions":["0","2"]},"bmm2_dot_dimension_numbers":{"lhs_contracting_dimensions":["3"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0","1"],"rhs_batch_dimensions":["0","2"]})";
constexpr const char* kBackwardNumbers =
    R"("bmm1_grad_gemm1_dot_dimension_numbers":{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0","1"],"rhs_batch_dimensions":["0","2"]},"bmm1_grad_gemm2_dot_dimension_numbers":{"lhs_contracting_dimensions":["3"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0","1"],"rhs_batch_dimensions":["0","2"]},"bmm2_grad_gemm1_dot_dimension_numbers":{"lhs_contracting_dimensions":["2"],"rhs_contracting_dimensions":["1"],"lhs_batch_dimensions":["0","1"],"rhs_batch_dimensions":["0","2"]},"bmm2_grad_gemm2_dot_dimension_numbers":{"lhs_contracting_dimensions":["3"],"rhs_contracting_dimensions":["3"],"lhs_batch_dimensions":["0","2"],"rhs_batch_dimensions":["0","2"]})";

// Four heads of queries share two heads of keys.
TEST(LibraryCallsTest, AttentionAgreesWithTheReference) {
  struct Mask {
    const char *options, *name, *bias;
  };
  const Mask masks[] = {
      {R"("mask_type":"NO_MASK")", "fmhaSoftmax", ""},
      {R"("mask_type":"CAUSAL")", "fmhaScaleBiasSoftmax", ", bias"},
      {R"("mask_type":"CAUSAL","sliding_window_length":3)", "fmhaSoftmax", ""},
  };
  for (const Mask& mask : masks) {
    for (const char* type : {"f32", "bf16"}) {
      Expect(fmt::format(R"(ENTRY e {{ q = {0}[2,9,4,16] parameter(0) k = {0}[2,11,2,16] parameter(1)
  v = {0}[2,11,2,8] parameter(2) bias = {0}[1,4,9,11] parameter(3)
  c = ({0}[2,4,9,8], f32[2,4,9], u8[8]) custom-call(q, k, v{1}), custom_call_target="__cudnn${2}", backend_config={{"cudnn_fmha_backend_config":{{"fmha_scale":0.25,{3},{4}}}}}
  o = {0}[2,4,9,8] get-tuple-element(c), index=0 s = f32[2,4,9] get-tuple-element(c), index=1
  ROOT r = ({0}[2,4,9,8], f32[2,4,9]) tuple(o, s) }})",
                         type, mask.bias, mask.name, mask.options, kForwardNumbers),
             type[0] == 'b' ? 1e-2 : 2e-5);
    }
  }
}

TEST(LibraryCallsTest, AttentionBackwards) {
  for (const char* mask : {"NO_MASK", "CAUSAL"}) {
    Expect(fmt::format(R"(ENTRY e {{ q = f32[2,9,4,16] parameter(0) k = f32[2,11,2,16] parameter(1)
  v = f32[2,11,2,8] parameter(2) s = f32[2,4,9] parameter(3) g = f32[2,9,4,8] parameter(4) bias = f32[1,4,9,11] parameter(5)
  o = f32[2,9,4,8] parameter(6)
  c = (f32[2,9,4,16], f32[2,11,2,16], f32[2,11,2,8], f32[1,4,9,11]) custom-call(q, k, v, s, g, bias, o), custom_call_target="__cudnn$fmhaScaleBiasSoftmaxBackward", backend_config={{"cudnn_fmha_backend_config":{{"fmha_scale":0.25,"mask_type":"{0}",{1}}}}}
  a = f32[2,9,4,16] get-tuple-element(c), index=0 b = f32[2,11,2,16] get-tuple-element(c), index=1
  d = f32[2,11,2,8] get-tuple-element(c), index=2 f = f32[1,4,9,11] get-tuple-element(c), index=3
  ROOT r = (f32[2,9,4,16], f32[2,11,2,16], f32[2,11,2,8], f32[1,4,9,11]) tuple(a, b, d, f) }})",
                       mask, kBackwardNumbers),
           5e-5);
  }
}

// Four heads of queries share two heads of keys, which are packed with the values.
TEST(LibraryCallsTest, AttentionOfTransformerEngine) {
  constexpr const char* kOptions =
      "{{bias_type = 0 : i64, dropout_probability = 0.0 : f64, mask_type = {} : i64, qkv_layout = {} : i64, "
      "scaling_factor = 0.25 : f64, window_size_left = -1 : i64, window_size_right = -1 : i64}}";
  for (const int mask : {0, 1, 2, 3, 4}) {
    for (const bool heads_first : {false, true}) {
      const std::string options = fmt::format(fmt::runtime(kOptions), mask, heads_first ? 8 : 7);
      const std::string lengths = "n = s32[3] constant({0, 9, 13}) m = s32[3] constant({0, 8, 19})";
      Expect(fmt::format(R"(ENTRY e {{ q = f32[2,9,4,16] parameter(0) k = f32[{0}] parameter(1)
  z = f32[0] constant({{}}) g = u32[2] constant({{1, 2}}) {1}
  c = (f32[2,9,4,16], f32[2,4,9,1], u32[2,4], u8[8]) custom-call(q, k, z, z, g, n, m), custom_call_target="te_fused_attn_forward_ffi", backend_config={2}
  o = f32[2,9,4,16] get-tuple-element(c), index=0 s = f32[2,4,9,1] get-tuple-element(c), index=1
  ROOT r = (f32[2,9,4,16], f32[2,4,9,1]) tuple(o, s) }})",
                         "2,11,2,2,16", lengths, options),
             2e-5);
      Expect(fmt::format(R"(ENTRY e {{ q = f32[2,9,4,16] parameter(0) k = f32[{0}] parameter(1)
  s = f32[2,4,9,1] parameter(2) o = f32[2,9,4,16] parameter(3) d = f32[2,9,4,16] parameter(4)
  z = f32[0] constant({{}}) g = u32[2,4] constant({{{{1, 2, 3, 4}}, {{5, 6, 7, 8}}}}) {1}
  c = (f32[2,9,4,16], f32[{0}], f32[0], f32[0], u8[8]) custom-call(q, k, z, z, s, g, o, d, n, m), custom_call_target="te_fused_attn_backward_ffi", backend_config={2}
  a = f32[2,9,4,16] get-tuple-element(c), index=0 b = f32[{0}] get-tuple-element(c), index=1
  ROOT r = (f32[2,9,4,16], f32[{0}]) tuple(a, b) }})",
                         "2,11,2,2,16", lengths, options),
             5e-5);
    }
  }
}

TEST(LibraryCallsTest, NormalisationsAgreeWithTheReference) {
  for (const char* kind : {"LAYER_FWD_INFER", "LAYER_FWD_TRAIN"}) {
    const bool trains = std::string_view(kind).ends_with("TRAIN");
    Expect(fmt::format(
        R"(ENTRY e {{ x = f32[6,5,7] parameter(0) a = f32[1,5,7] parameter(1) b = f32[1,5,7] parameter(2)
  c = (f32[6,5,7], {1}u8[8]) custom-call(x, a, b), custom_call_target="__cudnn$norm", backend_config={{"cudnn_norm_backend_config":{{"epsilon":0.001,"kind":"{0}"}}}}
  ROOT r = f32[6,5,7] get-tuple-element(c), index=0 }})",
        kind, trains ? "f32[6,1,1], f32[6,1,1], " : ""));
  }
  Expect(R"(ENTRY e { x = f32[6,35] parameter(0) a = f32[35] parameter(1) g = f32[6,35] parameter(2)
  m = f32[6] parameter(3) f = f32[6] parameter(4)
  c = (f32[6,35], f32[35], f32[35]) custom-call(x, a, g, m, f), custom_call_target="__cudnn$norm", backend_config={"cudnn_norm_backend_config":{"epsilon":0.001,"kind":"LAYER_BWD"}}
  d = f32[6,35] get-tuple-element(c), index=0 e = f32[35] get-tuple-element(c), index=1 h = f32[35] get-tuple-element(c), index=2
  ROOT r = (f32[6,35], f32[35], f32[35]) tuple(d, e, h) })");
  Expect(R"(ENTRY e { x = bf16[6,35] parameter(0)
  ROOT r = bf16[6,35] custom-call(x), custom_call_target="__onednn$softmax", backend_config={"onednn_softmax_config":{"softmax_axis":1}} })",
         1e-2);
}

// Sorts and blocks of random bits do not round.
TEST(LibraryCallsTest, ExactCalls) {
  Expect(
      R"(ENTRY e { a = u32[37] parameter(0) b = u32[37] parameter(1) c = u32[37] parameter(2) d = u32[37] parameter(3)
  ROOT r = (u32[37], u32[37]) custom-call(a, b, c, d), custom_call_target="cu_threefry2x32_ffi" })",
      0);
  Expect(R"(ENTRY e { k = f32[3,70] parameter(0) v = s16[3,70] parameter(1)
  c = (f32[3,70], s16[3,70], u8[8]) custom-call(k, v), custom_call_target="xla.gpu.ext.cub_sort_pairs", backend_config={"descending":true}
  a = f32[3,70] get-tuple-element(c), index=0 b = s16[3,70] get-tuple-element(c), index=1
  ROOT r = (f32[3,70], s16[3,70]) tuple(a, b) })",
         0);
  Expect(R"(ENTRY e { x = s32[2,6,5] parameter(0)
  c = (s32[2,6,5], u8[8]) custom-call(x), custom_call_target="xla.gpu.ext.cub_scan", backend_config={"row_length":6,"column_length":5,"is_reverse":true}
  ROOT r = s32[2,6,5] get-tuple-element(c), index=0 })",
         0);
}

// Returns the CSR form of a matrix of 5 columns, whose row i has i mod 6 values, as two constants.
std::string CsrConstants(int64_t rows, int64_t* values) {
  std::string offsets = "0", columns;
  *values = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < i % 6; ++k) {
      absl::StrAppend(&columns, columns.empty() ? "" : ", ", (i + 2 * k) % 5);
      ++*values;
    }
    absl::StrAppend(&offsets, ", ", *values);
  }
  return fmt::format("o = s32[{}] constant({{{}}}) c = s32[{}] constant({{{}}})", rows + 1, offsets, *values,
                     columns);
}

TEST(LibraryCallsTest, SparseProductsAgreeWithTheReference) {
  for (const char* type : {"f32", "f64", "c64", "c128"}) {
    for (const int64_t width : {0, 1, 2, 32, 75}) {
      for (const int64_t rows : {1, 7, 150}) {
        int64_t values = 0;
        const std::string constants = CsrConstants(rows, &values);
        const std::string columns = width == 0 ? "" : fmt::format(",{}", width);
        Expect(fmt::format(
            R"(ENTRY e {{ v = {0}[{1}] parameter(0) x = {0}[5{2}] parameter(1)
  {3}
  ROOT r = {0}[{4}{2}] custom-call(v, o, c, x), custom_call_target="cpu_csr_sparse_dense_ffi" }})",
            type, values, columns, constants, rows));
      }
    }
  }
}

}  // namespace
}  // namespace hlo::library_calls_test
