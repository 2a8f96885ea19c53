// Tests that loop iterations do not allocate: the number of allocations is independent of the trip count.

#include <string>

#include "base/parallel.h"
#include "counted_memory.h"
#include "gtest/gtest.h"
#include "hlo_run/execute.h"
#include "kernels/cpu/loops/tile_program.h"

namespace hlo::loop_allocations_test {
namespace {

struct Case {
  // The body computes `y` from `x`, both of type `type`; `j` is the iteration.
  const char *name, *type, *body;
  friend void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }
};

std::string ModuleOf(const Case& c) {
  const std::string type = c.type, state = "(s32[], s32[], " + type + ")";
  return "goes_on { p = " + state + R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  ROOT r = pred[] compare(i, n), direction=LT }
iteration { p = )" +
         state + R"( parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=1
  x = )" +
         type +
         R"( get-tuple-element(p), index=2
  k = s32[] constant(1)
  j = s32[] add(i, k)
  zero = f32[] constant(0)
  least = f32[] constant(-inf)
)" + c.body +
         "\n  ROOT t = " + state + " tuple(j, n, y) }\nENTRY e { n = s32[] parameter(0)\n  x = " + type +
         " parameter(1)\n  z = s32[] constant(0)\n  t = " + state + " tuple(z, n, x)\n  ROOT w = " + state +
         " while(t), condition=goes_on, body=iteration }\n";
}

class LoopAllocations : public testing::TestWithParam<Case> {};

TEST_P(LoopAllocations, DoNotDependOnTheTripCount) {
#ifndef HLO_TEST_COUNTS
  GTEST_SKIP() << "allocations are not counted under this library or sanitizer";
#endif
  SetThreadCount(1);
  cpu::SetNativeCodeDelay(1);  // Loops are compiled in the first run.
  const absl::StatusOr<CheckedModule> checked = test::CheckedWith(ModuleOf(GetParam()));
  ASSERT_TRUE(checked.ok());
  absl::StatusOr<Executable> executable = Executable::Make(*checked, Engine::kFast);
  ASSERT_TRUE(executable.ok()) << executable.status();
  ASSERT_EQ(executable->fallback_reason(), "");
  const auto count = [&](int32_t iterations) {
    absl::StatusOr<Literal> n = Literal::CreateZeros(Shape::Array(ElementType::kS32, {}));
    n->mutable_span<int32_t>()[0] = iterations;
    absl::StatusOr<Literal> x = Literal::CreateZeros(checked->module().entry()->parameter(1)->shape());
    std::vector<Literal> arguments = {*std::move(n), *std::move(x)};
    const int64_t start = test::allocations;
    const absl::StatusOr<Literal> result = executable->Run(std::move(arguments));
    EXPECT_TRUE(result.ok()) << result.status();
    return test::allocations - start;
  };
  count(3);  // Compiles loops and fills thread-local caches.
  EXPECT_EQ(count(10), count(110));
}

constexpr Case kCases[] = {
    {"elementwise", "f32[5000]", "y = f32[5000] tanh(x)"},
    {"small_dot", "f32[4,4]", "y = f32[4,4] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"dot", "f32[80,80]", "y = f32[80,80] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"dot_of_batches", "f32[3,40,40]",
     "y = f32[3,40,40] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}"},
    {"dot_of_bf16", "bf16[80,80]",
     "y = bf16[80,80] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
    {"matrix_and_vector", "f32[300]",
     "m = f32[300,300] iota(), iota_dimension=0\n y = f32[300] dot(m, x), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0}"},
    {"reduce_rows", "f32[90,90]",
     "r = f32[90] reduce(x, zero), dimensions={1}, to_apply=sum\n y = f32[90,90] broadcast(r), "
     "dimensions={0}"},
    {"reduce_columns", "f32[90,90]",
     "r = f32[90] reduce(x, zero), dimensions={0}, to_apply=sum\n y = f32[90,90] broadcast(r), "
     "dimensions={0}"},
    {"reduce_all", "f32[90,90]",
     "r = f32[] reduce(x, zero), dimensions={0,1}, to_apply=sum\n y = f32[90,90] broadcast(r), "
     "dimensions={}"},
    {"reduce_long_row", "f32[100000]",
     "r = f32[] reduce(x, zero), dimensions={0}, to_apply=sum\n y = f32[100000] broadcast(r), dimensions={}"},
    {"reduce_two", "f32[90,90]",
     "q = (f32[90], f32[90]) reduce(x, x, zero, zero), dimensions={1}, to_apply=two\n r = f32[90] "
     "get-tuple-element(q), index=1\n y = f32[90,90] broadcast(r), dimensions={0}"},
    {"reduce_in_order", "f32[90,90]",
     "r = f32[90] reduce(x, zero), dimensions={1}, to_apply=odd\n y = f32[90,90] broadcast(r), "
     "dimensions={0}"},
    {"sort", "f32[100]", "y = f32[100] sort(x), dimensions={0}, to_apply=before"},
    {"sort_longer", "f32[2000]", "y = f32[2000] sort(x), dimensions={0}, to_apply=before"},
    {"sort_columns", "f32[30,70]", "y = f32[30,70] sort(x), dimensions={0}, to_apply=before"},
    {"sort_by_comparator", "f32[100]", "y = f32[100] sort(x), dimensions={0}, to_apply=nearer"},
    {"topk", "f32[50]",
     "q = (f32[50], s32[50]) topk(x), k=50, largest=true\n y = f32[50] get-tuple-element(q), index=0"},
    {"window", "f32[300]", "y = f32[300] reduce-window(x, zero), window={size=3 pad=1_1}, to_apply=sum"},
    {"window_of_bf16", "bf16[20,30]",
     "z = bf16[] constant(0)\n y = bf16[20,30] reduce-window(x, z), window={size=2x3 pad=1_0x1_1}, "
     "to_apply=sum_bf16"},
    {"window_that_slides", "f32[40,50]",
     "y = f32[40,50] reduce-window(x, least), window={size=5x7 pad=2_2x3_3}, to_apply=largest"},
    {"cumulative", "f32[3000]",
     "y = f32[3000] reduce-window(x, zero), window={size=3000 pad=2999_0}, to_apply=sum"},
    {"cumulative_columns", "f32[60,70]",
     "y = f32[60,70] reduce-window(x, zero), window={size=60x1 pad=59_0x0_0}, to_apply=sum"},
    {"select_and_scatter", "f32[12,12]",
     "s = f32[6,6] slice(x), slice={[0:6], [0:6]}\n y = f32[12,12] select-and-scatter(x, s, zero), "
     "window={size=2x2 stride=2x2}, select=above, scatter=sum"},
    {"convolution", "f32[1,30,4]",
     "w = f32[3,4,4] iota(), iota_dimension=0\n y = f32[1,30,4] convolution(x, w), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f"},
    {"convolution_features_first", "f32[2,4,9,9]",
     "w = f32[4,4,3,3] iota(), iota_dimension=0\n y = f32[2,4,9,9] convolution(x, w), window={size=3x3 "
     "pad=1_1x1_1}, dim_labels=bf01_oi01->bf01"},
    {"convolution_depthwise", "f32[1,30,4]",
     "w = f32[3,1,4] iota(), iota_dimension=0\n y = f32[1,30,4] convolution(x, w), window={size=3 pad=1_1}, "
     "dim_labels=b0f_0io->b0f, feature_group_count=4"},
    {"convolution_depthwise_rows", "f32[1,4,30]",
     "w = f32[3,1,4] iota(), iota_dimension=0\n y = f32[1,4,30] convolution(x, w), window={size=3 pad=1_1}, "
     "dim_labels=bf0_0io->bf0, feature_group_count=4"},
    {"convolution_of_bf16", "bf16[1,30,4]",
     "k16 = bf16[] constant(2)\n w = bf16[3,4,4] broadcast(k16), dimensions={}\n y = bf16[1,30,4] "
     "convolution(x, w), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f"},
    {"convolution_of_batches", "f32[4,30,4]",
     "y = f32[4,30,4] convolution(x, x), window={size=30 pad=29_0}, dim_labels=f0b_i0o->f0b"},
    {"fft_of_a_prime", "c64[101]", "y = c64[101] fft(x), fft_type=FFT, fft_length={101}"},
    {"fft_of_reals", "f32[12,15]",
     "f = c64[12,8] fft(x), fft_type=RFFT, fft_length={12,15}\n y = f32[12,15] fft(f), fft_type=IRFFT, "
     "fft_length={12,15}"},
    {"fft", "c64[128]", "y = c64[128] fft(x), fft_type=FFT, fft_length={128}"},
    {"fft_of_lines", "c64[20,60]", "y = c64[20,60] fft(x), fft_type=IFFT, fft_length={20,60}"},
    {"scatter", "f32[100]",
     "at = s32[10,1] iota(), iota_dimension=0\n u = f32[10] slice(x), slice={[5:15]}\n y = f32[100] "
     "scatter(x, at, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
     "index_vector_dim=1, to_apply=sum"},
    {"scatter_of_rows", "f32[100,20]",
     "at = s32[10,1] iota(), iota_dimension=0\n u = f32[10,20] slice(x), slice={[5:15], [0:20]}\n y = "
     "f32[100,20] scatter(x, at, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=odd"},
    {"gather", "f32[100,8]",
     "at = s32[100,1] iota(), iota_dimension=0\n y = f32[100,8] gather(x, at), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}"},
    {"update", "f32[4000]", "u = f32[1] constant({3})\n y = f32[4000] dynamic-update-slice(x, u, j)"},
    {"concatenate", "f32[64,64]",
     "a = f32[10,64] slice(x), slice={[0:10], [0:64]}\n b = f32[54,64] slice(x), slice={[10:64], [0:64]}\n "
     "y = f32[64,64] concatenate(b, a), dimensions={0}"},
    {"transpose", "f32[70,70]", "y = f32[70,70] transpose(x), dimensions={1,0}"},
    {"random", "u64[2]",
     "q = (u64[2], u32[100]) rng-bit-generator(x), algorithm=rng_three_fry\n y = u64[2] "
     "get-tuple-element(q), index=0"},
    {"batch_norm", "f32[20,6]",
     "s = f32[6] broadcast(zero), dimensions={}\n q = (f32[20,6], f32[6], f32[6]) batch-norm-training(x, s, "
     "s), epsilon=0.1, feature_index=1\n y = f32[20,6] get-tuple-element(q), index=0"},
    {"scan", "f32[30,40]",
     "s = f32[40] broadcast(zero), dimensions={}\n q = (f32[30,40], f32[40]) scan(x, s), dimensions={0}, "
     "num_carries=1, to_apply=running\n y = f32[30,40] get-tuple-element(q), index=0"},
    {"conditional", "f32[8]",
     "o = s32[] constant(5)\n c = pred[] compare(j, o), direction=LT\n y = f32[8] conditional(c, x, x), "
     "true_computation=doubled, false_computation=halved"},
    {"call", "f32[8]", "y = f32[8] call(x), to_apply=doubled"},
    {"cholesky", "f32[90,90]", "y = f32[90,90] cholesky(x), lower=true"},
    {"cholesky_of_batches", "c64[9,5,5]", "y = c64[9,5,5] cholesky(x)"},
    {"triangular_solve", "f32[90,90]",
     "y = f32[90,90] triangular-solve(x, x), left_side=true, lower=true, unit_diagonal=true, "
     "transpose_a=NO_TRANSPOSE"},
    {"lu", "f32[90,90]",
     "q = (f32[90,90], s32[90], s32[]) custom-call(x), custom_call_target=\"lapack_sgetrf_ffi\", "
     "api_version=API_VERSION_TYPED_FFI\n y = f32[90,90] get-tuple-element(q), index=0"},
    {"qr", "f32[60,60]",
     "q = (f32[60,60], f32[60]) custom-call(x), custom_call_target=\"lapack_sgeqrf_ffi\", "
     "api_version=API_VERSION_TYPED_FFI\n a = f32[60,60] get-tuple-element(q), index=0\n b = f32[60] "
     "get-tuple-element(q), index=1\n y = f32[60,60] custom-call(a, b), "
     "custom_call_target=\"lapack_sorgqr_ffi\", api_version=API_VERSION_TYPED_FFI"},
    {"eigenvalues", "f32[60,60]",
     "q = (f32[60,60], f32[60], s32[]) custom-call(x), custom_call_target=\"lapack_ssyevd_ffi\", "
     "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, uplo = 76 : ui8}\n y = f32[60,60] "
     "get-tuple-element(q), index=0"},
    {"singular_values", "f32[50,60]",
     "q = (f32[50,60], f32[50], f32[50,50], f32[50,60], s32[]) custom-call(x), "
     "custom_call_target=\"lapack_sgesdd_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={mode = 83 "
     ": "
     "ui8}\n y = f32[50,60] get-tuple-element(q), index=3"},
    {"ragged_dot", "f32[90,40]",
     "w = f32[3,40,40] iota(), iota_dimension=1\n g = s32[3] constant({20,30,40})\n y = f32[90,40] "
     "ragged-dot(x, w, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
     "rhs_group_dims={0}"},
};

INSTANTIATE_TEST_SUITE_P(Steps, LoopAllocations, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hlo::loop_allocations_test
