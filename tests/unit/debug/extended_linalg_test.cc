// Tests factorisations, triangular solves, batch normalisations and ragged dots in double-double against
// values that mpmath computes with 400 bits.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "debug/shadow/shadow.h"
#include "hlo_run/check.h"
#include "hlo_run/parse.h"

namespace hlo::debug::extended_linalg_test {
namespace {

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

CheckedModule Checked(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<const SourceText>("m.hlo", text), diagnostics,
                                         {.infer_shape = InferMissingShape});
  EXPECT_NE(module, nullptr);
  return *Check(std::move(module), diagnostics);
}

TEST(ExtendedLinalg, AgreesWithMpmath) {
  const CheckedModule module = Checked(kText);
  std::vector<Literal> arguments;
  for (size_t i = 0; i < kParameters.size(); ++i) {
    const Shape& shape = module.module().entry()->parameter(static_cast<int64_t>(i))->shape();
    Literal& argument = arguments.emplace_back(*Literal::Create(shape));
    ASSERT_EQ(argument.element_count(), static_cast<int64_t>(kParameters[i].size()));
    std::copy(kParameters[i].begin(), kParameters[i].end(), argument.mutable_span<double>().begin());
  }
  const ShadowReport report = *RunShadow(module, arguments, {});
  for (size_t k = 0; k < kExpected.size(); ++k) {
    const ShadowValue& value = report.result.elements[k];
    const Literal low = *LowOf(value);
    for (size_t i = 0; i < kExpected[k].elements.size(); ++i) {
      const auto& [want, want_low] = kExpected[k].elements[i];
      const auto at = static_cast<int64_t>(i);
      const double error = (value.wide.span<double>()[at] - want) + (low.span<double>()[at] - want_low);
      EXPECT_LE(std::fabs(error), 0x1p-98 * std::max(1.0, std::fabs(want))) << kExpected[k].name << ": " << i;
      // The declared value is within its bound.
      EXPECT_LE(std::fabs(value.declared.span<double>()[at] - want), value.bound.span<double>()[at] + 0x1p-52)
          << kExpected[k].name << ": " << i;
    }
  }
}

// 1 + 2^-30 is halfway between two numbers of 29 mantissa bits; the low part of x, 2^-70, decides.
TEST(ExtendedLinalg, TheLowPartDecidesTiesOfReducedPrecision) {
  const CheckedModule module = Checked(R"(
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
}  // namespace hlo::debug::extended_linalg_test
