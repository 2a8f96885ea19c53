// Tests instructions on complex arrays in double-double against values that mpmath computes with 500 bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "debug/shadow/complex_double_double.h"
#include "debug/shadow/shadow.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::debug::extended_complex_test {
namespace {

constexpr char kText[] = R"(HloModule m
add { p = c128[] parameter(0)  q = c128[] parameter(1)  ROOT s = c128[] add(p, q) }
times { p = c128[] parameter(0)  q = c128[] parameter(1)  ROOT s = c128[] multiply(p, q) }
root { p = c128[] parameter(0)  q = c128[] parameter(1)  pp = c128[] multiply(p, p)
  s = c128[] add(pp, q)  ROOT r = c128[] sqrt(s) }
ENTRY e {
  a = c128[2,3] parameter(0)
  b = c128[3,2] parameter(1)
  x = c128[1,5,2] parameter(2)
  k = c128[3,2,2] parameter(3)
  h = c128[3,3] parameter(4)
  t = c128[3,3] parameter(5)
  r = c128[3,2] parameter(6)
  u = c128[3] parameter(7)
  zero = c128[] constant((0, 0))
  one = c128[] constant((1, 0))
  dot = c128[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  convolution = c128[1,3,2] convolution(x, k), window={size=3}, dim_labels=b0f_0io->b0f
  sum = c128[2] reduce(a, zero), dimensions={1}, to_apply=add
  product = c128[2] reduce(a, one), dimensions={1}, to_apply=times
  flat = c128[10] reshape(x)
  window = c128[9] reduce-window(flat, one), window={size=2}, to_apply=times
  places = s32[3,1] constant({{1}, {4}, {1}})
  scatter = c128[10] scatter(flat, places, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=times
  b23 = c128[2,3] reshape(b)
  map = c128[2,3] map(a, b23), dimensions={0,1}, to_apply=root
  lower = c128[3,3] cholesky(h), lower=true
  upper = c128[3,3] cholesky(h), lower=false
  solution = c128[3,2] triangular-solve(t, r), left_side=true, lower=true, unit_diagonal=false, transpose_a=ADJOINT
  transposed = c128[3,2] triangular-solve(t, r), left_side=true, lower=false, unit_diagonal=false, transpose_a=TRANSPOSE
  call = (c128[3,3], s32[]) custom-call(h), custom_call_target="lapack_zpotrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  potrf = c128[3,3] get-tuple-element(call), index=0
  trsm = c128[3,2] custom-call(t, r), custom_call_target="lapack_ztrsm_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={diag = 78 : ui8, side = 76 : ui8, trans_x = 67 : ui8, uplo = 76 : ui8}
  ROOT all = (c128[2,2], c128[1,3,2], c128[2], c128[2], c128[9], c128[10], c128[2,3], c128[3,3], c128[3,3], c128[3,2], c128[3,2], c128[3,3], c128[3,2]) tuple(dot, convolution, sum, product, window, scatter, map, lower, upper, solution, transposed, potrf, trsm)
}
)";

struct Expected {
  const char* name;
  std::vector<ComplexDoubleDouble> elements;
};
// clang-format off
const std::vector<std::vector<std::complex<double>>> kParameters = {
    {{0x1.30d7a000007f2p+0, 0x1.856bf9767fa00p-7}, {0x1.205b8000028c8p-3, -0x1.bc5d4ba08bfd0p+0}, {0x1.e4f13fffff024p-1, -0x1.b3c36113b1e4cp+0}, {-0x1.e022ffffff153p-1, -0x1.2ddb74e2773d2p+0}, {0x1.eb2b400001e72p-1, -0x1.8c92a4f168780p-6}, {-0x1.e1084000002b0p-2, 0x1.7835e7498dbf8p-1}},
    {{0x1.1160a000003bep+0, 0x1.2460ea32c3244p-1}, {-0x1.b0ab400000b48p+0, -0x1.f7ee2859350b8p-1}, {0x1.f21bdfffff37cp-1, 0x1.158d4a4452610p-2}, {-0x1.f33b400000e0fp+0, -0x1.d98daa0709a68p-1}, {0x1.6042600000c4dp-1, 0x1.67d96a7d575d0p-1}, {-0x1.ac537fffffef1p-1, -0x1.217b5e22ebbd0p-3}},
    {{-0x1.13c00000061aap-3, 0x1.931c5fc648238p+0}, {-0x1.33f7cfffff0b3p+0, 0x1.beb9753c8977ap+0}, {-0x1.ee13500000150p+0, 0x1.479342c0d8e00p+0}, {0x1.df57bfffffe62p+0, -0x1.d9ca3b9cf781cp-1}, {-0x1.29206fffff1bep+0, -0x1.283bf3f673160p+0}, {0x1.4db5fffffd225p-2, 0x1.8a4aea182f4c0p-4}, {0x1.cf9b2fffff43ep+0, 0x1.47e6f7d0da80ep+0}, {0x1.1e88000018c26p-5, 0x1.a06f2b5d7cfecp-1}, {-0x1.13102fffff346p+0, -0x1.c62499b1d8a00p-5}, {-0x1.e691d00000fe3p+0, -0x1.101a151837100p-5}},
    {{-0x1.935f0000032b3p-3, -0x1.6fea724aba932p+0}, {-0x1.3f91e00000bc5p-1, 0x1.5c65862a68d62p+0}, {-0x1.fe377fffff7fap+0, 0x1.5b3fdc32fa2b4p+0}, {-0x1.8513dfffff25bp+0, 0x1.b445b30300300p-1}, {0x1.9b343fffff946p+0, -0x1.05b078ef5da50p-1}, {-0x1.b6af3ffffc028p-2, 0x1.6d4480271dfd8p-2}, {-0x1.1d4460000049bp-1, -0x1.cc7b67254f870p-1}, {-0x1.ce92d00000cbfp+0, 0x1.56b54dd4bbb36p+0}, {-0x1.b70b3ffffe41fp-1, -0x1.00b10583b501ep+0}, {-0x1.dfc9fffffff4cp-1, -0x1.3d98361d0851ap+0}, {-0x1.03617ffffe2cep-1, 0x1.897d2c03b6a48p+0}, {0x1.3f73100000430p+0, 0x1.a758977017cd2p+0}},
    {{0x1.3d5e9b5e98526p+3, 0}, {-0x1.2bf2b248cf16cp+1, -0x1.ecb2dfeee1a1dp-3}, {0x1.28665070fadc1p+0, -0x1.336eec61ffb46p+0}, {-0x1.2bf2b248cf16cp+1, 0x1.ecb2dfeee1a1dp-3}, {0x1.1f4e45df888a7p+3, 0}, {-0x1.6e897427e0113p+0, 0x1.9d17d626780efp-1}, {0x1.28665070fadc1p+0, 0x1.336eec61ffb46p+0}, {-0x1.6e897427e0113p+0, -0x1.9d17d626780efp-1}, {0x1.3453f248b738cp+2, 0}},
    {{0x1.8000000000000p+0, 0x1.0000000000000p-2}, {-0x1.99ec800005c43p-3, -0x1.3af9a260c1cd6p+0}, {-0x1.a31bc0000050fp+0, -0x1.a2b82a5721946p+0}, {-0x1.0b226000007bcp+0, 0x1.1d277e677f228p-2}, {0x1.0000000000000p+1, 0x1.0000000000000p-2}, {-0x1.60bb7fffffce8p-2, -0x1.f85b8d75a31f8p-2}, {-0x1.4b5c200001c07p-1, -0x1.c7a5826cfbefcp-1}, {0x1.dee8dfffff407p+0, 0x1.bd1661ded5700p-7}, {0x1.4000000000000p+1, 0x1.0000000000000p-2}},
    {{-0x1.d4f3000001019p-1, -0x1.9a9842b55aca0p-2}, {-0x1.bb86fffff8bcap-3, 0x1.650d55683c424p+0}, {0x1.7dd71fffff0b3p+0, -0x1.defb8fc9930d0p+0}, {0x1.ad14800001953p-1, -0x1.b5f8f840f5c20p-4}, {0x1.65133ffffc006p-2, -0x1.bc546023b7c78p-2}, {0x1.b512300000a6bp+0, 0x1.6bfe683bec62ap+0}},
    {{0x1.e3932fffff7f3p+0, -0x1.90563ee35a822p+0}, {-0x1.61ea9ffffff49p+0, 0x1.74e3c51be03dcp-1}, {0x1.c416200000718p+0, 0x1.2dc4d9d8b4c80p-1}},
};
const std::vector<Expected> kExpected = {
    {"dot",
     {{{0x1.dc32e40538ea3p+1, -0x1.a8edc493afcd2p-53}, {-0x1.7699c12a03d67p+0, -0x1.54bb6e737e578p-54}},
      {{-0x1.3a7ce491d8164p+2, 0x1.8a69d8c9a48e0p-54}, {0x1.ad295a8d4c54cp+1, -0x1.25b3e529ce894p-53}},
      {{-0x1.d2a72d4a9d197p-3, 0x1.504ece6cd87c0p-58}, {-0x1.62018062228a4p+0, 0x1.348c255d3a31cp-54}},
      {{-0x1.f1a128e07e769p-1, 0x1.1dde404792a98p-55}, {0x1.87084378ca9bep+0, -0x1.0704ff7150ff0p-55}}}},
    {"convolution",
     {{{-0x1.3d5f697fb8da7p+1, -0x1.cff14a6c7058bp-53}, {-0x1.7d4fd8f1c395dp-1, -0x1.aa1cc97ebd2f0p-57}},
      {{-0x1.cbcbed2b534ccp+1, 0x1.57ccec3b515c2p-56}, {0x1.4839ad2f40746p+0, -0x1.bfff9285221b0p-54}},
      {{-0x1.160fe1c217e98p+2, 0x1.c038a66080514p-53}, {0x1.02b4041292acfp+1, -0x1.84c5a4b2a782cp-55}},
      {{-0x1.e7d5117ba0a43p+1, 0x1.380e960290851p-54}, {-0x1.3a0b657509591p+1, 0x1.34a37babf48fcp-54}},
      {{0x1.f86abecf1144cp+1, -0x1.0086264ae4cc7p-53}, {0x1.037dd20359c59p+0, -0x1.5d9db69847f0ap-54}},
      {{-0x1.05515d1f2ce6bp+1, -0x1.f92a00022e8c6p-54}, {-0x1.ecf1cf881cb47p+1, -0x1.3b8cb0392b638p-53}}}},
    {"sum",
     {{{0x1.23add8000028ep+1, 0x1.0000000000000p-52}, {-0x1.b68aea60a8714p+1, 0}},
      {{-0x1.caf7bffffa872p-2, 0}, {-0x1.dfcb2f45d7fd0p-2, 0}}}},
    {"product",
     {{{-0x1.ab29b79ac3d7ep+1, -0x1.361ec1656b2eap-54}, {-0x1.2369b4983a8a8p+1, 0x1.803939b6c5ba9p-54}},
      {{0x1.401fef64b0b1ap+0, -0x1.9c0cc3842bdcdp-55}, {-0x1.4a5155e2ee298p-3, -0x1.c77536d73be6dp-62}}}},
    {"window",
     {{{-0x1.4afc189739085p+1, 0x1.5e68195a03d18p-53}, {-0x1.108ba3a19e8c8p+1, 0x1.411ae7292716fp-53}},
      {{0x1.6bf9146e42124p-4, 0x1.86944ad0fbc00p-58}, {-0x1.3a0f9178b2ad0p+2, 0x1.76066141ee5e0p-52}},
      {{-0x1.36ff47b3240d6p+1, -0x1.dcc9407c0e500p-55}, {0x1.0ba4344b8e727p+2, -0x1.032074dc4d1a0p-52}},
      {{-0x1.9f3cf7ba44ecap+1, -0x1.8c69d367907f0p-54}, {-0x1.17b9e42a7d58bp+0, -0x1.a3028b92b32e0p-55}},
      {{-0x1.1141b15374958p-2, -0x1.fd2f35e0553b0p-57}, {-0x1.f4914ed407548p-2, -0x1.ee8c75e0be400p-57}},
      {{0x1.de141a434eff8p-2, -0x1.64eedd6357d50p-57}, {0x1.2ef9d79cdc22ep-1, -0x1.dbbba455350b4p-55}},
      {{-0x1.f4f75cc346823p-1, -0x1.58191f2fae2a6p-56}, {0x1.848ad2458fa3bp+0, -0x1.f92a8e1ebacdbp-55}},
      {{0x1.ec111069be398p-8, -0x1.f1d8865c86400p-65}, {-0x1.c06fe7b08d350p-1, 0x1.f198334c0d0e8p-55}},
      {{0x1.052a5cbf1d361p+1, -0x1.2a0a442d0a5b8p-54}, {0x1.20e25833e9592p-3, 0x1.cad53e37b4400p-57}}}},
    {"scatter",
     {{{-0x1.13c00000061aap-3, 0}, {0x1.931c5fc648238p+0, 0}},
      {{-0x1.1f6cfacebe8b2p+1, 0x1.46c17db1e89a0p-53}, {0x1.2d324aa6ec10fp+3, 0x1.166716b01d904p-51}},
      {{-0x1.ee13500000150p+0, 0}, {0x1.479342c0d8e00p+0, 0}},
      {{0x1.df57bfffffe62p+0, 0}, {-0x1.d9ca3b9cf781cp-1, 0}},
      {{0x1.3942b1d5c82f8p+1, 0x1.a0496f2de1b80p-58}, {0x1.8248d768f9331p-1, 0x1.ce8a68d537bc0p-56}},
      {{0x1.4db5fffffd225p-2, 0}, {0x1.8a4aea182f4c0p-4, 0}},
      {{0x1.cf9b2fffff43ep+0, 0}, {0x1.47e6f7d0da80ep+0, 0}},
      {{0x1.1e88000018c26p-5, 0}, {0x1.a06f2b5d7cfecp-1, 0}},
      {{-0x1.13102fffff346p+0, 0}, {-0x1.c62499b1d8a00p-5, 0}},
      {{-0x1.e691d00000fe3p+0, 0}, {-0x1.101a151837100p-5, 0}}}},
    {"map",
     {{{0x1.967ed0e780bf3p+0, 0x1.d9d4b6d24dc4dp-55}, {0x1.82845565beb45p-3, 0x1.fc3596a3d7c1fp-59}},
      {{0x1.585f109ec1f2ep-2, -0x1.5e8f62bbec98ep-56}, {-0x1.18540998bbdddp+1, -0x1.8f5f06f164e09p-53}},
      {{0x1.064b5ebcb8a41p+0, 0x1.e0605ba64b823p-55}, {-0x1.70f7ebb847865p+0, 0x1.fdd31a9b125f4p-55}},
      {{0x1.970a15cf7bb24p-2, -0x1.782955df12855p-59}, {0x1.9e4c6eb645dc4p+0, 0x1.8324bc2f1ac1bp-55}},
      {{0x1.4b08f0d2d7e42p+0, -0x1.ad449da8f4efep-55}, {0x1.03e52fc6aed5ap-2, 0x1.62b721959de27p-59}},
      {{0x1.76efd8f43a2d5p-2, -0x1.0edc2e41bbe8dp-57}, {-0x1.22bf1212a1823p+0, 0x1.42add09497585p-56}}}},
    {"lower",
     {{{0x1.931abe8da2a1cp+1, -0x1.d5ecc3a5d6530p-53}, {0, 0}},
      {{0, 0}, {0, 0}},
      {{0, 0}, {0, 0}},
      {{-0x1.7cfa06188ded5p-1, -0x1.4d19a5d31f032p-55}, {0x1.38e612d767b77p-4, 0x1.3c3b77e5d9d91p-64}},
      {{0x1.7364db80bb400p+1, 0x1.de1def116db73p-53}, {0, 0}},
      {{0, 0}, {0, 0}},
      {{0x1.78783fce6ab8ep-2, -0x1.d0817a4caf701p-58}, {0x1.867be78f3b840p-2, -0x1.c6536a45234c7p-57}},
      {{-0x1.a309fa12b10eep-2, 0x1.729a42065a928p-56}, {-0x1.5d62090654889p-3, -0x1.221898d44674cp-61}},
      {{0x1.0aac4861f9550p+1, 0x1.972a1e4993c0fp-53}, {0, 0}}}},
    {"upper",
     {{{0x1.931abe8da2a1cp+1, -0x1.d5ecc3a5d6530p-53}, {0, 0}},
      {{-0x1.7cfa06188ded5p-1, -0x1.4d19a5d31f032p-55}, {-0x1.38e612d767b77p-4, -0x1.3c3b77e5d9d91p-64}},
      {{0x1.78783fce6ab8ep-2, -0x1.d0817a4caf701p-58}, {-0x1.867be78f3b840p-2, 0x1.c6536a45234c7p-57}},
      {{0, 0}, {0, 0}},
      {{0x1.7364db80bb400p+1, 0x1.de1def116db73p-53}, {0, 0}},
      {{-0x1.a309fa12b10eep-2, 0x1.729a42065a928p-56}, {0x1.5d62090654889p-3, 0x1.221898d44674cp-61}},
      {{0, 0}, {0, 0}},
      {{0, 0}, {0, 0}},
      {{0x1.0aac4861f9550p+1, 0x1.972a1e4993c0fp-53}, {0, 0}}}},
    {"solution",
     {{{0x1.9b8835a5bc304p-4, 0x1.ebd813544a050p-58}, {-0x1.8a5dd6890ed27p-1, 0x1.8bed817aa80e9p-56}},
      {{0x1.f09cc40ebe52ep-2, -0x1.09044084f443ap-58}, {0x1.ca3d4c659ccbap-2, 0x1.5b75fc1e16549p-56}},
      {{0x1.60da62867c96ep-1, -0x1.74e3dafba01fbp-55}, {-0x1.66a67b255570bp-1, 0x1.894d876f56081p-55}},
      {{-0x1.5766f0f97ab2fp-4, 0x1.38d0b5b2cd512p-60}, {-0x1.4ca4e04df4b44p-1, 0x1.1bda8123e7b54p-58}},
      {{0x1.3e06b90a6bb4ep-3, -0x1.81446f86562dap-57}, {-0x1.43a93a68550d8p-3, -0x1.e6a74981446f8p-58}},
      {{0x1.3d5d1b3a9f37dp-1, -0x1.f0cac5b3f5dc8p-55}, {0x1.42ee6fb5cd07bp-1, -0x1.30288df0cac5bp-56}}}},
    {"transposed",
     {{{-0x1.4660a9a8f0cdbp-1, 0x1.9f22983759f23p-55}, {-0x1.49dfe7d6832eep-3, -0x1.14c1bacf914c2p-57}},
      {{0x1.51bbf7cc33491p-7, 0x1.306eb3e45306fp-61}, {0x1.db309f3b1d8b8p-1, -0x1.83759f2298376p-55}},
      {{0x1.35141f31fd5c0p-1, 0x1.a7e430416ca53p-56}, {-0x1.6b53ad92190d9p+0, 0x1.60ae3945c7d90p-56}},
      {{-0x1.24c230685893bp-3, 0x1.80c64f8cf99e6p-57}, {0x1.04a084a1b81e4p-4, -0x1.09362e2f0a485p-60}},
      {{0x1.ca03c9b404551p-4, 0x1.1b03a884db55bp-58}, {-0x1.915bb6d793764p-1, -0x1.c639640e7bb99p-57}},
      {{0x1.51d96408a204cp-3, -0x1.3caad943d5d61p-57}, {0x1.25b9df82e3b75p+0, 0x1.cb6db941dddaap-55}}}},
    {"potrf",
     {{{0x1.931abe8da2a1cp+1, -0x1.d5ecc3a5d6530p-53}, {0, 0}},
      {{-0x1.2bf2b248cf16cp+1, 0}, {-0x1.ecb2dfeee1a1dp-3, 0}},
      {{0x1.28665070fadc1p+0, 0}, {-0x1.336eec61ffb46p+0, 0}},
      {{-0x1.7cfa06188ded5p-1, -0x1.4d19a5d31f032p-55}, {0x1.38e612d767b77p-4, 0x1.3c3b77e5d9d91p-64}},
      {{0x1.7364db80bb400p+1, 0x1.de1def116db73p-53}, {0, 0}},
      {{-0x1.6e897427e0113p+0, 0}, {0x1.9d17d626780efp-1, 0}},
      {{0x1.78783fce6ab8ep-2, -0x1.d0817a4caf701p-58}, {0x1.867be78f3b840p-2, -0x1.c6536a45234c7p-57}},
      {{-0x1.a309fa12b10eep-2, 0x1.729a42065a928p-56}, {-0x1.5d62090654889p-3, -0x1.221898d44674cp-61}},
      {{0x1.0aac4861f9550p+1, 0x1.972a1e4993c0fp-53}, {0, 0}}}},
    {"trsm",
     {{{0x1.9b8835a5bc304p-4, 0x1.ebd813544a050p-58}, {-0x1.8a5dd6890ed27p-1, 0x1.8bed817aa80e9p-56}},
      {{0x1.f09cc40ebe52ep-2, -0x1.09044084f443ap-58}, {0x1.ca3d4c659ccbap-2, 0x1.5b75fc1e16549p-56}},
      {{0x1.60da62867c96ep-1, -0x1.74e3dafba01fbp-55}, {-0x1.66a67b255570bp-1, 0x1.894d876f56081p-55}},
      {{-0x1.5766f0f97ab2fp-4, 0x1.38d0b5b2cd512p-60}, {-0x1.4ca4e04df4b44p-1, 0x1.1bda8123e7b54p-58}},
      {{0x1.3e06b90a6bb4ep-3, -0x1.81446f86562dap-57}, {-0x1.43a93a68550d8p-3, -0x1.e6a74981446f8p-58}},
      {{0x1.3d5d1b3a9f37dp-1, -0x1.f0cac5b3f5dc8p-55}, {0x1.42ee6fb5cd07bp-1, -0x1.30288df0cac5bp-56}}}},
};
// clang-format on

ComplexDoubleDouble ElementOf(const ShadowValue& value, int64_t i) {
  const std::complex<double> high = value.wide.span<std::complex<double>>()[i];
  const std::complex<double> low =
      value.low.shape().IsValid() ? value.low.span<std::complex<double>>()[i] : std::complex<double>();
  return {{high.real(), low.real()}, {high.imag(), low.imag()}};
}

TEST(ExtendedComplex, ArraysHave98Bits) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const SourceText>("m.hlo", kText);
  std::shared_ptr<Module> parsed = Parse(source, diagnostics);
  ASSERT_NE(parsed, nullptr) << diagnostics.ToStatus(*source);
  const CheckedModule module = *Check(std::move(parsed), diagnostics);
  std::vector<Literal> arguments;
  for (size_t i = 0; i < kParameters.size(); ++i) {
    const Shape& shape = module.module().entry()->parameter(static_cast<int64_t>(i))->shape();
    Literal& argument = arguments.emplace_back(*Literal::Create(shape));
    ASSERT_EQ(argument.element_count(), static_cast<int64_t>(kParameters[i].size()));
    std::copy(kParameters[i].begin(), kParameters[i].end(),
              argument.mutable_span<std::complex<double>>().begin());
  }
  const absl::StatusOr<ShadowReport> report = RunShadow(module, arguments, {});
  ASSERT_TRUE(report.ok()) << report.status();
  for (size_t k = 0; k < kExpected.size(); ++k) {
    const ShadowValue& value = report->result.elements[k];
    for (size_t i = 0; i < kExpected[k].elements.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const ComplexDoubleDouble& want = kExpected[k].elements[i];
      const double size = std::max(1.0, std::abs(want.high()));
      EXPECT_LE(std::abs((ElementOf(value, at) - want).high()), 0x1p-98 * size)
          << kExpected[k].name << ": " << i;
      // The declared value is within its bound.
      EXPECT_LE(std::abs(value.declared.span<std::complex<double>>()[at] - want.high()),
                value.bound.span<double>()[at] + 0x1p-52 * size)
          << kExpected[k].name << ": " << i;
    }
  }
}

}  // namespace
}  // namespace hlo::debug::extended_complex_test
