// Tests that a plan's memory estimate equals the memory that a run takes, including its kernels'.

#include <string>

#include "base/pages.h"
#include "base/parallel.h"
#include "counted_memory.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"
#include "plan/make_plan.h"
#include "plan/plan.h"

namespace hlo::kernel_memory_test {
namespace {

struct Case {
  const char *name, *entry;
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};

// Starts counting at the first step, after the reservation has been made and released.
class FromFirstStep : public Observer {
 public:
  absl::Status BeforeStep(const StepView&) override {
    test::peak = test::live.load();
    return absl::OkStatus();
  }
  absl::Status AfterStep(const StepView&) override { return absl::OkStatus(); }
};

class KernelMemory : public testing::TestWithParam<Case> {};

TEST_P(KernelMemory, EqualsTheEstimateOfThePlan) {
#ifndef HLO_TEST_COUNTS
  GTEST_SKIP() << "memory is not counted under this library or sanitizer";
#endif
  SetThreadCount(1);
  const absl::StatusOr<CheckedModule> checked =
      test::CheckedWith("ENTRY e {\n  zero = f32[] constant(0)\n" + std::string(GetParam().entry) + "}\n");
  ASSERT_TRUE(checked.ok());
  const absl::StatusOr<plan::Plan> plan = plan::MakePlan(*checked);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_GT(plan->kernel_bytes, 0);
  absl::StatusOr<Executable> executable = Executable::Make(*checked, Engine::kFast);
  std::vector<Literal> arguments;
  int64_t given = 0;
  for (const Instruction* parameter : checked->module().entry()->parameters()) {
    arguments.push_back(*Literal::CreateZeros(parameter->shape()));
    given += arguments.back().byte_count();
    std::byte* data = static_cast<std::byte*>(arguments.back().mutable_data());
    for (int64_t i = 0; i < arguments.back().byte_count(); ++i)
      data[i] = static_cast<std::byte>((i * 2654435761) >> 13 & 0x3f);  // No infinities and no NaN.
  }
  EXPECT_TRUE(Executable::Make(*checked, Engine::kFast)->Run(arguments).ok());  // Fills thread-local caches.
  FreeCachedPages();
  const int64_t start = test::live;
  FromFirstStep observer;
  EXPECT_TRUE(executable->Run(arguments, {.observer = &observer}).ok());
  // Tolerance for small allocations.
  constexpr int64_t kKept = 1 << 20;
  const int64_t said = plan::MemoryOf(*plan), taken = test::peak - start;
  EXPECT_LE(taken, said + kKept);
  EXPECT_GE(taken, said - said / 4);

  // Exactly that much is sufficient; less is rejected before the run starts.
  executable = Executable::Make(*checked, Engine::kFast);
  const int64_t others = BufferMemoryUse().current_bytes;
  SetMemoryLimit(others + said);
  EXPECT_TRUE(executable->Run(arguments).ok());
  executable = Executable::Make(*checked, Engine::kFast);
  SetMemoryLimit(others + said - 1);
  const absl::StatusOr<Literal> refused = executable->Run(arguments);
  SetMemoryLimit(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("the run takes " + std::to_string(said) + " bytes"),
            std::string::npos)
      << refused.status();
}

constexpr Case kCases[] = {
    {"sort",
     "x = f32[500000] parameter(0)\n ROOT r = f32[500000] sort(x), dimensions={0}, to_apply=before\n"},
    {"sort_of_pairs",
     "x = f64[300000] parameter(0)\n y = s32[300000] parameter(1)\n ROOT r = (f64[300000], s32[300000]) "
     "sort(x, y), dimensions={0}, to_apply=before_f64\n"},
    {"sort_columns",
     "x = f32[300000,2] parameter(0)\n ROOT r = f32[300000,2] sort(x), dimensions={0}, to_apply=before\n"},
    {"sort_by_comparator",
     "x = f32[200000] parameter(0)\n ROOT r = f32[200000] sort(x), dimensions={0}, to_apply=nearer\n"},
    {"topk",
     "x = f32[500000] parameter(0)\n ROOT r = (f32[40000], s32[40000]) topk(x), k=40000, largest=true\n"},
    {"topk_of_most",
     "x = f16[500000] parameter(0)\n ROOT r = (f16[400000], s32[400000]) topk(x), k=400000, largest=true\n"},
    {"window",
     "x = f16[1000,700] parameter(0)\n z = f16[] constant(0)\n ROOT r = f16[1000,700] reduce-window(x, z), "
     "window={size=28x1 pad=27_0x0_0}, to_apply=difference_f16\n"},
    {"window_that_slides",
     "x = f32[600,700] parameter(0)\n ROOT r = f32[600,700] reduce-window(x, zero), window={size=9x9 "
     "pad=4_4x4_4}, to_apply=sum\n"},
    {"cumulative",
     "x = f32[700000] parameter(0)\n ROOT r = f32[700000] reduce-window(x, zero), window={size=700000 "
     "pad=699999_0}, to_apply=sum\n"},
    {"select_and_scatter",
     "x = f16[800,600] parameter(0)\n s = f16[400,300] parameter(1)\n z = f16[] constant(0)\n ROOT r = "
     "f16[800,600] select-and-scatter(x, s, z), window={size=2x2 stride=2x2}, select=above_f16, "
     "scatter=sum_f16\n"},
    {"fft_of_reals",
     "x = f32[70,10000] parameter(0)\n ROOT r = c64[70,5001] fft(x), fft_type=RFFT, fft_length={10000}\n"},
    {"fft_of_long_prime_lines",
     "x = c64[3,100003] parameter(0)\n ROOT r = c64[3,100003] fft(x), fft_type=FFT, fft_length={100003}\n"},
    {"fft_to_reals",
     "x = c64[512,513] parameter(0)\n ROOT r = f32[512,1024] fft(x), fft_type=IRFFT, "
     "fft_length={512,1024}\n"},
    {"convolution_of_bf16",
     "x = bf16[4,100,100,16] parameter(0)\n w = bf16[3,3,16,8] parameter(1)\n ROOT r = bf16[4,98,98,8] "
     "convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f\n"},
    {"convolution_that_turns_its_input",
     "x = f32[8,16,64,64] parameter(0)\n w = f32[16,16,3,3] parameter(1)\n ROOT r = f32[8,16,31,31] "
     "convolution(x, w), window={size=3x3 stride=2x2}, dim_labels=bf01_io01->bf01\n"},
    {"cholesky", "x = f32[700,700] parameter(0)\n ROOT r = f32[700,700] cholesky(x), lower=true\n"},
    {"triangular_solve",
     "x = f32[300,300] parameter(0)\n y = f32[300,2000] parameter(1)\n ROOT r = f32[300,2000] "
     "triangular-solve(x, y), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE\n"},
    {"lu",
     "x = f32[500,500] parameter(0)\n ROOT r = (f32[500,500], s32[500], s32[]) custom-call(x), "
     "custom_call_target=\"lapack_sgetrf_ffi\", api_version=API_VERSION_TYPED_FFI\n"},
    {"qr",
     "x = f32[500,500] parameter(0)\n ROOT r = (f32[500,500], f32[500]) custom-call(x), "
     "custom_call_target=\"lapack_sgeqrf_ffi\", api_version=API_VERSION_TYPED_FFI\n"},
    {"eigenvalues",
     "x = f32[400,400] parameter(0)\n ROOT r = (f32[400,400], f32[400], s32[]) custom-call(x), "
     "custom_call_target=\"lapack_ssyevd_ffi\", api_version=API_VERSION_TYPED_FFI, "
     "backend_config={mode = 86 : ui8, uplo = 76 : ui8}\n"},
    {"singular_values",
     "x = f32[400,300] parameter(0)\n ROOT r = (f32[400,300], f32[300], f32[400,300], f32[300,300], s32[]) "
     "custom-call(x), custom_call_target=\"lapack_sgesdd_ffi\", api_version=API_VERSION_TYPED_FFI, "
     "backend_config={mode = 83 : ui8}\n"},
    {"pivots_alone",
     "x = f64[500,500] parameter(0)\n q = (f64[500,500], s32[500], s32[]) custom-call(x), "
     "custom_call_target=\"lapack_dgetrf_ffi\", api_version=API_VERSION_TYPED_FFI\n ROOT r = s32[500] "
     "get-tuple-element(q), index=1\n"},
    {"singular_values_alone",
     "x = f64[300,900] parameter(0)\n q = (f64[300,900], f64[300], f64[300,300], f64[900,900], s32[]) "
     "custom-call(x), custom_call_target=\"lapack_dgesdd_ffi\", api_version=API_VERSION_TYPED_FFI, "
     "backend_config={mode = 65 : ui8}\n ROOT r = f64[300] get-tuple-element(q), index=1\n"},
};

INSTANTIATE_TEST_SUITE_P(Kernels, KernelMemory, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hlo::kernel_memory_test
