// Tests factorisations, triangular solves, batch normalisations and ragged dots in double-double against
// values that mpmath computes with 400 bits.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "shadow_helpers.h"

namespace hlo::debug::extended_results_test {
namespace {

using test::Checked;

constexpr char kText[] = R"(HloModule m
ENTRY e {
  a = f64[3,3] parameter(0)
  t = f64[3,3] parameter(1)
  b = f64[3,2] parameter(2)
  c = f64[2,3] parameter(3)
  x = f64[2,2,3] parameter(4)
  dy = f64[2,2,3] parameter(5)
  scale = f64[2] parameter(6)
  offset = f64[2] parameter(7)
  mean = f64[2] parameter(8)
  var = f64[2] parameter(9)
  p = f64[4,3] parameter(10)
  q = f64[2,3,2] parameter(11)
  s = f64[3,4] parameter(12)
  w = f64[4,2] parameter(13)
  l = f64[3,3] cholesky(a), lower=true
  u = f64[3,3] cholesky(a), lower=false
  x0 = f64[3,2] triangular-solve(t, b), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
  x1 = f64[3,2] triangular-solve(t, b), left_side=true, lower=true, unit_diagonal=true, transpose_a=TRANSPOSE
  x2 = f64[3,2] triangular-solve(t, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  x3 = f64[3,2] triangular-solve(t, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE
  x4 = f64[3,2] triangular-solve(t, b), left_side=true, lower=false, unit_diagonal=true, transpose_a=NO_TRANSPOSE
  x5 = f64[3,2] triangular-solve(t, b), left_side=true, lower=false, unit_diagonal=true, transpose_a=TRANSPOSE
  x6 = f64[3,2] triangular-solve(t, b), left_side=true, lower=false, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  x7 = f64[3,2] triangular-solve(t, b), left_side=true, lower=false, unit_diagonal=false, transpose_a=TRANSPOSE
  x8 = f64[2,3] triangular-solve(t, c), left_side=false, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
  x9 = f64[2,3] triangular-solve(t, c), left_side=false, lower=true, unit_diagonal=true, transpose_a=TRANSPOSE
  x10 = f64[2,3] triangular-solve(t, c), left_side=false, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  x11 = f64[2,3] triangular-solve(t, c), left_side=false, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE
  x12 = f64[2,3] triangular-solve(t, c), left_side=false, lower=false, unit_diagonal=true, transpose_a=NO_TRANSPOSE
  x13 = f64[2,3] triangular-solve(t, c), left_side=false, lower=false, unit_diagonal=true, transpose_a=TRANSPOSE
  x14 = f64[2,3] triangular-solve(t, c), left_side=false, lower=false, unit_diagonal=false, transpose_a=NO_TRANSPOSE
  x15 = f64[2,3] triangular-solve(t, c), left_side=false, lower=false, unit_diagonal=false, transpose_a=TRANSPOSE
  bt = (f64[2,2,3], f64[2], f64[2]) batch-norm-training(x, scale, offset), epsilon=0.001, feature_index=1
  bt0 = f64[2,2,3] get-tuple-element(bt), index=0
  bt1 = f64[2] get-tuple-element(bt), index=1
  bt2 = f64[2] get-tuple-element(bt), index=2
  bi = f64[2,2,3] batch-norm-inference(x, scale, offset, mean, var), epsilon=0.001, feature_index=1
  bg = (f64[2,2,3], f64[2], f64[2]) batch-norm-grad(x, scale, mean, var, dy), epsilon=0.001, feature_index=1
  bg0 = f64[2,2,3] get-tuple-element(bg), index=0
  bg1 = f64[2] get-tuple-element(bg), index=1
  bg2 = f64[2] get-tuple-element(bg), index=2
  g = s32[2] constant({1, 2})
  r = f64[4,2] ragged-dot(p, q, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
  rk = f64[2,3,2] ragged-dot(s, w, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}
  ROOT out = (f64[3,3], f64[3,3], f64[3,2], f64[3,2], f64[3,2], f64[3,2], f64[3,2], f64[3,2], f64[3,2], f64[3,2], f64[2,3], f64[2,3], f64[2,3], f64[2,3], f64[2,3], f64[2,3], f64[2,3], f64[2,3], f64[2,2,3], f64[2], f64[2], f64[2,2,3], f64[2,2,3], f64[2], f64[2], f64[4,2], f64[2,3,2]) tuple(l, u, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, bt0, bt1, bt2, bi, bg0, bg1, bg2, r, rk)
}
)";
const std::vector<std::vector<double>> kParameters = {
    {0x1.e7e12687222f3p+1, 0x1.5c57c11718185p-1, 0x1.65f6426f4349dp-4, 0x1.5c57c11718185p-1,
     0x1.0efd305fa7ca5p+2, 0x1.01671bb327919p+2, 0x1.65f6426f4349dp-4, 0x1.01671bb327919p+2,
     0x1.e327894c35836p+2},
    {0x1.8000000000000p+0, -0x1.b877d1e131f48p+0, -0x1.a31c20b97748ap+0, -0x1.352b5de1bc450p-2,
     0x1.4000000000000p+1, -0x1.813a0f06b9f7ep+0, -0x1.1b673eaf47a68p+0, 0x1.04fbb5953f48cp-1,
     0x1.c000000000000p+1},
    {0x1.3bd04d2bcc158p-2, -0x1.a7325fe69c3b0p-2, 0x1.e7af6b1c4c68cp+0, -0x1.d04ca138bf348p+0,
     0x1.6f125b110bdf4p+0, -0x1.aee15394b34dcp-1},
    {-0x1.6c48653acace2p+0, -0x1.876178b6ec4cep+0, -0x1.883aae7092facp-1, 0x1.43b6a0d74bdd4p+0,
     -0x1.46efa9f2cf122p+0, 0x1.4e3bf92474e68p-2},
    {0x1.51c7eaa301851p+3, 0x1.2faab9018f136p+3, 0x1.461c7d9b64ce4p+3, 0x1.0809781907a71p+3,
     0x1.07a102d9e776ap+3, 0x1.1a5cdae7f1505p+3, 0x1.571758a881ed1p+3, 0x1.36bb583c6f877p+3,
     0x1.2835f977731afp+3, 0x1.4af3b0eec66a8p+3, 0x1.3a01f215c90a9p+3, 0x1.265ec3d3f98e2p+3},
    {0x1.2d71d0970298cp+0, 0x1.978a64c7a2ea0p-1, -0x1.060b907585c68p+0, 0x1.30d6ea99ba408p-2,
     0x1.9cd1cbf5ff900p-4, 0x1.80240b2bf702ep+0, 0x1.d5e76972e6cc0p-1, -0x1.b24daf641b434p-1,
     0x1.ebb2f4895ea56p+0, -0x1.8719c3be78fc4p+0, -0x1.4f5e71ab8a168p-2, 0x1.074ff3abc87c0p+0},
    {-0x1.645e2a888a9a2p+0, -0x1.69a83940b93c0p-5},
    {-0x1.d7da0d84dc8f2p+0, 0x1.58818e13deef8p-1},
    {0x1.0eebaa476f06ap+0, 0x1.2b1d3f9404268p-2},
    {0x1.9a16db0259670p+0, 0x1.b0a524dc20f0fp-1},
    {0x1.8ff70459a54a4p-1, 0x1.8289fcfe4c288p-2, 0x1.4740319802398p-2, -0x1.66c413b996350p-3,
     0x1.5c20838bfaf40p+0, 0x1.c75a7b228d5ecp+0, -0x1.a85f726c75360p-4, 0x1.502f0810a3d68p-1,
     -0x1.c1dfdfa2695f0p+0, 0x1.9ca7d94f426dcp-1, 0x1.2d51e493f4488p-1, 0x1.f8ee245732c78p+0},
    {0x1.49a6a6b90ac1ap+0, -0x1.b925fa488b14cp-1, -0x1.d3cc5a39d5db0p-2, 0x1.59669858d5560p-1,
     -0x1.e8e5438798d40p+0, -0x1.39cace9401380p-3, -0x1.53eb2031cd638p+0, -0x1.88180a40ceab0p+0,
     -0x1.c3a173e411c4ap+0, 0x1.12abab24ca91cp+0, -0x1.7b8e3ca17d4f2p+0, -0x1.027141cd11b06p+0},
    {-0x1.beab862a97108p-2, 0x1.7c560abf8d880p+0, -0x1.ad7c186ab4828p+0, -0x1.a041be64b75f0p-3,
     0x1.9503011c81dc0p-3, 0x1.8895c51186cbap+0, 0x1.46f14b371b554p+0, 0x1.74b858466d982p+0,
     -0x1.c5cb2d4b29960p-1, -0x1.5af20a06edc98p-2, -0x1.213c955139100p-1, 0x1.8969d830b24cep+0},
    {0x1.d4b77d1d8943ep+0, -0x1.6574fd7560c20p+0, -0x1.4b8d946ca2414p+0, -0x1.1279e62bb5b9cp+0,
     -0x1.1110587e74b7cp+0, -0x1.ecbdc2b3d7400p-5, 0x1.6d0cc45d5c0b8p-2, -0x1.e5e519b7d3638p-1},
};
struct Expected {
  const char* name;
  std::vector<std::pair<double, double>> elements;  // The high and the low part.
};
const std::vector<Expected> kExpected = {
    {"l",
     {{0x1.f3cb548941dd8p+0, 0x1.a6d709007a38cp-55},
      {0x0.0p+0, 0x0.0p+0},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.64d990118f84dp-2, 0x1.f68247cc08db7p-56},
      {0x1.0395510dc3f56p+1, -0x1.93859e0653cf6p-53},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.6eb434c788148p-5, -0x1.1611db2e7e5d9p-60},
      {0x1.f9bae29ac2bd7p+0, -0x1.398e76a0c7376p-56},
      {0x1.e8ba9b7adef9dp+0, -0x1.c81f3c4833308p-55}}},
    {"u",
     {{0x1.f3cb548941dd8p+0, 0x1.a6d709007a38cp-55},
      {0x1.64d990118f84dp-2, 0x1.f68247cc08db7p-56},
      {0x1.6eb434c788148p-5, -0x1.1611db2e7e5d9p-60},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.0395510dc3f56p+1, -0x1.93859e0653cf6p-53},
      {0x1.f9bae29ac2bd7p+0, -0x1.398e76a0c7376p-56},
      {0x0.0p+0, 0x0.0p+0},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.e8ba9b7adef9dp+0, -0x1.c81f3c4833308p-55}}},
    {"x0",
     {{0x1.3bd04d2bcc158p-2, 0x0.0p+0},
      {-0x1.a7325fe69c3b0p-2, 0x0.0p+0},
      {0x1.ff85e9eb8c09cp+0, 0x1.f1f4a26979700p-57},
      {-0x1.f03e191f5e0f0p+0, 0x1.ae94350640640p-54},
      {0x1.8379132830a48p-1, -0x1.4a71bbad0c3bfp-56},
      {-0x1.3e74074a787c2p-2, -0x1.9a5792a1875f4p-57}}},
    {"x1",
     {{0x1.2008d7fd751d9p+1, -0x1.bf068f5833aa2p-53},
      {-0x1.c353ce938cd64p+0, -0x1.12d1ed51ab74dp-56},
      {0x1.2c93a32f021e2p+0, -0x1.05450d141c5c0p-55},
      {-0x1.627b80dca00a6p+0, -0x1.ab0a4ba52cf60p-55},
      {0x1.6f125b110bdf4p+0, 0x0.0p+0},
      {-0x1.aee15394b34dcp-1, 0x0.0p+0}}},
    {"x2",
     {{0x1.a515bc3a65720p-3, 0x0.0p+0},
      {-0x1.1a21954468275p-2, -0x1.5555555555555p-56},
      {0x1.92dc9951f8a9bp-1, -0x1.3422e41b1a09ap-55},
      {-0x1.8479d1fdba7c6p-1, -0x1.67ea721b770cdp-56},
      {0x1.70c2c4fe0ec21p-2, -0x1.4b590a6f2e2aap-57},
      {-0x1.bc9a3692f74afp-3, 0x1.b7b20dbc11e89p-61}}},
    {"x3",
     {{0x1.49ff8f6043589p-1, -0x1.399a903a9a75bp-56},
      {-0x1.2da2981918c92p-1, -0x1.b5d2b07043119p-55},
      {0x1.5b6169d1c5bf1p-1, 0x1.5e7bc3fdb39dbp-55},
      {-0x1.5a56a5776d44fp-1, -0x1.1126ecb80a46ep-56},
      {0x1.a382b1380d917p-2, -0x1.2492492492492p-57},
      {-0x1.ec6f3af3160fbp-3, -0x1.b6db6db6db6dbp-57}}},
    {"x4",
     {{0x1.34aca1c149766p+3, -0x1.e60a4e8d7b71bp-51},
      {-0x1.c5cac9670ff64p+2, -0x1.7f78f607c848cp-53},
      {0x1.0403517152630p+2, 0x1.a21ab1340a180p-56},
      {-0x1.8a3ef65ee57c5p+1, -0x1.9742a06654240p-56},
      {0x1.6f125b110bdf4p+0, 0x0.0p+0},
      {-0x1.aee15394b34dcp-1, 0x0.0p+0}}},
    {"x5",
     {{0x1.3bd04d2bcc158p-2, 0x0.0p+0},
      {-0x1.a7325fe69c3b0p-2, 0x0.0p+0},
      {0x1.37c3f03a66cf2p+1, -0x1.9ae7d35f7f740p-54},
      {-0x1.432ae5a2ca761p+1, 0x1.55fc97d7ea680p-54},
      {0x1.66a7515819595p+2, 0x1.f55c0cc69520fp-52},
      {-0x1.544ff0a0a0ed0p+2, 0x1.46030340e8e12p-52}}},
    {"x6",
     {{0x1.cf45f35424e56p+0, -0x1.6503643b8fe03p-54},
      {-0x1.893e8b8ad3dfdp+0, -0x1.70e9a2f5bbb8bp-56},
      {0x1.0233a2eb6eb19p+0, 0x1.8849e7ce496e6p-54},
      {-0x1.bd8a665a6fc49p-1, 0x1.2a8e7a7dcf4e6p-55},
      {0x1.a382b1380d917p-2, -0x1.2492492492492p-57},
      {-0x1.ec6f3af3160fbp-3, -0x1.b6db6db6db6dbp-57}}},
    {"x7",
     {{0x1.a515bc3a65720p-3, 0x0.0p+0},
      {-0x1.1a21954468275p-2, -0x1.5555555555555p-56},
      {0x1.ce996112a42c1p-1, -0x1.2dc414aa218cdp-56},
      {-0x1.d48675454f369p-1, -0x1.b001d12671eabp-55},
      {0x1.c9e3003dc91e7p-1, -0x1.3b6d887b584d8p-55},
      {-0x1.8687efd6779fbp-1, 0x1.23270cdc3b99dp-55}}},
    {"x8",
     {{-0x1.4eb0064ef3d9ap+1, -0x1.6034cf09fbf0ap-54},
      {-0x1.236a287c8ac67p+0, 0x1.bcbb8b6740420p-55},
      {-0x1.883aae7092facp-1, 0x0.0p+0},
      {0x1.30a5a8524b657p+0, -0x1.a03b93f9670d3p-55},
      {-0x1.71875b5001170p+0, -0x1.f5cc444b90070p-54},
      {0x1.4e3bf92474e68p-2, 0x0.0p+0}}},
    {"x9",
     {{-0x1.6c48653acace2p+0, 0x0.0p+0},
      {-0x1.f55dbeb30b4b4p+0, -0x1.6e5ed24521d40p-55},
      {-0x1.57d4335844207p+0, -0x1.6ad3c03bef01fp-54},
      {0x1.43b6a0d74bdd4p+0, 0x0.0p+0},
      {-0x1.ca6630a1c7c4ep-1, -0x1.75bc8cd25dc00p-58},
      {0x1.1760880249a4ap+1, -0x1.fe352ad91ec26p-58}}},
    {"x10",
     {{-0x1.396bad201056ap+0, 0x1.c17d0125608b7p-54},
      {-0x1.2241558c4efa3p-1, -0x1.33f263cb24833p-56},
      {-0x1.c0431080a7fa0p-3, 0x0.0p+0},
      {0x1.9c409ce28b6f9p-1, -0x1.1e3b0af323804p-55},
      {-0x1.0f48cdc19b259p-1, -0x1.aecdc690afa49p-59},
      {0x1.7dfb65e08599bp-4, 0x1.b6db6db6db6dbp-58}}},
    {"x11",
     {{-0x1.e5b5dc4e63bd8p-1, 0x0.0p+0},
      {-0x1.73c374d4894dbp-1, -0x1.2e7faf89e6e33p-55},
      {-0x1.a71a9f319a7bcp-2, 0x1.e176ebfdb3fe5p-56},
      {0x1.af9e2bc9ba7c5p-1, 0x1.5555555555555p-55},
      {-0x1.a2d8749383a5ep-2, 0x1.be7862fb1a333p-58},
      {0x1.ad890b4694c8cp-2, 0x1.62573fd599d6fp-56}}},
    {"x12",
     {{-0x1.6c48653acace2p+0, 0x0.0p+0},
      {-0x1.fd1433814a479p+1, -0x1.728ad848bfb20p-53},
      {-0x1.2293b0e71c65cp+3, -0x1.ce9e04a41be94p-57},
      {0x1.43b6a0d74bdd4p+0, 0x0.0p+0},
      {0x1.cc137b91b6c96p-1, -0x1.a40f12b8f8300p-55},
      {0x1.dfd7a5828f628p+1, 0x1.9b1c1bf6c12bdp-54}}},
    {"x13",
     {{-0x1.d2a0fdda88847p+2, 0x1.d6ced4e077884p-52},
      {-0x1.573f09859a6b4p+1, -0x1.ac29260152aa0p-55},
      {-0x1.883aae7092facp-1, 0x0.0p+0},
      {0x1.c956651e5fd2cp-2, -0x1.7cda523820febp-58},
      {-0x1.926554735534bp-1, -0x1.86b18e379a1a0p-55},
      {0x1.4e3bf92474e68p-2, 0x0.0p+0}}},
    {"x14",
     {{-0x1.e5b5dc4e63bd8p-1, 0x0.0p+0},
      {-0x1.43b15ec3be96dp+0, -0x1.09e3a68d3309ap-54},
      {-0x1.34cc6e7c70f66p+0, -0x1.25d8ec5217b3ep-54},
      {0x1.af9e2bc9ba7c5p-1, 0x1.5555555555555p-55},
      {0x1.1c08259743a90p-4, 0x1.884838a687bbcp-59},
      {0x1.08e7892b81f4ep-1, -0x1.37b4ff48ad88ap-55}}},
    {"x15",
     {{-0x1.0522bfd575cb7p+1, 0x1.751253642d1c6p-53},
      {-0x1.7c8f078108227p-1, -0x1.11687db728d66p-56},
      {-0x1.c0431080a7fa0p-3, 0x0.0p+0},
      {0x1.b15ffb579f575p-2, -0x1.4573c03032b70p-56},
      {-0x1.d19e175bbe4cap-2, -0x1.7ddf70f6c4233p-56},
      {0x1.7dfb65e08599bp-4, 0x1.b6db6db6db6dbp-58}}},
    {"bt0",
     {{-0x1.a66e54323f2e7p+1, 0x1.8f633dcfe19b5p-54},
      {-0x1.220220ee26243p-1, 0x1.2274e188841c2p-55},
      {-0x1.2eba71e766e74p+1, -0x1.f6a10bfbbeef1p-54},
      {0x1.7195e7d996f67p-1, 0x1.f61b906fe118cp-58},
      {0x1.71f5173ac9950p-1, 0x1.6507a1bb9e767p-55},
      {0x1.60e2fb6fd5267p-1, 0x1.4e33b2fbf7b0cp-56},
      {-0x1.dce6d849681a6p+1, 0x1.c937c3ef04890p-54},
      {-0x1.21f1623fd81d6p+0, -0x1.68b341ab248cep-55},
      {0x1.fd5797f70d34cp-6, 0x1.253a4e2903142p-62},
      {0x1.349c5cfb95fb1p-1, -0x1.84a5cf6c51454p-55},
      {0x1.440d0a1d58118p-1, -0x1.5e3b1bf8a8445p-55},
      {0x1.55f1f2da15de9p-1, 0x1.2ff7fc3ac62f4p-56}}},
    {"bt1", {{0x1.3f994c9a0efe6p+3, -0x1.5555555555555p-51}, {0x1.238f4a1de6e83p+3, 0x1.5555555555555p-52}}},
    {"bt2", {{0x1.2cb93703e59fbp-2, 0x1.3c7f47c5489c7p-57}, {0x1.3325a6695b86fp-1, 0x1.e781d7684a79cp-55}}},
    {"bi",
     {{-0x1.8924bf120cccap+3, 0x1.50ab33701d944p-51},
      {-0x1.63a2690e4ce96p+3, -0x1.b79650218f9e8p-51},
      {-0x1.7c5001bf77e3dp+3, 0x1.16d5ea404134cp-51},
      {0x1.29d41b0353588p-2, 0x1.d4810f02365aap-56},
      {0x1.2a748b7f4df19p-2, 0x1.ee0027ef38e16p-57},
      {0x1.0dae7ff9b8a05p-2, 0x1.60904012a7799p-56},
      {-0x1.8efb780834995p+3, -0x1.6c17325dd3abcp-51},
      {-0x1.6b67078b0e9aep+3, 0x1.c745e4c281cfdp-54},
      {-0x1.5b6fb349dce48p+3, -0x1.9d616ca4f0920p-51},
      {0x1.861ad25864a45p-3, 0x1.3fada4f245f64p-57},
      {0x1.ba27b4419a33ap-3, -0x1.15f0be42fb466p-66},
      {0x1.f67a6cbc07b00p-3, 0x1.adf06a2c8401ap-59}}},
    {"bg0",
     {{0x1.b481c497c02f4p+4, -0x1.4503b28a22e60p-50},
      {0x1.88dd443a02a96p+4, -0x1.e9a983ccd8b8bp-51},
      {0x1.ca013858d1ab1p+4, -0x1.469e3087b03e3p-50},
      {0x1.fb8b4e9ef1132p-2, 0x1.e6d05eccf5ff7p-56},
      {0x1.0233274fb63fep-1, -0x1.50f2ebfb3e5ebp-55},
      {0x1.e55d5350fb536p-2, -0x1.03af01fda05a9p-59},
      {0x1.c0ea2520ae32ep+4, 0x1.bddf075621c87p-50},
      {0x1.b037edc6bcc1dp+4, 0x1.21f36f889dbb6p-52},
      {0x1.6a127988539dfp+4, 0x1.aa404e6c7fabep-51},
      {0x1.6e12d8d9fb307p-1, -0x1.4ab464cf6bb5cp-56},
      {0x1.3f80220c8bc76p-1, -0x1.9771f09a0eb67p-56},
      {0x1.0a621d91de8e4p-1, 0x1.0026c1052f27fp-55}}},
    {"bg1", {{0x1.4654fdd2eb52dp+4, 0x1.dfd6ee23b1930p-51}, {0x1.cf8a2c502a6fap+2, -0x1.f83bde9d0b4bep-52}}},
    {"bg2", {{0x1.7855a20b09588p+1, 0x0.0p+0}, {0x1.1285761432862p+0, 0x0.0p+0}}},
    {"r",
     {{0x1.c909471006da7p-3, 0x1.81ec93c3a9f00p-58},
      {-0x1.de9c846b71c11p-2, -0x1.03bffcf49cd80p-57},
      {-0x1.336f393e26454p+2, -0x1.bb4a907defe68p-52},
      {-0x1.17ea6f5e78c00p-4, -0x1.a3051f243ea00p-58},
      {0x1.95acb6eae0655p+0, 0x1.a575e8a35a540p-55},
      {0x1.5192152709174p+1, -0x1.80e789db01720p-53},
      {0x0.0p+0, 0x0.0p+0},
      {0x0.0p+0, 0x0.0p+0}}},
    {"rk",
     {{-0x1.98e8dc180706bp-1, 0x1.0bab9f6f00080p-57},
      {0x1.37d8a9074062dp-1, 0x1.e0ffbee550200p-55},
      {0x1.72c5e48f8d698p-2, 0x1.b569db3546900p-56},
      {-0x1.1ac3237376c7bp-2, 0x1.40b2271748000p-59},
      {-0x1.9f6e5869ac9a7p+0, 0x1.8f060e626b580p-54},
      {0x1.3cd1dbc21a181p+0, -0x1.3407bc878a800p-54},
      {-0x1.13c6ac54d4f68p-3, -0x1.49ad2d81f5000p-59},
      {-0x1.7df3eb50d1457p+0, -0x1.369db079e7400p-54},
      {-0x1.ac977a9ba5932p+1, 0x1.b9501b827a320p-54},
      {-0x1.b8958d5b5639ep+0, -0x1.66700807f3f60p-54},
      {0x1.0a97be5bbbbdap+0, 0x1.0c5c29f1227c0p-55},
      {0x1.96c7b05db0c05p-2, 0x1.a99fe56aed280p-56}}},
};

constexpr char kComplexText[] = R"(HloModule m
ENTRY e {
  ar = f64[6] parameter(0)
  ai = f64[6] parameter(1)
  br = f64[6] parameter(2)
  bi = f64[6] parameter(3)
  z = f64[2,5] parameter(4)
  a = c128[6] complex(ar, ai)
  b = c128[6] complex(br, bi)
  s = c128[6] add(a, b)
  sr = f64[6] real(s)
  si = f64[6] imag(s)
  d = c128[6] subtract(a, b)
  dr = f64[6] real(d)
  di = f64[6] imag(d)
  p = c128[6] multiply(a, b)
  pr = f64[6] real(p)
  pi = f64[6] imag(p)
  q = c128[6] divide(a, b)
  qr = f64[6] real(q)
  qi = f64[6] imag(q)
  n = c128[6] negate(p)
  nr = f64[6] real(n)
  ni = f64[6] imag(n)
  x = c128[6] exponential(a)
  xr = f64[6] real(x)
  xi = f64[6] imag(x)
  v = c128[6] reverse(p), dimensions={0}
  vr = f64[6] real(v)
  vi = f64[6] imag(v)
  m = f64[6] abs(p)
  f = c128[6] fft(a), fft_type=FFT, fft_length={6}
  fr = f64[6] real(f)
  fi = f64[6] imag(f)
  g = c128[6] fft(a), fft_type=IFFT, fft_length={6}
  gr = f64[6] real(g)
  gi = f64[6] imag(g)
  h = c128[2,3] fft(z), fft_type=RFFT, fft_length={2,5}
  hr = f64[2,3] real(h)
  hi = f64[2,3] imag(h)
  a4 = c128[4] slice(a), slice={[0:4]}
  i6 = f64[6] fft(a4), fft_type=IRFFT, fft_length={6}
  i7 = f64[7] fft(a4), fft_type=IRFFT, fft_length={7}
  ROOT out = (f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[6], f64[2,3], f64[2,3], f64[6], f64[7]) tuple(sr, si, dr, di, pr, pi, qr, qi, nr, ni, xr, xi, vr, vi, m, fr, fi, gr, gi, hr, hi, i6, i7)
}
)";
const std::vector<std::vector<double>> kComplexParameters = {
    {-0x1.861b50897adb0p-3, 0x1.e9a7c76d6d7e0p-3, 0x1.b2644263fef40p+0, -0x1.1965063152df0p-3,
     0x1.00f15dae44540p-5, 0x1.65eda2613ad68p-2},
    {-0x1.42e8661919cb8p+0, 0x1.8638e79cb9e80p-5, 0x1.09fff39d2c67cp-1, 0x1.2c022117d48a0p+0,
     -0x1.9f9e19c6d6092p+0, -0x1.92a25bdbb3508p-1},
    {-0x1.a327433b0c176p+0, 0x1.3d1374f1f7fcep+0, 0x1.8c2979a26b7f4p-1, -0x1.d51d5233c8bcap+0,
     0x1.edc41cb2b55eap+0, 0x1.dbe976b9fbbc4p+0},
    {0x1.3b3bbcbd29974p-1, 0x1.d958474cd61a0p-2, -0x1.5eb9de303d53cp+0, -0x1.f0a3a5958acd2p+0,
     0x1.d0ffa8815c9c0p-4, -0x1.c30508fb6fbaep+0},
    {-0x1.3d3a0b8f6a6a4p+0, -0x1.084017333fb70p+0, -0x1.e132079c66f1ap+0, -0x1.2772eab1e0280p-3,
     -0x1.e72b49a2db880p-3, 0x1.5ea53799004a6p+0, 0x1.395459de819a0p-4, 0x1.1f51424b4d844p-1,
     -0x1.dbbbfb4bc6000p-11, 0x1.4cb25715c1d2cp-1},
};
const std::vector<Expected> kComplexExpected = {
    {"sr",
     {{-0x1.d3eaad4c3b72cp+0, 0x0.0p+0},
      {0x1.7a486ddfa5acap+0, 0x0.0p+0},
      {0x1.3c3c7f9a9a59dp+1, 0x0.0p+0},
      {-0x1.f849f2f9f3188p+0, 0x0.0p+0},
      {0x1.f5cba7a027814p+0, 0x0.0p+0},
      {0x1.1ab26fa92538fp+1, 0x0.0p+0}}},
    {"si",
     {{-0x1.4a950f7509ffcp-1, 0x0.0p+0},
      {0x1.050fb22036ab8p-1, 0x0.0p+0},
      {-0x1.b373c8c34e3fcp-1, 0x0.0p+0},
      {-0x1.894308fb6c864p-1, 0x0.0p+0},
      {-0x1.828e1f3ec03f6p+0, 0x0.0p+0},
      {-0x1.462b1b74a4b19p+1, 0x0.0p+0}}},
    {"dr",
     {{0x1.7263d929dcbc0p+0, 0x0.0p+0},
      {-0x1.ffbcf808949a4p-1, 0x0.0p+0},
      {0x1.d89f0b259268cp-1, 0x0.0p+0},
      {0x1.b1f0b16d9e60cp+0, 0x0.0p+0},
      {-0x1.e5bc91c5433c0p+0, 0x0.0p+0},
      {-0x1.826e0e21ad06ap+0, 0x0.0p+0}}},
    {"di",
     {{-0x1.e0864477ae972p+0, 0x0.0p+0},
      {-0x1.a8912a593edd0p-2, 0x0.0p+0},
      {0x1.e3b9d7fed387ap+0, 0x0.0p+0},
      {0x1.8e52e356afab9p+1, 0x0.0p+0},
      {-0x1.bcae144eebd2ep+0, 0x0.0p+0},
      {0x1.f367b61b2c254p-1, 0x0.0p+0}}},
    {"pr",
     {{0x1.16a6f8ce84ff6p+0, 0x1.cecf04b97d650p-54},
      {0x1.18b0cee919e5bp-2, 0x1.25a5aadd97a80p-56},
      {0x1.0329a1c314791p+1, 0x1.7ddd0c0ecf420p-54},
      {0x1.433c58b5441c2p+1, 0x1.7b24227702960p-55},
      {0x1.f55c3923713f2p-3, 0x1.bec9f0fab8000p-65},
      {-0x1.78a8c756fde02p-1, 0x1.fcc5d59e7d300p-56}}},
    {"pi",
     {{0x1.f2adfb0fdfeadp+0, -0x1.901e7ca6665b0p-54},
      {0x1.5b2c7e33c77aep-3, -0x1.49eb8f248a400p-59},
      {-0x1.ec37b4ef8498fp+0, -0x1.94b40802f3a00p-59},
      {-0x1.e1854f89266e5p+0, -0x1.7127413290640p-56},
      {-0x1.905c401eb3b5ap+1, -0x1.cdc92a41b5770p-54},
      {-0x1.09f3b224f48c3p+1, -0x1.265402267b8f0p-54}}},
    {"qr",
     {{-0x1.370b6dbccf96fp-3, 0x1.9d0d550f794b1p-59},
      {0x1.74ce3c157ccbbp-3, -0x1.624b12ba9cb4ap-59},
      {0x1.f151c77f77c0ap-3, -0x1.51c14a0a82656p-59},
      {-0x1.22b3158cfaeafp-2, 0x1.72445fa895647p-57},
      {-0x1.0fb33cde6b74ap-5, 0x1.c497d0734acc6p-61},
      {0x1.3db46d247425fp-2, 0x1.f2700785aab4ep-56}}},
    {"qi",
     {{0x1.6d31b13e009b2p-1, 0x1.3b6e5dd1aeae6p-55},
      {-0x1.e2f7aea21fbbap-6, 0x1.5911510a1482ap-61},
      {0x1.19f5a6bd155c3p+0, 0x1.58fde54b9f794p-55},
      {-0x1.5b1ce7e3df819p-2, 0x1.589e3f70c87cap-57},
      {-0x1.adf754878e281p-1, 0x1.ade615c5d0983p-58},
      {-0x1.08280d3e25e02p-3, -0x1.8a43d099ffe27p-58}}},
    {"nr",
     {{-0x1.16a6f8ce84ff6p+0, -0x1.cecf04b97d650p-54},
      {-0x1.18b0cee919e5bp-2, -0x1.25a5aadd97a80p-56},
      {-0x1.0329a1c314791p+1, -0x1.7ddd0c0ecf420p-54},
      {-0x1.433c58b5441c2p+1, -0x1.7b24227702960p-55},
      {-0x1.f55c3923713f2p-3, -0x1.bec9f0fab8000p-65},
      {0x1.78a8c756fde02p-1, -0x1.fcc5d59e7d300p-56}}},
    {"ni",
     {{-0x1.f2adfb0fdfeadp+0, 0x1.901e7ca6665b0p-54},
      {-0x1.5b2c7e33c77aep-3, 0x1.49eb8f248a400p-59},
      {0x1.ec37b4ef8498fp+0, 0x1.94b40802f3a00p-59},
      {0x1.e1854f89266e5p+0, 0x1.7127413290640p-56},
      {0x1.905c401eb3b5ap+1, 0x1.cdc92a41b5770p-54},
      {0x1.09f3b224f48c3p+1, 0x1.265402267b8f0p-54}}},
    {"xr",
     {{0x1.01bf711fd3e21p-2, -0x1.17f4d44b8f1f5p-57},
      {0x1.44c6599c6c391p+0, -0x1.617f149f667a9p-54},
      {0x1.2f25f3e3b40b5p+2, 0x1.d9eebf3325d3fp-52},
      {0x1.5aa8745aa217dp-2, 0x1.0e65bb10fbb1cp-57},
      {-0x1.bd59d0a336630p-5, 0x1.d8b0ede2a1f28p-59},
      {0x1.00811924ae9c1p+0, -0x1.d1bdb9f2b5b7dp-54}}},
    {"xi",
     {{-0x1.931969f8afebfp-1, -0x1.dec9fcc8791d8p-55},
      {0x1.ef6e4f0fc0c3cp-5, 0x1.4b4c3de2353cfp-59},
      {0x1.5ac3c173f4dbcp+1, -0x1.6b5067b182af7p-53},
      {0x1.9b3c2c4ced582p-1, -0x1.ad5f7def1dab9p-55},
      {-0x1.07ca330370055p+0, -0x1.dcf0af62e3778p-55},
      {-0x1.01042311e6bbfp+0, 0x1.88a5b61b7da82p-54}}},
    {"vr",
     {{-0x1.78a8c756fde02p-1, 0x1.fcc5d59e7d300p-56},
      {0x1.f55c3923713f2p-3, 0x1.bec9f0fab8000p-65},
      {0x1.433c58b5441c2p+1, 0x1.7b24227702960p-55},
      {0x1.0329a1c314791p+1, 0x1.7ddd0c0ecf420p-54},
      {0x1.18b0cee919e5bp-2, 0x1.25a5aadd97a80p-56},
      {0x1.16a6f8ce84ff6p+0, 0x1.cecf04b97d650p-54}}},
    {"vi",
     {{-0x1.09f3b224f48c3p+1, -0x1.265402267b8f0p-54},
      {-0x1.905c401eb3b5ap+1, -0x1.cdc92a41b5770p-54},
      {-0x1.e1854f89266e5p+0, -0x1.7127413290640p-56},
      {-0x1.ec37b4ef8498fp+0, -0x1.94b40802f3a00p-59},
      {0x1.5b2c7e33c77aep-3, -0x1.49eb8f248a400p-59},
      {0x1.f2adfb0fdfeadp+0, -0x1.901e7ca6665b0p-54}}},
    {"m",
     {{0x1.1da0355cfdf7bp+1, -0x1.ff20099dd752dp-54},
      {0x1.4a079fcb391c8p-2, 0x1.91dcba6eb7a17p-56},
      {0x1.65666ad97df7ep+1, 0x1.cd15c2f3fa3d0p-53},
      {0x1.930c08eb8849cp+1, 0x1.ffd38c1905755p-53},
      {0x1.9195b0e5af8c0p+1, 0x1.7395ccc9c4cdep-53},
      {0x1.1a21546e26687p+1, -0x1.64999d4e6ff63p-53}}},
    {"fr",
     {{0x1.fd2c240013c4cp+0, 0x0.0p+0},
      {0x1.f4916b4ec259ap+0, -0x1.dcaf875d88798p-54},
      {-0x1.4f59faa14b199p+1, -0x1.8cd9dfc424bdap-53},
      {0x1.1624a2806fb1cp+0, 0x0.0p+0},
      {-0x1.69213d0e2add5p-2, 0x1.9b3bf88497b32p-58},
      {-0x1.99bd34d82084fp+1, 0x1.dcaf875d88798p-54}}},
    {"fi",
     {{-0x1.eea3cbaa78efcp+0, 0x0.0p+0},
      {-0x1.cc76076c86689p+1, -0x1.67940d9e10bd4p-54},
      {0x1.2f595cbc75420p+1, 0x1.4a752c9f9ad6ep-53},
      {-0x1.6634a03c1d28ep+1, 0x0.0p+0},
      {-0x1.698379a482b19p-1, -0x1.29d4b27e6b5b7p-55},
      {-0x1.ced48c8307bb3p-1, -0x1.30d7e4c3de858p-55}}},
    {"gr",
     {{0x1.5372c2aab7d88p-2, 0x0.0p+0},
      {-0x1.1128cde56b035p-1, 0x1.f43a827482d33p-55},
      {-0x1.e181a6bd8e7c7p-5, 0x1.de6952d6dd3bbp-59},
      {0x1.72db8355ea425p-3, 0x1.5555555555555p-57},
      {-0x1.bf22a381b9777p-2, -0x1.779a54b5b74efp-57},
      {0x1.4db64789d6e66p-2, 0x1.6ce0506c4faf0p-56}}},
    {"gi",
     {{-0x1.49c287c6fb4a8p-2, 0x0.0p+0},
      {-0x1.348db30205278p-3, 0x1.df7012281651bp-57},
      {-0x1.e204a230ae422p-4, 0x1.1d8f12021b862p-58},
      {-0x1.dd9b805026e13p-2, 0x1.5555555555555p-56},
      {0x1.947726509c580p-2, 0x1.b89c3b7f791e8p-56},
      {-0x1.32f95a48599b1p-1, 0x1.baf2a1969f81dp-56}}},
    {"hr",
     {{-0x1.e07f1e81a1f22p+0, 0x0.0p+0},
      {0x1.25899f1ade05dp+0, 0x1.06924e1784e33p-54},
      {0x1.e41de3de9a38cp-4, -0x1.a49385e138ccap-60},
      {-0x1.cc2030d46bc7ep+2, -0x1.0000000000000p-51},
      {-0x1.2298a68fbbea0p+0, -0x1.adbfa54978c35p-55},
      {-0x1.cad51fac7749cp+0, 0x1.adbfa54978c35p-55}}},
    {"hi",
     {{0x0.0p+0, 0x0.0p+0},
      {0x1.fd89d39171de0p+0, -0x1.0ff454b6e86f0p-56},
      {-0x1.3f82000c58170p-2, 0x1.39abd50d9c8fdp-56},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.8f8741f176d1dp+0, -0x1.8dad2f5fdd8d6p-55},
      {-0x1.070daac38b552p+1, 0x1.cdf6010aecdb7p-55}}},
    {"i6",
     {{0x1.2e6b7943ffdacp-1, 0x0.0p+0},
      {-0x1.a98151359de7dp-2, -0x1.16c780dbf46c5p-56},
      {-0x1.edba09c7371cep-3, 0x1.b2485409f23b1p-60},
      {0x1.e885311669060p-2, 0x0.0p+0},
      {-0x1.06ed01a98bcadp-1, 0x1.f26dbd5fb06e2p-55},
      {-0x1.68c5c9db5474bp-4, 0x1.6c780dbf46c51p-60}}},
    {"i7",
     {{0x1.f25598959e671p-2, 0x1.2492492492492p-57},
      {-0x1.6e5a2334e7014p-2, -0x1.7f125dbfed9d2p-56},
      {-0x1.86b3990b7518fp-3, 0x1.cf3550d665f85p-58},
      {0x1.86ec10223933bp-8, -0x1.8f6c5b4ea4bf5p-62},
      {0x1.c110d43850898p-2, -0x1.57c5c2542cd98p-57},
      {-0x1.a21a3e93e2521p-1, -0x1.94258d0e9e53ep-57},
      {0x1.f2b14f1e61de0p-3, 0x1.14bcf85aac90bp-58}}},
};

void ExpectValues(const std::string& text, const std::vector<std::vector<double>>& parameters,
                  const std::vector<Expected>& expected) {
  const CheckedModule& module = Checked(text);
  std::vector<Literal> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Shape& shape = module.module().entry()->parameter(static_cast<int64_t>(i))->shape();
    Literal& argument = arguments.emplace_back(*Literal::Create(shape));
    ASSERT_EQ(argument.element_count(), static_cast<int64_t>(parameters[i].size()));
    std::copy(parameters[i].begin(), parameters[i].end(), argument.mutable_span<double>().begin());
  }
  const ShadowReport report = *RunShadow(module, arguments, {});
  for (size_t k = 0; k < expected.size(); ++k) {
    const ShadowValue& value = report.result.elements[k];
    const Literal low = *LowOf(value);
    for (size_t i = 0; i < expected[k].elements.size(); ++i) {
      const auto& [want, want_low] = expected[k].elements[i];
      const auto at = static_cast<int64_t>(i);
      const double error = (value.wide.span<double>()[at] - want) + (low.span<double>()[at] - want_low);
      EXPECT_LE(std::fabs(error), 0x1p-98 * std::max(1.0, std::fabs(want))) << expected[k].name << ": " << i;
      // The declared value is within its bound.
      EXPECT_LE(std::fabs(value.declared.span<double>()[at] - want), value.bound.span<double>()[at] + 0x1p-52)
          << expected[k].name << ": " << i;
    }
  }
}

TEST(ExtendedResults, OfFactorisationsAndNormalisations) { ExpectValues(kText, kParameters, kExpected); }

TEST(ExtendedResults, OfComplexNumbersAndTransforms) {
  ExpectValues(kComplexText, kComplexParameters, kComplexExpected);
}

// 1 + 2^-30 is halfway between two numbers of 29 mantissa bits; the low part of x, 2^-70, decides.
TEST(ExtendedResults, TheLowPartDecidesTiesOfReducedPrecision) {
  const CheckedModule& module = Checked(R"(
ENTRY e {
  a = f64[3] parameter(0)
  b = f64[3] parameter(1)
  x = f64[3] add(a, b)
  ROOT r = f64[3] reduce-precision(x), exponent_bits=11, mantissa_bits=29
})");
  Literal a = *Literal::Create(Shape::Array(ElementType::kF64, {3})), b = a;
  b = *Literal::Create(a.shape());
  const double low[] = {0, 0x1p-70, -0x1p-70};
  for (int64_t i = 0; i < 3; ++i) {
    a.mutable_span<double>()[i] = 1 + 0x1p-30;
    b.mutable_span<double>()[i] = low[i];
  }
  const ShadowReport report = *RunShadow(module, {a, b}, {});
  const absl::Span<const double> wide = report.result.wide.span<double>();
  EXPECT_EQ(wide[0], 1);
  EXPECT_EQ(wide[1], 1 + 0x1p-29);
  EXPECT_EQ(wide[2], 1);
  for (const double value : report.result.declared.span<double>()) EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace hlo::debug::extended_results_test
