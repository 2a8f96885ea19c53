// Tests properties of runs that cases cannot express: limits, messages, observers, and in-place updates.

#include "hlo_run/run.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo_run/custom_calls.h"
#include "hlo_run/parse.h"

namespace hlo::run_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

CheckedModule Load(const std::string& text) {
  const auto source = std::make_shared<SourceText>("m.hlo", text);
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(source, diagnostics);
  EXPECT_NE(module, nullptr) << Message(diagnostics.ToStatus(*source));
  absl::StatusOr<CheckedModule> checked = Check(std::move(module), diagnostics);
  EXPECT_TRUE(checked.ok()) << Message(checked.status());
  return *std::move(checked);
}

Literal Value(const std::string& text) {
  absl::StatusOr<Literal> literal = ParseLiteral(SourceText("value", text), Shape());
  EXPECT_TRUE(literal.ok()) << Message(literal.status());
  return *std::move(literal);
}

std::string Text(const absl::StatusOr<Literal>& value) {
  return value.ok() ? ToString(*value) : std::string(Message(value.status()));
}

// Writes i into row i of x, four times.
constexpr char kLoop[] = R"(HloModule m
condition {
  s = (s32[], f32[4,2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT go = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[4,2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,2] get-tuple-element(s), index=1
  f = f32[] convert(i)
  row = f32[1,2] broadcast(f), dimensions={}
  zero = s32[] constant(0)
  y = f32[4,2] dynamic-update-slice(x, row, i, zero)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[4,2]) tuple(j, y)
}
ENTRY e {
  x = f32[4,2] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[4,2]) tuple(zero, x)
  w = (s32[], f32[4,2]) while(s), condition=condition, body=body
  ROOT r = f32[4,2] get-tuple-element(w), index=1
}
)";

TEST(RunTest, ALoopUpdatesItsStateInPlace) {
  std::vector<Literal> arguments = {Value("f32[4,2] {{9,9},{9,9},{9,9},{9,9}}")};
  const std::byte* const before = arguments[0].data();
  const absl::StatusOr<Literal> result = Evaluate(Load(kLoop), std::move(arguments));
  EXPECT_EQ(Text(result), Text(Value("f32[4,2] {{0,0},{1,1},{2,2},{3,3}}")));
  EXPECT_EQ(result->data(), before);
}

TEST(RunTest, AnArgumentThatTheCallerHoldsIsNotChanged) {
  const Literal kept = Value("f32[4,2] {{9,9},{9,9},{9,9},{9,9}}");
  const absl::StatusOr<Literal> result = Evaluate(Load(kLoop), {kept});
  EXPECT_EQ(Text(result), Text(Value("f32[4,2] {{0,0},{1,1},{2,2},{3,3}}")));
  EXPECT_EQ(Text(kept), Text(Value("f32[4,2] {{9,9},{9,9},{9,9},{9,9}}")));
}

TEST(RunTest, ArgumentsMustFitTheParameters) {
  const CheckedModule module = Load(kLoop);
  EXPECT_EQ(Text(Evaluate(module, {Value("f32[2] {1,2}")})),
            "parameter 0 ('x') is f32[4,2], but its argument is f32[2]");
  EXPECT_THAT(Text(Evaluate(module, {})), HasSubstr("has 1 parameter, but the run has 0 arguments"));
}

constexpr char kEndless[] = R"(HloModule m
condition {
  i = s32[] parameter(0)
  ROOT go = pred[] constant(true)
}
body {
  ROOT i = s32[] parameter(0)
}
ENTRY e {
  i = s32[] constant(0)
  ROOT w = s32[] while(i), condition=condition, body=body
}
)";

TEST(RunTest, AnEndlessLoopStopsAtTheStepLimit) {
  const absl::StatusOr<Literal> result = Evaluate(Load(kEndless), {}, {.max_steps = 1000});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Text(result), HasSubstr("the limit of 1000 steps"));
}

TEST(RunTest, AnEndlessLoopStopsAtTheTimeLimit) {
  const absl::StatusOr<Literal> result = Evaluate(Load(kEndless), {}, {.max_seconds = 0.01});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RunTest, ATextCaseStopsAtTheTimeLimit) {
  const CheckedModule module = Load(R"(HloModule m
ENTRY e {
  x = f32[] parameter(0)
  a = f32[2000,2000] broadcast(x), dimensions={}
  ROOT y = f32[2000,2000] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)");
  const absl::StatusOr<Literal> result = Evaluate(module, {Value("f32[] 1")}, {.max_seconds = 0.01});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(result),
              HasSubstr("m.hlo:5:27: 'y' (f32[2000,2000] dot): the limit of 0.01 seconds is reached"));
}

// An instruction and the expected message.
struct TextCase {
  std::string_view expected;
  std::string_view text;
};
// A single step that takes long.
class LongStepTest : public testing::TestWithParam<TextCase> {};

TEST_P(LongStepTest, StopsAtTheTimeLimit) {
  const std::string text = absl::StrCat(R"(HloModule m
larger {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = s32[] maximum(x, y)
}
less {
  x = s32[] parameter(0)
  y = s32[] parameter(1)
  ROOT z = pred[] compare(x, y), direction=LT
}
ENTRY e {
  x = s32[] parameter(0)
  a = s32[4000,4000] broadcast(x), dimensions={}
  one = f32[] constant(1)
  f = f32[2000,2000] broadcast(one), dimensions={}
  g = f32[1,1,2000,2000] reshape(f)
  none = s32[0] constant({})
  line = c64[100003] iota(), iota_dimension=0
  ROOT r = )",
                                        GetParam().text.data(), "\n}\n");
  const absl::StatusOr<Literal> result = Evaluate(Load(text), {Value("s32[] 1")}, {.max_seconds = 0.05});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(Message(result.status())),
              HasSubstr(absl::StrCat(" ", GetParam().expected.data(), "): the limit of 0.05 seconds")));
}

INSTANTIATE_TEST_SUITE_P(
    Opcodes, LongStepTest,
    testing::Values(
        TextCase{"reduce", "s32[] reduce(a, x), dimensions={0,1}, to_apply=larger"},
        TextCase{"reduce-window",
                 "s32[4000,4000] reduce-window(a, x), window={size=1x1999 pad=0_0x999_999}, "
                 "to_apply=larger"},
        TextCase{"sort", "s32[4000,4000] sort(a), dimensions={1}, to_apply=less"},
        TextCase{"scatter",
                 "s32[4000,4000] scatter(a, none, a), update_window_dims={0,1}, "
                 "inserted_window_dims={}, scatter_dims_to_operand_dims={}, index_vector_dim=0, "
                 "to_apply=larger"},
        TextCase{"fft", "c64[100003] fft(line), fft_type=FFT, fft_length={100003}"},
        TextCase{"triangular-solve",
                 "f32[2000,2000] triangular-solve(f, f), left_side=true, lower=true, "
                 "unit_diagonal=true, transpose_a=NO_TRANSPOSE"},
        TextCase{"convolution",
                 "f32[1,1,2000,2000] convolution(g, g), window={size=2000x2000 pad=1000_999x1000_999}, "
                 "dim_labels=bf01_oi01->bf01"}),
    [](const auto& info) {
      std::string name(info.param.expected);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(RunTest, CallsNestUpToALimit) {
  std::string text = "HloModule m\nc0 {\n  ROOT x = f32[] parameter(0)\n}\n";
  for (int i = 1; i < 20; ++i) {
    text += "c" + std::to_string(i) + " {\n  x = f32[] parameter(0)\n  ROOT y = f32[] call(x), to_apply=c" +
            std::to_string(i - 1) + "\n}\n";
  }
  text += "ENTRY e {\n  x = f32[] parameter(0)\n  ROOT y = f32[] call(x), to_apply=c19\n}\n";
  const CheckedModule module = Load(text);
  EXPECT_EQ(Text(Evaluate(module, {Value("f32[] 3")}, {.max_call_depth = 21})), "3");
  EXPECT_EQ(Text(Evaluate(module, {Value("f32[] 3")}, {.max_call_depth = 20})),
            "calls nest 21 deep; the limit is 20");
}

TEST(RunTest, UnsupportedInstructionsAreNamedBeforeTheRun) {
  const CheckedModule module = Load(R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  unused = f32[2] custom-call(x), custom_call_target="not_needed"
  y = f32[2] custom-call(x), custom_call_target="first"
  ROOT z = f32[2] custom-call(y), custom_call_target="second"
}
)");
  const absl::Status status = CheckSupported(module);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(Message(status)),
              StartsWith("m.hlo:5:14: 'y' (f32[2] custom-call): the target 'first' is not known"));
  EXPECT_THAT(std::string(Message(status)),
              HasSubstr("\nm.hlo:6:19: 'z' (f32[2] custom-call): the target 'second'"));
}

// Collectives whose shapes or pairs imply other devices.
class SeveralDevicesTest : public testing::TestWithParam<TextCase> {};

TEST_P(SeveralDevicesTest, AreRejectedBeforeTheRun) {
  const CheckedModule module = Load(absl::StrCat(R"(HloModule m
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
ENTRY e {
  a = f32[8] parameter(0)
  ROOT r = )",
                                                 GetParam().text.data(), "\n}\n"));
  const absl::Status status = CheckSupported(module);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(Message(status)), HasSubstr(GetParam().expected.data()));
}

INSTANTIATE_TEST_SUITE_P(
    Opcodes, SeveralDevicesTest,
    testing::Values(TextCase{"makes f32[64] of f32[8], so its group has 8 devices",
                             "f32[64] all-gather(a), dimensions={0}"},
                    TextCase{"makes f32[2] of f32[8], so its group has 4 devices",
                             "f32[2] reduce-scatter(a), dimensions={0}, to_apply=sum"},
                    TextCase{"makes f32[16] of f32[8], so its group has 2 devices",
                             "(f32[8], f32[16]) all-gather-start(a), dimensions={0}"},
                    TextCase{"its pairs name several devices",
                             "f32[8] collective-permute(a), source_target_pairs={{1,2}}"},
                    TextCase{"its groups have several devices",
                             "(f32[8], f32[8]) all-to-all(a, a), replica_groups={{0,1}}"}));

// Custom calls with known targets and unsupported signatures.
class InvalidCallTest : public testing::TestWithParam<TextCase> {};

TEST_P(InvalidCallTest, IsRejectedBeforeTheRun) {
  const CheckedModule module = Load(absl::StrCat(R"(HloModule m
ENTRY e {
  a = f32[1,2,2,2] parameter(0)
  z = c64[3] parameter(1)
  n = s32[3] parameter(2)
  v = f32[] parameter(3)
  ROOT r = )",
                                                 GetParam().text.data(), "\n}\n"));
  const absl::Status status = CheckSupported(module);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(Message(status)), HasSubstr(GetParam().expected.data()));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, InvalidCallTest,
    testing::Values(
        TextCase{"has no meaning for c64",
                 "(c64[3], s32[3]) custom-call(z, n), custom_call_target=\"xla.gpu.ext.cub_sort_pairs\", "
                 "backend_config={descending = false}"},
        TextCase{"sorts s32[3] with the keys, but does not return it",
                 "(s32[3], u8[1]) custom-call(n, n), custom_call_target=\"__cub$DeviceRadixSort\", "
                 "backend_config={\"descending\":false}"},
        TextCase{"(c64[1], s32[1]) custom-call): has no meaning for c64",
                 "(c64[1], s32[1]) custom-call(z), custom_call_target=\"chlo.top_k\""},
        TextCase{"is known as F[*] -> F[*], but this is f32[] -> f32[]",
                 "(f32[]) custom-call(v), custom_call_target=\"chlo.erf_inv\""},
        TextCase{"names no elementwise operation",
                 "f32[] custom-call(v), custom_call_target=\"mhlo.dot_product\""},
        TextCase{"add does not take 1 operand", "f32[] custom-call(v), custom_call_target=\"mhlo.add\""},
        TextCase{"its dropout draws random numbers by a generator of cuDNN's own",
                 "f32[1,2,2,2] custom-call(a, a, a), custom_call_target=\"__cudnn$fmhaSoftmaxDropout\", "
                 "backend_config={\"cudnn_fmha_backend_config\":{\"dropout_rate\":0.1,"
                 "\"fmha_scale\":1,\"mask_type\":\"NO_MASK\"}}"},
        TextCase{"its mask_type is ALIBI; known are NO_MASK",
                 "f32[1,2,2,2] custom-call(a, a, a), custom_call_target=\"__cudnn$fmhaSoftmax\", "
                 "backend_config={\"cudnn_fmha_backend_config\":{\"mask_type\":\"ALIBI\",\"fmha_scale\":1}}"},
        TextCase{"its qkv_layout is 10; known are 5 to 9",
                 "f32[1,2,2,2] custom-call(a, a, a, a), custom_call_target=\"te_fused_attn_forward_ffi\", "
                 "backend_config={mask_type = 0 : i64, qkv_layout = 10 : i64, scaling_factor = 1.0 : f64}"},
        TextCase{"its mask_type is 5; known are 0 none",
                 "f32[1,2,2,2] custom-call(a, a, a, a), custom_call_target=\"te_fused_attn_forward_ffi\", "
                 "backend_config={mask_type = 5 : i64, qkv_layout = 9 : i64, scaling_factor = 1.0 : f64}"},
        TextCase{"its operands are not q, k, v, a bias, the seed",
                 "f32[1,2,2,2] custom-call(a, a, a, a), custom_call_target=\"te_fused_attn_forward_ffi\", "
                 "backend_config={mask_type = 0 : i64, qkv_layout = 9 : i64, scaling_factor = 1.0 : f64}"},
        TextCase{"a TransformerEngine kernel, which only its own runtime executes",
                 "f32[1,2,2,2] custom-call(a), custom_call_target=\"te_gemm_ffi\""},
        TextCase{"an attention in 8 bits whose operands are not documented",
                 "f32[1,2,2,2] custom-call(a, a, a), custom_call_target=\"__cudnn$fmhaSoftmaxF8\""},
        TextCase{"it has no dim_labels and window",
                 "f32[1,2,2,2] custom-call(a, a), custom_call_target=\"__onednn$convolution\", "
                 "backend_config={\"onednn_conv_config\":{}}"},
        TextCase{"needs the attribute 'side' in its backend_config",
                 "f32[1,2,2,2] custom-call(a, a), custom_call_target=\"lapack_strsm_ffi\""},
        TextCase{"needs the attribute 'trans_x' in its backend_config",
                 "f32[1,2,2,2] custom-call(a, a), custom_call_target=\"lapack_strsm_ffi\", "
                 "backend_config={side = 76 : ui8, uplo = 76 : ui8, diag = 78 : ui8}"},
        TextCase{"needs the attribute 'uplo' or 'lower' in its backend_config",
                 "(f32[1,2,2,2], s32[1,2]) custom-call(a), custom_call_target=\"lapack_spotrf_ffi\""},
        TextCase{"needs its backend_config, \"lower,sort,iterations,tolerance\"",
                 "(f32[1,2,2,2], f32[1,2,2]) custom-call(a), custom_call_target=\"Eigh\""},
        TextCase{
            "needs its backend_config, a record of five 32-bit integers",
            "(f32[1,2,2,2], f32[1,2,2], s32[1,2]) custom-call(a), custom_call_target=\"hipsolver_syevj\", "
            "backend_config="
            "\"\\000\\000\\000\\000\\002\\000\\000\\000\\002\\000\\000\\000\\002\\000\\000\\000\\002\\000\\00"
            "0\\000\""},
        TextCase{"needs the attribute 'conv_result_scale' in its backend_config",
                 "f32[1,2,2,2] custom-call(a, a), custom_call_target=\"__cudnn$convForward\", "
                 "dim_labels=bf01_oi01->bf01"},
        TextCase{
            "the operation 'frobnicate' of its graph is not known; known are conv, add",
            "f32[1,1,1,1] custom-call(a, a), custom_call_target=\"__cudnn$convForwardGraph\", "
            "window={size=2x2}, dim_labels=b01f_o01i->b01f, backend_config={\"cudnn_conv_backend_config\":"
            "{\"serialized_graph\":\"1:[f32]conv();2:[f32]frobnicate(1);\"}}"},
        TextCase{"its fused operation SOFTPLUS is not known",
                 "f32[1,2,2,2] custom-call(a, a), custom_call_target=\"__onednn$matmul\", "
                 "backend_config={\"onednn_matmul_config\":{\"fusions\":{\"ops\":[\"SOFTPLUS\"]}}}"},
        TextCase{"the module that it runs is not part of this one",
                 "f32[] custom-call(v), custom_call_target=\"HostExecute\""}));

// Calls whose operands have invalid values.
class FailingCallTest : public testing::TestWithParam<TextCase> {};

TEST_P(FailingCallTest, ReportsTheInvalidValue) {
  const CheckedModule module = Load(absl::StrCat(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  i = s32[1] parameter(1)
  j = s32[1] parameter(2)
  n = s32[0] constant({})
  p = pred[] parameter(3)
  ROOT r = )",
                                                 GetParam().text.data(), "\n}\n"));
  const absl::StatusOr<Literal> result = Evaluate(
      module, {Value("f32[4] {1,2,3,4}"), Value("s32[1] {1}"), Value("s32[1] {7}"), Value("pred[] false")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(result), HasSubstr(GetParam().expected.data()));
}

INSTANTIATE_TEST_SUITE_P(
    Targets, FailingCallTest,
    testing::Values(
        TextCase{"there is no slice of f32[4] from {1} to {7} in steps of {1}",
                 "f32[4] custom-call(x, i, j, i), custom_call_target=\"mhlo.real_dynamic_slice\""},
        TextCase{"custom-call): reshape keeps the number of elements: f32[4] has 4",
                 "f32[] custom-call(x, n), custom_call_target=\"mhlo.dynamic_reshape\""},
        TextCase{"its operand asks for the sizes {7}, but the result is f32[4]",
                 "f32[4] custom-call(x, j), custom_call_target=\"mhlo.dynamic_reshape\""},
        TextCase{
            "the assertion does not hold: {7} is too much",
            "() custom-call(p, j), custom_call_target=\"shape_assertion\", custom_call_has_side_effect=true, "
            "backend_config={error_message = \"{0} is too much\"}"}));

constexpr char kCustomCall[] = R"(HloModule m
ENTRY e {
  x = f32[2] parameter(0)
  ROOT y = f32[2] custom-call(x), custom_call_target="Shardin"
}
)";

TEST(RunTest, AnUnknownTargetIsReportedWithSimilarNames) {
  EXPECT_THAT(Text(Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")})),
              AllOf(StartsWith("m.hlo:4:19: 'y' (f32[2] custom-call): the target 'Shardin' is not known; did "
                               "you mean 'Sharding'"),
                    HasSubstr("--custom-call 'Shardin=FILE.hlo'")));
}

TEST(RunTest, AFunctionOfTheCallerComputesACustomCall) {
  CustomCalls calls;
  calls.Add("Shardin",
            [](const Instruction& call, absl::Span<const Literal> operands) -> absl::StatusOr<Literal> {
              EXPECT_EQ(call.name(), "y");
              return operands[0].shape().rank() == 1 ? Value("f32[2] {5,6}") : Value("f32[] 0");
            });
  EXPECT_EQ(Text(Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")}, {.custom_calls = &calls})), "{5, 6}");
  CustomCalls wrong;
  wrong.Add("Shardin", [](const Instruction&, absl::Span<const Literal>) -> absl::StatusOr<Literal> {
    return Value("f32[3] {1,2,3}");
  });
  EXPECT_THAT(Text(Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")}, {.custom_calls = &wrong})),
              HasSubstr("the function of 'Shardin' gives f32[3], expected f32[2]"));
}

TEST(RunTest, AModuleOfTheCallerComputesACustomCall) {
  CustomCalls calls;
  calls.Add("Shardin", Load("ENTRY g { p = f32[2] parameter(0) ROOT q = f32[2] add(p, p) }"));
  EXPECT_EQ(Text(Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")}, {.custom_calls = &calls})), "{2, 4}");
}

TEST(RunTest, AModuleThatComputesACustomCallMustFit) {
  CustomCalls calls;
  calls.Add("Shardin", Load("ENTRY g { ROOT p = f32[3] parameter(0) }"));
  EXPECT_THAT(Text(Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")}, {.custom_calls = &calls})),
              HasSubstr("operand 0 is f32[2], but parameter 0 of the module that computes it is f32[3]"));
}

TEST(RunTest, ModulesThatCallEachOtherAreRejected) {
  CustomCalls calls;
  calls.Add("Shardin", Load(kCustomCall));
  const absl::StatusOr<Literal> result =
      Evaluate(Load(kCustomCall), {Value("f32[2] {1,2}")}, {.custom_calls = &calls});
  EXPECT_EQ(Text(result), "modules that compute custom calls call each other in a circle");
}

TEST(RunTest, LibrariesStayInMemoryForThreadsOfTheirHandlers) {
  const auto is_loaded = [] {
    void* const library = dlopen(HLO_RUN_TEST_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr) dlclose(library);
    return library != nullptr;
  };
  EXPECT_FALSE(is_loaded());
  {
    CustomCalls calls;
    ASSERT_TRUE(calls.AddLibrary(HLO_RUN_TEST_LIBRARY).ok());
  }
  EXPECT_TRUE(is_loaded());
}

// Provides 1, 2, ... and records what it receives.
class Counter : public Host {
 public:
  absl::StatusOr<Literal> Read(const Instruction& reader, const Shape&) override {
    lines.push_back("take " + std::string(reader.name()));
    return Value("f32[] " + std::to_string(++count_));
  }
  absl::Status Write(const Instruction& writer, Literal value) override {
    lines.push_back("give " + std::string(writer.name()) + " " + ToString(value));
    return absl::OkStatus();
  }
  std::vector<std::string> lines;

 private:
  int count_ = 0;
};

constexpr char kInfeed[] = R"(HloModule m
ENTRY e {
  t = token[] after-all()
  a = (f32[], token[]) infeed(t)
  x = f32[] get-tuple-element(a), index=0
  u = token[] get-tuple-element(a), index=1
  b = (f32[], u32[], token[]) recv(u), channel_id=3, is_host_transfer=true
  c = (f32[], token[]) recv-done(b), channel_id=3, is_host_transfer=true
  y = f32[] get-tuple-element(c), index=0
  z = f32[] subtract(x, y)
  v = token[] get-tuple-element(c), index=1
  o = token[] outfeed(z, v), outfeed_shape=f32[]
  s = (f32[], u32[], token[]) send(x, o), channel_id=4, is_host_transfer=true
  ROOT d = token[] send-done(s), channel_id=4, is_host_transfer=true
}
)";

TEST(RunTest, AHostSendsAndReceivesValues) {
  Counter host;
  EXPECT_TRUE(Evaluate(Load(kInfeed), {}, {.host = &host}).ok());
  EXPECT_THAT(host.lines, ElementsAre("take a", "take c", "give o -1", "give s 1"));
}

TEST(RunTest, AnInfeedWithoutAHostIsRejectedBeforeTheRun) {
  const absl::StatusOr<Literal> result = Evaluate(Load(kInfeed), {});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Text(result),
            "m.hlo:4:24: 'a' ((f32[], token[]) infeed): takes a value from the host, but there are none (see "
            "--infeed)");
}

TEST(RunTest, AReceiveWithoutASendIsAnError) {
  const CheckedModule module = Load(R"(HloModule m
ENTRY e {
  t = token[] after-all()
  v = (f32[], u32[], token[]) recv(t), channel_id=1
  ROOT w = (f32[], token[]) recv-done(v), channel_id=1
}
)");
  EXPECT_THAT(Text(Evaluate(module, {})), HasSubstr("nothing has been sent over channel 1"));
}

TEST(RunTest, ElidedConstantsAreRejected) {
  const CheckedModule module = Load("HloModule m\nENTRY e {\n  ROOT c = f32[2] constant({...})\n}\n");
  const absl::StatusOr<Literal> refused = Evaluate(module, {});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(refused), HasSubstr("m.hlo:3:19: 'c' (f32[2] constant)"));
}

TEST(RunTest, ASideEffectWithAnUnusedResultIsExecuted) {
  const CheckedModule module = Load(R"(HloModule m, is_scheduled=true
ENTRY e {
  a = u64[2] rng-get-and-update-state(), delta=5
  ROOT b = u64[2] rng-get-and-update-state(), delta=1
}
)");
  EXPECT_EQ(Text(Evaluate(module, {})), Text(Value("u64[2] {117515162, 0}")));  // 0x7012395 + 5.
}

// Records the steps that it observes; stops the run at an instruction.
class Witness : public Observer {
 public:
  explicit Witness(bool needs_operands, std::string stop_at = "")
      : needs_operands_(needs_operands), stop_at_(std::move(stop_at)) {}

  bool needs_operands() const override { return needs_operands_; }
  absl::Status BeforeStep(const StepView& step) override {
    if (step.instruction().name() == stop_at_) return absl::CancelledError("seen enough");
    return absl::OkStatus();
  }
  absl::Status AfterStep(const StepView& step) override {
    std::string line = std::string(step.instruction().name()) + "@" + std::to_string(step.depth()) + " = " +
                       Text(step.Result());
    for (int64_t i = 0; i < step.instruction().operand_count(); ++i) {
      const absl::StatusOr<Literal> operand = step.Operand(i);
      line += operand.ok() ? " " + ToString(*operand) : " gone";
    }
    lines.push_back(line);
    return absl::OkStatus();
  }
  void Finish(const absl::Status& outcome) override { finish = Message(outcome); }

  std::vector<std::string> lines;
  std::string finish = "not called";

 private:
  bool needs_operands_;
  std::string stop_at_;
};

constexpr char kCall[] = R"(HloModule m
f {
  p = f32[] parameter(0)
  ROOT q = f32[] add(p, p)
}
ENTRY e {
  x = f32[] parameter(0)
  y = f32[] call(x), to_apply=f
  ROOT z = f32[] negate(y)
}
)";

TEST(RunTest, AnObserverSeesEachStepWithItsOperands) {
  Witness witness(true);
  EXPECT_EQ(Text(Evaluate(Load(kCall), {Value("f32[] 3")}, {.observer = &witness})), "-6");
  EXPECT_THAT(witness.lines, ElementsAre("x@0 = 3", "p@1 = 3", "q@1 = 6 3 3", "y@0 = 6 3", "z@0 = -6 6"));
  EXPECT_EQ(witness.finish, "");
}

TEST(RunTest, OperandsAreUpdatedInPlaceUnlessAnObserverNeedsThem) {
  Witness witness(false);
  EXPECT_EQ(Text(Evaluate(Load(kCall), {Value("f32[] 3")}, {.observer = &witness})), "-6");
  EXPECT_THAT(witness.lines,
              ElementsAre("x@0 = 3", "p@1 = 3", "q@1 = 6 gone gone", "y@0 = 6 gone", "z@0 = -6 gone"));
}

TEST(RunTest, AnObserverCanStopTheRun) {
  Witness witness(true, "q");
  const absl::StatusOr<Literal> result = Evaluate(Load(kCall), {Value("f32[] 3")}, {.observer = &witness});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(Text(result), "m.hlo:4:18: 'q' (f32[] add): seen enough");
  EXPECT_EQ(witness.finish, Text(result));
}

}  // namespace
}  // namespace hlo::run_test
