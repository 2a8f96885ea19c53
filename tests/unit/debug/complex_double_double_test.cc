// Tests functions of complex double-doubles against values of mpmath with 500 bits.

#include "debug/shadow/complex_double_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

namespace hlo::debug::complex_double_double_test {
namespace {

struct Value {
  Opcode opcode;
  ComplexDoubleDouble a, b, value;
};
// clang-format off
const Value kValues[] = {
    {Opcode::kAbs, {{-0x1.68ca5e0d58b24p-1, -0x1.b3a5526f0fe92p-57}, {-0x1.6587cb4d766c8p+0, 0x1.31bbed5524b25p-54}}, {}, {{0x1.90767afd71980p+0, -0x1.98c426fc2dba1p-54}, {0, 0}}},
    {Opcode::kAbs, {{0x1.25f2046063a00p-3, -0x1.03d92d4b8ddb9p-57}, {-0x1.1311b06ace67cp-1, -0x1.05cdb7081d939p-61}}, {}, {{0x1.1cb751a4c7515p-1, 0x1.f7b27e349a337p-57}, {0, 0}}},
    {Opcode::kAbs, {{-0x1.d99abcf4ffae6p+2, 0x1.976fcffd6f82dp-52}, {-0x1.0fc98b29e5570p+0, 0x1.bcf4bb8ee3a11p-55}}, {}, {{0x1.de742591b1420p+2, 0x1.198b80039c3fdp-53}, {0, 0}}},
    {Opcode::kAbs, {{-0x1.3c96e74d8d968p-13, 0x1.dc66bea132940p-68}, {0x1.56bab2fa3e3eep-11, -0x1.7b6a9ce486643p-66}}, {}, {{0x1.5fbfdbd560b99p-11, 0x1.9d7cad4845049p-65}, {0, 0}}},
    {Opcode::kAbs, {{0x1.54f42a4269cf2p+663, 0x1.a49ddd29d3b01p+606}, {0x1.2b777cea0b8a8p+665, -0x1.ef0d5cec3a3f1p+608}}, {}, {{0x1.375c8539ab79bp+665, 0x1.0e498ecc4b84bp+611}, {0, 0}}},
    {Opcode::kAbs, {{0x1.754c856010050p-664, 0x1.0ba1bbb093430p-718}, {-0x1.6365ee382a795p-664, 0x1.2b17036099659p-719}}, {}, {{0x1.01b6071bb69c4p-663, -0x1.437f9bc76a73fp-718}, {0, 0}}},
    {Opcode::kAcos, {{-0x1.6c48653acace2p+0, 0x1.17112dd12dbefp-55}, {-0x1.876178b6ec4cep+0, -0x1.eee73080b07b8p-55}}, {}, {{0x1.21d9f384e44d6p+1, -0x1.bf02f705d36e7p-54}, {0x1.703af054e9b0ap+0, -0x1.3da255fe4c39ep-56}}},
    {Opcode::kAcos, {{-0x1.46efa9f2cf122p+0, -0x1.6b53a3d79612cp-56}, {0x1.4e3bf92474e68p-2, -0x1.553162c997995p-58}}, {}, {{0x1.641eaca081904p+1, -0x1.97a8d078da03dp-55}, {-0x1.a8ba5454a285ep-1, -0x1.13c35d9c11254p-56}}},
    {Opcode::kAcos, {{0x1.871f66d933900p-1, -0x1.587ffb2e0f4cfp-55}, {-0x1.bfb43f37c2c7ap+2, 0x1.07497719bd7fep-52}}, {}, {{0x1.768da433afcd7p+0, -0x1.42396b31aa1e9p-54}, {0x1.53199d061399dp+1, 0x1.a28cceff94340p-54}}},
    {Opcode::kAcos, {{0x1.7a537f853e470p-12, -0x1.19407ffaca649p-67}, {-0x1.2fb32b76d822cp-13, -0x1.9fc3156b02f07p-70}}, {}, {{0x1.9208100c460b2p+0, 0x1.431f3c232ebbdp-54}, {0x1.2fb32cb0acf37p-13, -0x1.2a24ef7dd2f47p-67}}},
    {Opcode::kAcos, {{0x1.8000000000000p+1, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.6a09e667f3aaep-22, -0x1.9411a89eb67f0p-79}, {-0x1.c34366179d536p+0, -0x1.4e1fb4aa242bdp-54}}},
    {Opcode::kAcos, {{-0x1.8000000000000p+1, 0}, {-0x1.0000000000000p-20, 0}}, {}, {{0x1.921fb2702f04bp+1, 0x1.208cf3964a2a9p-53}, {0x1.c34366179d536p+0, 0x1.4e1fb4aa242bdp-54}}},
    {Opcode::kAcos, {{0x1.0000100000000p+0, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.498529bc2d2d5p-11, 0x1.579ba0523365bp-65}, {-0x1.8dc4205d29025p-10, 0x1.acedc361c1d95p-64}}},
    {Opcode::kAcosh, {{-0x1.7f837a8dbd5b0p-3, -0x1.c398189ece38ep-58}, {-0x1.9a13c2c0671dcp-1, -0x1.46698d5b31076p-56}}, {}, {{0x1.7aefbadbfd6c2p-1, 0x1.af5fc027179d4p-56}, {-0x1.b7844354314f6p+0, -0x1.8a5ce9728b176p-55}}},
    {Opcode::kAcosh, {{-0x1.060b907585c68p+0, -0x1.a6915cb50d751p-59}, {0x1.30d6ea99ba408p-2, 0x1.c96d4b6d2b4fcp-57}}, {}, {{0x1.2828f29ca8d5ap-1, 0x1.3543cb26dd07cp-55}, {0x1.5102dcf2564d1p+1, -0x1.24740fb42eefcp-53}}},
    {Opcode::kAcosh, {{0x1.d5e76972e6cc0p+1, 0x1.c345a981b4d0ap-53}, {-0x1.b24daf641b434p+1, 0x1.4bc02e462af61p-53}}, {}, {{0x1.269f621d26b13p+1, 0x1.3144169dec67ep-54}, {-0x1.8317a9c04d311p-1, 0x1.4b31e8f97819fp-55}}},
    {Opcode::kAcosh, {{-0x1.576af35fc8cb4p-13, 0x1.de0f0cc54713dp-68}, {0x1.0da1be208bc2ap-11, -0x1.7cea438dd94f0p-71}}, {}, {{0x1.0da1bd95ca545p-11, 0x1.9a1fea0a0c388p-69}, {0x1.922a709bc6ce6p+0, -0x1.6aeee6fffd914p-54}}},
    {Opcode::kAcosh, {{0x1.8000000000000p+1, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.c34366179d536p+0, 0x1.4e1fb4aa242bdp-54}, {0x1.6a09e667f3aaep-22, -0x1.9411a89eb67f0p-79}}},
    {Opcode::kAcosh, {{-0x1.8000000000000p+1, 0}, {-0x1.0000000000000p-20, 0}}, {}, {{0x1.c34366179d536p+0, 0x1.4e1fb4aa242bdp-54}, {-0x1.921fb2702f04bp+1, -0x1.208cf3964a2a9p-53}}},
    {Opcode::kAcosh, {{0x1.0000100000000p+0, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.8dc4205d29025p-10, -0x1.acedc361c1d95p-64}, {0x1.498529bc2d2d5p-11, 0x1.579ba0523365bp-65}}},
    {Opcode::kAsin, {{-0x1.d7da0d84dc8f2p+0, -0x1.f35a594700ad2p-55}, {0x1.58818e13deef8p-1, 0x1.9286ad2d6014ep-58}}, {}, {{-0x1.2c00540450217p+0, -0x1.b8a9502240b31p-59}, {0x1.512c9cec86a2ap+0, 0x1.9c72bea5246c8p-54}}},
    {Opcode::kAsin, {{0x1.807d4168bfcd6p+0, 0x1.2c5b1c2a7be9ep-55}, {-0x1.7d71f1a8edbdcp-1, -0x1.1ff9b4a90e24dp-57}}, {}, {{0x1.0713fc036cb07p+0, -0x1.4ecb0272847c8p-54}, {-0x1.296fe0a5ec51cp+0, 0x1.844bceaf2bf5cp-55}}},
    {Opcode::kAsin, {{0x1.4740319802398p+0, 0x1.bd04d399a00ecp-55}, {-0x1.66c413b996350p-1, -0x1.3f12a647356d5p-55}}, {}, {{0x1.e7a7adaeae9c3p-1, 0x1.8dd235795194dp-55}, {-0x1.05866344e093bp+0, 0x1.ed49a17577441p-54}}},
    {Opcode::kAsin, {{-0x1.b28ecb2f92a60p-15, 0x1.7dd43c2fc16f6p-69}, {0x1.58408b549f940p-12, 0x1.1574cb4830302p-67}}, {}, {{-0x1.b28ec9a9ecfc9p-15, 0x1.176f00a2c7393p-69}, {0x1.58408af49ed6fp-12, -0x1.5cae2a54665e5p-67}}},
    {Opcode::kAsin, {{0x1.89a67fe8b4f79p+663, 0x1.fae73cb782451p+608}, {0x1.49d355cd3708cp+665, -0x1.1c2efe67e1710p+610}}, {}, {{0x1.28ed533b4f3ebp-2, -0x1.f92edf0fa592ep-56}, {0x1.cdee9af578ab8p+8, 0x1.c0d3534575127p-46}}},
    {Opcode::kAsin, {{0x1.8000000000000p+1, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.921faf9c1b37ep+0, 0x1.26b783fb4e94cp-54}, {0x1.c34366179d536p+0, 0x1.4e1fb4aa242bdp-54}}},
    {Opcode::kAsin, {{-0x1.8000000000000p+1, 0}, {-0x1.0000000000000p-20, 0}}, {}, {{-0x1.921faf9c1b37ep+0, -0x1.26b783fb4e94cp-54}, {-0x1.c34366179d536p+0, -0x1.4e1fb4aa242bdp-54}}},
    {Opcode::kAsin, {{0x1.0000100000000p+0, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.91f6849f0b4bep+0, -0x1.4122410b12180p-56}, {0x1.8dc4205d29025p-10, -0x1.acedc361c1d95p-64}}},
    {Opcode::kAsinh, {{-0x1.d3cc5a39d5db0p-2, 0x1.beb03e989c85ap-56}, {0x1.59669858d5560p-1, -0x1.a76011f1127b0p-59}}, {}, {{-0x1.1389e4e2d1251p-1, 0x1.0d1f74ace3859p-56}, {0x1.417f766f34956p-1, 0x1.9cf8662eb8065p-57}}},
    {Opcode::kAsinh, {{-0x1.53eb2031cd638p+0, 0x1.2bd6cd3c384fap-54}, {-0x1.88180a40ceab0p+0, -0x1.a4b0a9289efa0p-55}}, {}, {{-0x1.65894fb853cf7p+0, 0x1.af99971e66e04p-55}, {-0x1.974b5dda18591p-1, 0x1.ab8be71e2452ep-55}}},
    {Opcode::kAsinh, {{-0x1.7b8e3ca17d4f2p+2, 0x1.4b200e47b89d3p-54}, {-0x1.027141cd11b06p+2, -0x1.7ff6fa924f198p-53}}, {}, {{-0x1.5530286d21424p+1, -0x1.9fbf3590244afp-57}, {-0x1.2fc566a43e4c5p-1, 0x1.ad3b0dfd069eep-56}}},
    {Opcode::kAsinh, {{-0x1.b7cad983cb462p-11, -0x1.5be489b368a0ep-68}, {-0x1.aa3f39bf328e8p-14, -0x1.46d517ac9be2ep-68}}, {}, {{-0x1.b7cad64895d27p-11, -0x1.12c0d3efdd036p-68}, {-0x1.aa3f2ff787c90p-14, -0x1.efe24dcb63213p-68}}},
    {Opcode::kAsinh, {{0x1.8000000000000p+1, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.d185b507edcd0p+0, 0x1.21280d2198c0dp-54}, {0x1.43d136248487cp-22, 0x1.e4a618fec5215p-79}}},
    {Opcode::kAsinh, {{-0x1.8000000000000p+1, 0}, {-0x1.0000000000000p-20, 0}}, {}, {{-0x1.d185b507edcd0p+0, -0x1.21280d2198c0dp-54}, {-0x1.43d136248487cp-22, -0x1.e4a618fec5215p-79}}},
    {Opcode::kAsinh, {{0x1.0000100000000p+0, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.c3437cb83ba8fp-1, -0x1.01190d0b0d4d9p-55}, {0x1.6a09db17a4a7bp-21, 0x1.3a2aac7967e36p-75}}},
    {Opcode::kAtanh, {{0x1.46f14b371b554p+0, -0x1.21c63aa3c80b4p-55}, {0x1.74b858466d982p+0, -0x1.f9218c2becac1p-57}}, {}, {{0x1.33a0f536ca142p-2, -0x1.9d0ac2c4a6e97p-56}, {0x1.29f3e0171d6a5p+0, -0x1.7ce02e7e26c14p-55}}},
    {Opcode::kAtanh, {{-0x1.213c955139100p-1, -0x1.08c90851969e6p-55}, {0x1.8969d830b24cep+0, -0x1.12aa31f9edb7ep-54}}, {}, {{-0x1.44ca42c77cf43p-3, 0x1.4536eddd685f7p-57}, {0x1.091de72027a33p+0, -0x1.4cbc9bf9f98a3p-54}}},
    {Opcode::kAtanh, {{-0x1.4b8d946ca2414p+2, 0x1.61a726bd91b04p-53}, {-0x1.1279e62bb5b9cp+2, 0x1.0826dd8e10fc2p-57}}, {}, {{-0x1.d2ea4473ee5eep-4, -0x1.a0ec6cecdaaddp-59}, {-0x1.799b1c5bc92bbp+0, 0x1.772a5aa6ae6d3p-56}}},
    {Opcode::kAtanh, {{0x1.75cfa22a5a288p-13, -0x1.72c0274d20912p-67}, {-0x1.f18e7059eefd8p-12, 0x1.42a126c8dbf75p-68}}, {}, {{0x1.75cf9ce8b325bp-13, -0x1.b902c0e3c6c0bp-67}, {-0x1.f18e6ef0a5a36p-12, -0x1.ee1538e1ff8cep-68}}},
    {Opcode::kAtanh, {{0x1.8000000000000p+1, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.62e42fefa36efp-2, 0x1.abc9e3b75803fp-57}, {0x1.921fb34442d18p+0, 0x1.1a750ddbf06b1p-54}}},
    {Opcode::kAtanh, {{-0x1.8000000000000p+1, 0}, {-0x1.0000000000000p-20, 0}}, {}, {{-0x1.62e42fefa36efp-2, -0x1.abc9e3b75803fp-57}, {-0x1.921fb34442d18p+0, -0x1.1a750ddbf06b1p-54}}},
    {Opcode::kAtanh, {{0x1.0000100000000p+0, 0}, {0x1.0000000000000p-20, 0}}, {}, {{0x1.c6b45e6b09a3ap+2, 0x1.f202ab34e2b7ep-52}, {0x1.2d97cbf331fd2p+0, 0x1.a7e8ea1f3df5ep-55}}},
    {Opcode::kCosh, {{-0x1.0bc4c863e3554p-1, -0x1.e54d3ebe26e2ap-56}, {0x1.0fbbd0a321118p-2, 0x1.9e1bb963656c9p-58}}, {}, {{0x1.1999c38b8c4cep+0, 0x1.4a9e4443b97e1p-55}, {-0x1.25e206e7ca41dp-3, 0x1.10fe8547d1878p-57}}},
    {Opcode::kCosh, {{0x1.fb9f8f341e040p-5, 0x1.65c5e6e3e8f12p-60}, {0x1.e1a8ef4f57c38p-2, -0x1.ada5c1236b477p-56}}, {}, {{0x1.c945fe529cb90p-1, -0x1.7937cae01bad7p-55}, {0x1.cc6bea31983a1p-6, -0x1.53048990d1522p-60}}},
    {Opcode::kCosh, {{0x1.991f2e6f7c418p+2, 0x1.3271699c953f5p-52}, {0x1.1eb05279d7684p+2, 0x1.5596667a9ec8ep-53}}, {}, {{-0x1.13b7d2a4a58dcp+6, -0x1.b3f440b7d7aafp-48}, {-0x1.229e7fd14322dp+8, -0x1.db35daa1aa8ecp-46}}},
    {Opcode::kCosh, {{-0x1.c36544d116c08p-13, 0x1.65ec575dcb4fep-67}, {-0x1.a7b6a720fbcdcp-13, -0x1.c733d09c396f5p-69}}, {}, {{0x1.0000000bd41b2p+0, 0x1.906435419747dp-54}, {0x1.758f32b891c85p-25, 0x1.03dbf6fcf9db7p-81}}},
    {Opcode::kCosine, {{-0x1.c0421b679a1b6p+0, 0x1.05193dbe82482p-54}, {-0x1.bb093a01f6698p+0, 0x1.2b39459103be2p-54}}, {}, {{-0x1.0b1bfc10045d5p-1, 0x1.d2c8a69392cd8p-56}, {-0x1.58376fc43094ep+1, -0x1.2977decd7e63fp-55}}},
    {Opcode::kCosine, {{-0x1.4791f36636bd0p-1, 0x1.476ad360aeb14p-55}, {-0x1.ca299ef2e539cp+0, 0x1.3f8e01fd41929p-54}}, {}, {{0x1.3bfe8274b54dbp+1, 0x1.8ebc9ad558375p-55}, {-0x1.bcce8223ecc05p+0, 0x1.2bbc07f4cd486p-54}}},
    {Opcode::kCosine, {{-0x1.9819b98688d8ep+2, 0x1.83496125c05f8p-52}, {-0x1.1753ae62e21d8p+1, -0x1.a23e8fab83ccbp-54}}, {}, {{0x1.1e1302e99c5bap+2, -0x1.877c506dc517dp-53}, {-0x1.a1eab749c2063p-2, -0x1.26c5518b9d8ccp-56}}},
    {Opcode::kCosine, {{0x1.de70a49c4ae40p-13, -0x1.da1e846158165p-68}, {-0x1.708582bf4756cp-11, 0x1.c1ec01983ea8fp-67}}, {}, {{0x1.000003b53b212p+0, -0x1.48de2e52c34b4p-54}, {0x1.585dba6a10e57p-23, 0x1.2d56ab6d316c7p-78}}},
    {Opcode::kExp2, {{-0x1.16317a869e028p-1, -0x1.8449a1e5162f2p-56}, {-0x1.8235a5713c18ap+0, -0x1.7ce1c8883a342p-54}}, {}, {{0x1.603b5197c9c8bp-2, -0x1.c75cbace53535p-56}, {-0x1.2ffde28556477p-1, -0x1.d9f6353e2a794p-58}}},
    {Opcode::kExp2, {{-0x1.169d4614134f0p-3, 0x1.cd838f3ba910dp-58}, {-0x1.08da5d8153940p-4, 0x1.a5727b6782c1bp-59}}, {}, {{0x1.d17556fa8ef4cp-1, 0x1.7ba53bd06b65fp-55}, {-0x1.4e0316840f4c0p-5, 0x1.21fe38e206146p-59}}},
    {Opcode::kExp2, {{-0x1.424824427857cp+1, -0x1.a7efb908351a0p-54}, {-0x1.e1c7238579088p+1, 0x1.4639082a53ff2p-53}}, {}, {{-0x1.340d0d1de9c1dp-3, 0x1.52b4adc44a35ep-57}, {-0x1.6b312bcd32d9cp-4, -0x1.df25f76722548p-60}}},
    {Opcode::kExp2, {{-0x1.f4120480c0040p-11, -0x1.c42e950ecf2a3p-69}, {0x1.d8e484955bfa6p-11, -0x1.4e3cf596e4afdp-65}}, {}, {{0x1.ffa958f237518p-1, 0x1.417dcd07efc37p-57}, {0x1.47914ad551100p-11, -0x1.4b025a2536109p-65}}},
    {Opcode::kExponential, {{0x1.61ab23a815d50p-3, 0x1.3e2025965a5a1p-61}, {-0x1.e44ef91ef52c0p+0, -0x1.cf7c03708c0d4p-54}}, {}, {{-0x1.800734a18b747p-2, -0x1.687c1586ce7b3p-56}, {-0x1.20b5f819412e9p+0, -0x1.2ed23291ba581p-54}}},
    {Opcode::kExponential, {{0x1.740b7a0ba63bcp+0, -0x1.6380e06a815e8p-55}, {0x1.91cf9ed86f40cp-1, -0x1.ac7defae38b8cp-57}}, {}, {{0x1.835d71aa3cd16p+1, 0x1.22c389994b244p-58}, {0x1.82e4557a40039p+1, 0x1.46d73a3ca8b07p-53}}},
    {Opcode::kExponential, {{-0x1.54f2eed2788c6p+2, -0x1.6398524683aeap-56}, {0x1.1676e41c84790p+2, 0x1.36d3d292ee7acp-53}}, {}, {{-0x1.c22d656bce4f0p-10, -0x1.bfe5b03a99bb8p-69}, {-0x1.29c0221031e54p-8, 0x1.91a5e73479016p-62}}},
    {Opcode::kExponential, {{-0x1.6537e8d1fe192p-12, -0x1.bd1c358b3a793p-67}, {-0x1.22696f4d51a6cp-11, -0x1.19a8137d2683ep-65}}, {}, {{0x1.ffd355cff2facp-1, -0x1.1aea3237ee2b0p-57}, {-0x1.22501ba7a256ep-11, -0x1.38465a7203876p-66}}},
    {Opcode::kExponentialMinusOne, {{0x1.69178618fa8b8p+0, 0x1.cbca2ecb2355ap-55}, {0x1.396caa1ea4414p+0, 0x1.2cba71bb34c11p-55}}, {}, {{0x1.9110f55754d8bp-2, -0x1.5270923adbd6fp-56}, {0x1.ed6147db12579p+1, 0x1.fdd538d82b070p-55}}},
    {Opcode::kExponentialMinusOne, {{-0x1.17d19a6669168p+0, 0x1.43549a8348eb4p-56}, {0x1.20fe2bf1379a0p-4, -0x1.103e24866ed5ep-58}}, {}, {{-0x1.54ce98297f351p-1, 0x1.d6641c321c242p-55}, {0x1.83279ded1accdp-6, -0x1.b8770317a5d32p-60}}},
    {Opcode::kExponentialMinusOne, {{-0x1.e364769add8a4p+2, 0x1.d1a735ba6e8eap-53}, {-0x1.c3c036871b468p+1, -0x1.5be3462a4c473p-54}}, {}, {{-0x1.001fd2fd1355dp+0, -0x1.15b5b81f53839p-54}, {0x1.9fe27fb8c3b04p-13, 0x1.c5b1f6e338394p-70}}},
    {Opcode::kExponentialMinusOne, {{0x1.deb0d52b13dccp-11, 0x1.a2656146994dbp-65}, {-0x1.baafb2f5ca148p-14, -0x1.b01875dba1a14p-68}}, {}, {{0x1.dee80b86fdcbdp-11, 0x1.9ec4a66e7a6acp-65}, {-0x1.bb1737bbce94bp-14, -0x1.43b066c1f71e8p-68}}},
    {Opcode::kLog, {{0x1.d1ebaf7cbce82p+0, -0x1.047c18999a1f7p-54}, {-0x1.1539c7eb61da8p-1, 0x1.2ee6c4715079dp-56}}, {}, {{0x1.4850dc506cf3ep-1, -0x1.f6f3149ba2caap-57}, {-0x1.281abe979cd20p-2, 0x1.1ad461eab9a5ap-57}}},
    {Opcode::kLog, {{-0x1.3692a8d4c504cp+0, -0x1.3440d6a9cd553p-56}, {-0x1.2eb8bfc2386acp+0, -0x1.e4ba6114f85a3p-55}}, {}, {{0x1.0dea0ba5a68e0p-1, -0x1.057d3cd37e25ep-56}, {-0x1.2f3b3e85a62c1p+1, -0x1.e47fd33753765p-53}}},
    {Opcode::kLog, {{0x1.5c9b21803e880p+2, 0x1.aaa1ea7d1c3b2p-54}, {-0x1.504eb0b9f5c60p-2, -0x1.9316f11318929p-57}}, {}, {{0x1.b2664fceefdecp+0, 0x1.cf587f69c2536p-60}, {-0x1.ed56f6b78aaecp-5, -0x1.95547507ff668p-61}}},
    {Opcode::kLog, {{-0x1.b3642d2402481p-11, -0x1.64d3a9fced559p-65}, {0x1.50c5c3b4ef9ecp-12, 0x1.7c4993d38388ep-67}}, {}, {{-0x1.c186dabcd0d05p+2, -0x1.36093ed3cab2fp-53}, {0x1.62e35a79d8867p+1, 0x1.5e72204805bcdp-53}}},
    {Opcode::kLog, {{0x1.4ea1a7efd679bp+664, -0x1.ae4e97705527fp+609}, {-0x1.d63216e4b55d7p+660, -0x1.0fe683efbfc6cp+606}}, {}, {{0x1.cc857be364671p+8, 0x1.ce03a75a73d20p-47}, {-0x1.66c9f805d9ed2p-4, 0x1.1f5c465bd7134p-58}}},
    {Opcode::kLog, {{-0x1.068d9d596b8a6p-665, -0x1.ef572a41c280ep-720}, {0x1.d79577d1ed4e5p-665, -0x1.88f7924ca0c5ap-721}}, {}, {{-0x1.cc326b982c5f6p+8, -0x1.454d2ade893a0p-46}, {0x1.0a164a89e2d2ep+1, -0x1.8676adc58ca6bp-53}}},
    {Opcode::kLog, {{0x1.0000000000000p+0, 0x1.0000000000000p-70}, {0x1.0624dd2f1a9fcp-10, 0}}, {}, {{0x1.0c6f713f927b2p-21, 0x1.8b12e4031ff7cp-77}, {0x1.0624d77516e16p-10, -0x1.e3ee38ab2baecp-64}}},
    {Opcode::kLog2, {{-0x1.93eb6a8367468p-2, -0x1.6b33ccc0be38cp-57}, {0x1.c985278adea24p+0, -0x1.2df5be9dd5849p-54}}, {}, {{0x1.be7702d5e86cdp-1, -0x1.2a575b1410ba3p-55}, {0x1.4a2f82996f672p+1, -0x1.fee49268c309ap-53}}},
    {Opcode::kLog2, {{-0x1.7de9a77c79478p+0, -0x1.353c7fb3e6fc6p-54}, {-0x1.6538c03460434p+0, -0x1.b5f4e4bc3cf79p-55}}, {}, {{0x1.07ceadb240e06p+0, 0x1.3ada98ffe45b6p-55}, {-0x1.b945e83b19289p+1, -0x1.35cc41e21881cp-54}}},
    {Opcode::kLog2, {{-0x1.6a514831b7f72p+2, -0x1.5c0be7be32b4dp-52}, {0x1.4e58c34c4579ep+2, 0x1.a4a838b50ff6bp-54}}, {}, {{0x1.79058a37509fcp+1, 0x1.c531058e43b1ap-53}, {0x1.ba844df82bec4p+1, 0x1.57b7780fa4155p-54}}},
    {Opcode::kLog2, {{-0x1.39b7daf9f1ca8p-12, 0x1.cf117c6cd7ee2p-67}, {0x1.9830a615f5860p-14, -0x1.8c8ff85c71d29p-68}}, {}, {{-0x1.744abc83f848ap+3, 0x1.4044f2d316da2p-51}, {0x1.050894e1c1829p+2, 0x1.2e95a3eda2976p-52}}},
    {Opcode::kLogPlusOne, {{0x1.e23108dcf9b1ap+0, 0x1.9a26247f50091p-58}, {0x1.3288a21a4f44cp-1, 0x1.09d75c4da0647p-55}}, {}, {{0x1.1483495334dc7p+0, -0x1.13f730cb6168bp-57}, {0x1.a3424208a4a68p-3, -0x1.78019c006ebb3p-59}}},
    {Opcode::kLogPlusOne, {{-0x1.0f1dd606e2ff0p-2, -0x1.61b44fcd6240dp-57}, {0x1.7caa2d98ef626p+0, -0x1.b7fbe71c98aa1p-55}}, {}, {{0x1.031fcfba4279cp-1, -0x1.6348d3a27ec34p-57}, {0x1.1c918fb4c9087p+0, 0x1.e67987e5c7885p-55}}},
    {Opcode::kLogPlusOne, {{-0x1.fc3e07c987438p+1, 0x1.07bcdae4c85a4p-53}, {-0x1.a801197fb3da4p+1, -0x1.2532a5f21416dp-55}}, {}, {{0x1.7e26d9e4d3450p+0, 0x1.5d0068eb16d1dp-61}, {-0x1.26a282e9589f8p+1, -0x1.5737e0611e77ap-53}}},
    {Opcode::kLogPlusOne, {{-0x1.f8a60ab4e29bep-12, 0x1.745b36ddef004p-66}, {-0x1.53af9bfcd14ccp-13, -0x1.168dd897f6434p-67}}, {}, {{-0x1.f8c19d6113deep-12, -0x1.abbaef334e141p-66}, {-0x1.53d97ad45f0e6p-13, 0x1.d7c3d635c1ec7p-68}}},
    {Opcode::kLogistic, {{-0x1.2b73481a30124p-1, -0x1.8f574fd5e7619p-58}, {-0x1.56bec559a0330p-3, -0x1.15243d1024584p-57}}, {}, {{0x1.6d75f89af0040p-2, 0x1.987a45d645830p-56}, {-0x1.3b960e27f6abap-5, -0x1.97e602f26c534p-60}}},
    {Opcode::kLogistic, {{-0x1.451b4a5881260p-2, -0x1.12794b26d97e9p-64}, {0x1.abbf137067d5ap+0, 0x1.b39dcd07f9522p-58}}, {}, {{0x1.522ad7faec41ep-2, -0x1.e9a7b88f85a14p-58}, {0x1.0bdeda7eea07cp-1, 0x1.458bbcec1350fp-55}}},
    {Opcode::kLogistic, {{0x1.8121c41599ac0p-2, -0x1.70f4f74b98f20p-59}, {-0x1.ecd8a19047e80p+2, 0x1.385bb02a2b53dp-52}}, {}, {{0x1.5083f2cf09446p-1, -0x1.64927265293a9p-55}, {-0x1.9d524c237091ap-2, 0x1.cd74c346897a8p-56}}},
    {Opcode::kLogistic, {{-0x1.04150e232852ap-10, 0x1.54de01b0202e7p-65}, {0x1.39b3f4d00d088p-11, -0x1.0a174f3a8e148p-69}}, {}, {{0x1.ffbefabc6f0e6p-2, -0x1.7f36690058096p-57}, {0x1.39b3f05debb9ep-13, -0x1.3ccd1677e5522p-67}}},
    {Opcode::kLogistic, {{0x1.e000000000000p+4, 0}, {0x1.4000000000000p+0, 0}}, {}, {{0x1.ffffffffffef6p-1, 0x1.d1ddb12bc63bep-56}, {0x1.8fee33229d665p-44, -0x1.4219190dfac68p-102}}},
    {Opcode::kLogistic, {{-0x1.e000000000000p+4, 0}, {0x1.4000000000000p+0, 0}}, {}, {{0x1.09c5c449da874p-45, -0x1.defb4b3eaeb65p-99}, {0x1.8fee33229d665p-44, -0x1.4219190dfac68p-102}}},
    {Opcode::kRsqrt, {{0x1.cd32211ece614p-1, -0x1.41067499d3abfp-56}, {0x1.cea5f83f3cc70p-3, 0x1.0fa5e59df9bbcp-61}}, {}, {{0x1.07a5c58787edep+0, 0x1.6dd5bd73eed7ep-55}, {-0x1.0471f851d67abp-3, -0x1.a043fad20b6ecp-57}}},
    {Opcode::kRsqrt, {{0x1.c62e09ee11130p-3, -0x1.65cb58c190654p-57}, {0x1.231852e364070p+0, 0x1.18d4992e1ca42p-57}}, {}, {{0x1.6f251aeec5b89p-1, 0x1.ef36d78fcb8ebp-56}, {-0x1.2e75304238e03p-1, 0x1.d461bee095d2bp-55}}},
    {Opcode::kRsqrt, {{-0x1.018ab4678347ep+2, -0x1.187976e41d7dbp-53}, {-0x1.c8dfb3f532744p+1, -0x1.c31cf3c00f991p-59}}, {}, {{0x1.39607081da1c7p-3, -0x1.f6fe3b3099116p-58}, {0x1.9cc8033b0a5cdp-2, 0x1.680a7acb555c9p-56}}},
    {Opcode::kRsqrt, {{0x1.02e96c99dfa98p-13, 0x1.ab312d97666c0p-68}, {0x1.109f60b6b7488p-11, -0x1.ef18bacf4639fp-69}}, {}, {{0x1.0f7d9869ca3dcp+5, 0x1.32b5c991df8aep-49}, {-0x1.ad28492be7db9p+4, 0x1.7ac0fd861f1e4p-51}}},
    {Opcode::kRsqrt, {{0x1.2d12e583b16b8p+663, 0x1.d4ac0fb84f5dbp+603}, {0x1.db720a8971f4ap+658, 0x1.6e8846d650231p+603}}, {}, {{0x1.4d89254fc18c5p-332, 0x1.28a6de6fb1e26p-387}, {-0x1.0731a79c977e2p-337, 0x1.890fb4bce993cp-392}}},
    {Opcode::kRsqrt, {{-0x1.2ad1aef358070p-667, 0x1.a40aee370e8ccp-726}, {0x1.a16ff7d05b96ep-668, 0x1.70991fefab6d8p-722}}, {}, {{0x1.6c46adba2dd21p+331, 0x1.c69a9bb660d62p+277}, {-0x1.216b7ae14281cp+333, -0x1.9863fb4232eb4p+278}}},
    {Opcode::kSign, {{0x1.97ff8b85f1114p-1, 0x1.68d15a92b411fp-55}, {0x1.819284702000ap+0, -0x1.72c73ac403412p-55}}, {}, {{0x1.dee2252cc0e99p-2, 0x1.6245e321c846ep-56}, {0x1.c48fad82f92abp-1, -0x1.e0f46cfad6758p-55}}},
    {Opcode::kSign, {{0x1.e7897f922e590p-3, 0x1.4b8667a067ebfp-57}, {0x1.c5e7cb19ee6bap+0, -0x1.4969cea072187p-54}}, {}, {{0x1.1085d313659e8p-3, 0x1.eba4427cb4008p-57}, {0x1.fb725e8c4feebp-1, -0x1.919326ebe8ba4p-56}}},
    {Opcode::kSign, {{-0x1.837588cdc7012p+2, 0x1.4b3de81d42332p-52}, {-0x1.da2b2abc6fcb0p-1, 0x1.ebec815b4bf9cp-56}}, {}, {{-0x1.fa1ccba7a771dp-1, 0x1.dfcc41b8f2c52p-56}, {-0x1.35b00e0deeb04p-3, 0x1.812f03b9129fap-57}}},
    {Opcode::kSign, {{-0x1.bf9d8585ea112p-11, -0x1.fc605e951b86ap-66}, {0x1.6368aa4b46a68p-12, 0x1.1a36a257b6499p-66}}, {}, {{-0x1.dbdece59018f9p-1, -0x1.906646392dd76p-55}, {0x1.79d7ee155bed1p-2, -0x1.98553bead4413p-59}}},
    {Opcode::kSign, {{-0x1.ce45bcd2ff4acp+664, -0x1.2854234bbc559p+609}, {0x1.211e9f2f1f42ap+664, -0x1.9ce31908dbd85p+609}}, {}, {{-0x1.b2174a0c09cbap-1, -0x1.a95eaa3a8e039p-57}, {0x1.0f7e7af56286ap-1, 0x1.91cdd0c64dfe2p-56}}},
    {Opcode::kSign, {{0x1.2c12920787173p-664, -0x1.509372a7cce37p-719}, {0x1.6e78b90636732p-664, 0x1.4ba8e8a7f7e84p-718}}, {}, {{0x1.445e38b32dffep-1, 0x1.c688fb1938cf6p-57}, {0x1.8c24a316c8c3ap-1, -0x1.585a04b451620p-55}}},
    {Opcode::kSine, {{-0x1.a0bd663aea140p-2, -0x1.984c4377bdbe4p-56}, {-0x1.a1705d6530e80p-5, -0x1.158cfa15500c4p-59}}, {}, {{-0x1.95db72dd51bd8p-2, -0x1.864213b006892p-56}, {-0x1.7f8285f29ffaep-5, -0x1.4d92cb218eeffp-64}}},
    {Opcode::kSine, {{-0x1.5aa8a4259730ap+0, -0x1.5a37605992e2cp-59}, {-0x1.187c940308ea8p-2, 0x1.6901944160e60p-58}}, {}, {{-0x1.0373e9e413ec7p+0, -0x1.223d13e67c44ap-55}, {-0x1.e86c4c3debbe8p-5, 0x1.74ded767b6fc1p-59}}},
    {Opcode::kSine, {{-0x1.378eb5d25a726p+2, -0x1.14d9db3a5c8cep-53}, {-0x1.73a8dde865f90p+1, 0x1.652d7734044adp-53}}, {}, {{0x1.212b3ed655381p+3, 0x1.4d22d26734b5ap-51}, {-0x1.68f15fe3b7271p+0, 0x1.938a4e936902fp-55}}},
    {Opcode::kSine, {{0x1.c56805f986f40p-14, -0x1.b502662de1b85p-68}, {-0x1.f37940b432438p-14, 0x1.50a6428db5286p-69}}, {}, {{0x1.c5680620a5f8fp-14, -0x1.84c5b99a00dfcp-72}, {-0x1.f37940970a3f0p-14, 0x1.253e310dd4a58p-68}}},
    {Opcode::kSinh, {{0x1.fb9af49745c28p-2, -0x1.ba562b7f7de2ap-56}, {0x1.91cf7f5f554c0p-5, 0x1.85d2b7db2363ap-59}}, {}, {{0x1.0801ef5621bbbp-1, -0x1.c4eeba39cf1aap-55}, {0x1.c40429f6d64fep-5, -0x1.ababb94afd476p-59}}},
    {Opcode::kSinh, {{0x1.2748a51d4140ap+0, -0x1.d2cf05f52b04bp-55}, {0x1.e30443f02d9f0p+0, -0x1.c4f20905e68cep-55}}, {}, {{-0x1.c6059adff703cp-2, 0x1.d7daaa66ba4a6p-56}, {0x1.a7f405ace11c4p+0, 0x1.f0e85a6b9766ep-57}}},
    {Opcode::kSinh, {{-0x1.d776318c0b832p+2, 0x1.b0e74ae3bb4dcp-53}, {0x1.1db180973d136p+2, -0x1.a75586488edf3p-53}}, {}, {{0x1.850ac05e20bdbp+7, -0x1.c73ed11cdc139p-50}, {-0x1.7f69cd79dbcaep+9, 0x1.cf36b547caef8p-46}}},
    {Opcode::kSinh, {{-0x1.4616efec8e288p-13, -0x1.a0101ada07038p-68}, {0x1.af660e2b8b934p-11, -0x1.a08b010262712p-66}}, {}, {{-0x1.4616e8c695e5dp-13, -0x1.94ef9986003bbp-68}, {0x1.af660b5255d17p-11, 0x1.463d85f9a7ceap-65}}},
    {Opcode::kSqrt, {{-0x1.670c16bb50ba6p+0, -0x1.958cf36de4350p-57}, {0x1.ad3b4bc1e4658p+0, 0x1.581a1e4c48de1p-55}}, {}, {{0x1.40719817bdb6ap-1, 0x1.a969b2329d0fep-56}, {0x1.56e8e8fa5ece0p+0, -0x1.13498d0fd5e4ep-54}}},
    {Opcode::kSqrt, {{-0x1.a46404dc47afcp+0, -0x1.3c7abfa75a816p-55}, {-0x1.c517c519a71d8p+0, 0x1.0eb4de74c64fdp-56}}, {}, {{0x1.3e252883ca07cp-1, 0x1.e86f4f7b5b578p-55}, {-0x1.6c966b99afcfep+0, -0x1.0c26eb8fc564ap-54}}},
    {Opcode::kSqrt, {{-0x1.b5d9145d93eaep+2, -0x1.d6e99aa84da2ep-54}, {0x1.c0debf02278aap+2, 0x1.0ec8bba746b63p-52}}, {}, {{0x1.373e7b9677915p+0, -0x1.3210e47c8692ap-57}, {0x1.7132bc13f1550p+1, 0x1.17737ea0ecf6ep-57}}},
    {Opcode::kSqrt, {{-0x1.b47a43c8dc68ap-11, 0x1.7a51b12049b61p-65}, {0x1.7588657d684f4p-11, 0x1.0f0446614bd18p-65}}, {}, {{0x1.77eebe11b7581p-7, -0x1.b587aa3954c10p-61}, {0x1.fcbb4b30f205bp-6, 0x1.e5f8aca5d60e9p-60}}},
    {Opcode::kSqrt, {{-0x1.eeb9893fc1ccep+661, -0x1.a408bc5db6c10p+604}, {-0x1.ae5b7310c5801p+663, -0x1.6f3d8c049483bp+609}}, {}, {{0x1.200aeaecff42ep+331, -0x1.23d9c216106a7p+276}, {-0x1.7e7bad8b6c785p+331, 0x1.b3afaacba3f24p+277}}},
    {Opcode::kSqrt, {{-0x1.6be9b8037b773p-665, -0x1.396e677d1e513p-723}, {-0x1.229f1b4daf97ap-664, 0x1.30107617c92e9p-719}}, {}, {{0x1.1f0b68609374cp-333, 0x1.e9f1193d108d4p-387}, {-0x1.0330a9f441920p-332, 0x1.4383938f30756p-386}}},
    {Opcode::kTan, {{-0x1.8febf483f0d5ap+0, 0x1.67a0357178832p-54}, {-0x1.5aad16de7a372p+0, 0x1.9d8f2f7197584p-55}}, {}, {{-0x1.58fd3cd40dbd3p-9, 0x1.b738f4abecef9p-63}, {-0x1.248d0249e4c29p+0, 0x1.d9583f67908f7p-54}}},
    {Opcode::kTan, {{-0x1.810a205f0f694p-1, -0x1.8fab1a6da580ep-56}, {-0x1.8f5954780ac24p-1, 0x1.4f84035dc9485p-56}}, {}, {{-0x1.9081da35059f5p-2, 0x1.4be7f6b35e6a1p-56}, {-0x1.c8709bdce1bb3p-1, 0x1.c500933d24447p-55}}},
    {Opcode::kTan, {{0x1.739d6093f4000p-10, -0x1.c6da79d1aa395p-66}, {-0x1.49d49cdd5f860p+2, 0x1.3dd959a940b6cp-52}}, {}, {{0x1.9695d22505e60p-23, -0x1.fede42be4063cp-77}, {-0x1.fff73f34b78c4p-1, 0x1.ef3a0aade50fbp-58}}},
    {Opcode::kTan, {{-0x1.05ac66e4a1048p-11, -0x1.e7ed759183c75p-67}, {-0x1.fc324934e13cdp-11, -0x1.9f16770183261p-68}}, {}, {{-0x1.05ac58345d181p-11, 0x1.72a910222b145p-66}, {-0x1.fc32471280bdep-11, -0x1.7555dfc79d827p-67}}},
    {Opcode::kTanh, {{-0x1.3dff1dbe2d8d0p+0, -0x1.146e0a51ee329p-54}, {-0x1.9d858e08d92e0p-4, 0x1.459f56844adffp-58}}, {}, {{-0x1.b271b2b83a30dp-1, -0x1.2985f0d38f460p-55}, {-0x1.d42f9f63fe307p-6, -0x1.289eb769db76bp-62}}},
    {Opcode::kTanh, {{0x1.4693005336ac4p+0, -0x1.a1e22a78ce0b8p-61}, {-0x1.15ccf4afddff0p-2, -0x1.73d2e5b167cabp-57}}, {}, {{0x1.be89219b5f04dp-1, 0x1.4fd8e3987d9a2p-55}, {-0x1.216ac039b579ap-4, 0x1.adf842f2f3aa5p-59}}},
    {Opcode::kTanh, {{-0x1.b5eb600f33370p+0, -0x1.48dceece8ace6p-55}, {0x1.b62ba9d95bd00p-4, 0x1.a6c850de2d8aap-58}}, {}, {{-0x1.e0460ba52e105p-1, -0x1.6c8b22f8cddcap-55}, {0x1.aae7332ed2af5p-7, 0x1.d264a101d8674p-66}}},
    {Opcode::kTanh, {{-0x1.49df4fab29edep-12, -0x1.10c59e07df0a0p-67}, {0x1.5c6d7d612a014p-11, 0x1.7b066b886b268p-67}}, {}, {{-0x1.49df5880df79ep-12, 0x1.679552d5c2d64p-66}, {0x1.5c6d7e7b3a129p-11, -0x1.1164cb494dabap-66}}},
    {Opcode::kTanh, {{0x1.e000000000000p+4, 0}, {0x1.4000000000000p+0, 0}}, {}, {{0x1.0000000000000p+0, 0x1.15e6cf5f7003dp-86}, {0x1.9f3287e1edb7ap-87, -0x1.21d57e9078431p-141}}},
    {Opcode::kTanh, {{-0x1.e000000000000p+4, 0}, {0x1.4000000000000p+0, 0}}, {}, {{-0x1.0000000000000p+0, -0x1.15e6cf5f7003dp-86}, {0x1.9f3287e1edb7ap-87, -0x1.21d57e9078431p-141}}},
    {Opcode::kDivide, {{-0x1.865bb20568600p-2, 0x1.5be56b02dbd28p-56}, {-0x1.38369004a362cp-1, 0x1.ce4d50375c2aep-56}}, {{-0x1.b794702ff14f6p+0, 0x1.adbe77c5e3b1cp-55}, {0x1.ed5750e13e210p-1, -0x1.4c44c633e10aep-55}}, {{0x1.1b2f0d41ccfe0p-6, -0x1.58e23350b2a58p-60}, {0x1.7594e47f1d780p-2, -0x1.ea80d2df657fbp-56}}},
    {Opcode::kDivide, {{-0x1.a97ccc2ad9d1ep+0, -0x1.3b5183a9f9fdep-54}, {0x1.5d759db0c0bbep+0, 0x1.dcc8a1d7f3a1bp-56}}, {{-0x1.be99c366b6754p-1, 0x1.71ae4b529db67p-56}, {-0x1.07f955275614cp+0, 0x1.5681fb57a5d35p-58}}, {{0x1.7ab7cbd87fa4fp-6, -0x1.64f4540a02995p-60}, {-0x1.97a1028a641cep+0, 0x1.d960f1bed5067p-56}}},
    {Opcode::kDivide, {{-0x1.0c6ed833c15bbp-664, 0x1.fc6d4d9034d5ap-720}, {-0x1.53b5eb4033f92p-667, -0x1.39bf616612b22p-721}}, {{0x1.7273b5667ce69p-664, -0x1.7aae642dcdf62p-719}, {0x1.272d4a7832a0dp-667, 0x1.12e87d68d2a1ep-721}}, {{-0x1.7524cf270e0ccp-1, -0x1.2db3a5de20c9fp-55}, {-0x1.5861a9f654862p-5, -0x1.e633cffa4ae39p-59}}},
    {Opcode::kDivide, {{-0x1.fd90545da0406p+663, 0x1.fc797405f0558p+609}, {-0x1.7fb778eb407b1p+663, 0x1.6b5ff116491dep+607}}, {{-0x1.0f5e6b0c84338p+661, 0x1.449429a61e6ddp+606}, {0x1.d94b8015a4592p+657, 0x1.1ee4b14529e35p+597}}, {{0x1.b410937626445p+2, -0x1.faf7d89e0e935p-53}, {0x1.9984d9d8dbae2p+2, 0x1.f8d6bf2facaaep-52}}},
    {Opcode::kMultiply, {{-0x1.faee3f745ef8cp+0, 0x1.9feee3723e631p-54}, {-0x1.e2fb872ed62fcp-1, 0x1.844658f4f10e5p-57}}, {{-0x1.d55541cd921bap+0, 0x1.6f7f7b8bfb31fp-55}, {-0x1.e8f74b59a532cp+0, 0x1.054b4844476b2p-54}}, {{0x1.d41e49640fbf0p+0, 0x1.58cbd77333f4ap-55}, {0x1.60beeb8ce4624p+2, 0x1.3cf53c4c66647p-52}}},
    {Opcode::kMultiply, {{0x1.5e8c93ea4f6b8p-2, 0x1.5f4ea4c69492dp-57}, {0x1.de3dd6d3736c0p-4, 0x1.2d602fb3f8ab9p-59}}, {{0x1.ba5ac4c8b6eacp-1, -0x1.86fbaf8982836p-57}, {0x1.843059cc5c0e2p+0, -0x1.0df85fe8c8d2fp-55}}, {{0x1.e645f79806932p-4, -0x1.063436c7333c8p-63}, {0x1.3d6da8251788fp-1, 0x1.b02effacacfd8p-55}}},
    {Opcode::kPower, {{0x1.f05cd23f41a48p+0, 0x1.bd0cd6f0fda7fp-55}, {-0x1.66f321dba01a2p+0, -0x1.9b44c776d762fp-56}}, {{-0x1.d32938966b14ep+0, -0x1.6e334c2ffac98p-54}, {0x1.5756245b857aep+0, 0x1.5dbdfb8904029p-56}}, {{-0x1.4607d608f500bp-2, -0x1.1aa48485aede7p-56}, {0x1.63bddbc98bc7bp-2, 0x1.2f89bc07a2990p-57}}},
    {Opcode::kPower, {{0x1.deeddcb3783a4p-1, -0x1.597e00bb9cd1dp-55}, {0x1.3fb650c0b5918p+0, 0x1.e61c8e994138ep-59}}, {{0x1.1e761230fbe80p-6, 0x1.5d1cff2bc16c8p-61}, {0x1.56f9e1680d48ap+0, 0x1.bfcd56b5e56e0p-55}}, {{0x1.e737dced40cf1p-3, 0x1.0c562571a9e7fp-59}, {0x1.56305af8fa37bp-3, -0x1.5c0dbfbb37c8ap-57}}},
    {Opcode::kSubtract, {{0x1.5850e3988f278p-2, 0x1.f7ca561f3bf24p-58}, {0x1.9241f55b0825cp+0, 0x1.371152a8e4ce3p-55}}, {{-0x1.148a6b751bb72p+0, 0x1.95dbd10eb380dp-55}, {-0x1.e017747aa4434p+0, 0x1.0b7e212ddaf9dp-55}}, {{0x1.6a9ea45b3f810p+0, -0x1.56e2864acc028p-55}, {0x1.b92cb4ead6348p+1, 0x1.5c998bd84ea30p-58}}},
    {Opcode::kSubtract, {{-0x1.9490c6cfcaf92p+0, -0x1.7ad9866bfcc9bp-57}, {0x1.57e18339c705ap+0, 0x1.5f7e4c824dd83p-56}}, {{0x1.028304880cb40p-1, -0x1.623ef0e3fd20fp-61}, {0x1.72000f3e9b768p-1, -0x1.6f8c3169f8730p-55}}, {{-0x1.0ae92489e8a99p+1, -0x1.64b5975dbcf7ap-57}, {0x1.3dc2f734f294dp-1, -0x1.e0b4a854e0a0ep-55}}},
};
// clang-format on

double Size(const ComplexDoubleDouble& x) { return std::abs(x.high()); }

TEST(ComplexDoubleDouble, FunctionsHave94Bits) {
  for (const Value& v : kValues) {
    const ComplexDoubleDouble rest = *EvaluateComplex(v.opcode, v.a, v.b) - v.value;
    EXPECT_LE(Size(rest) / Size(v.value), 0x1p-94) << Name(v.opcode) << " of " << v.a.high();
  }
}

// The value is that of f64 if a double-double would overflow, or be on the other side of a branch cut.
TEST(ComplexDoubleDouble, SpecialValuesAreThoseOfF64) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto expect = [](Opcode opcode, const ComplexDoubleDouble& a, const std::complex<double>& want) {
    const ComplexDoubleDouble got = *EvaluateComplex(opcode, a, a);
    EXPECT_EQ(got.high(), want) << Name(opcode) << " of " << a.high();
    EXPECT_EQ(std::signbit(got.imag.high), std::signbit(want.imag())) << Name(opcode) << " of " << a.high();
  };
  expect(Opcode::kLog, {0.0, 0.0}, {-infinity, 0});
  expect(Opcode::kSqrt, {0.0, 0.0}, {0, 0});
  expect(Opcode::kSqrt, {-4.0, -0.0}, {0, -2});
  expect(Opcode::kSqrt, {-4.0, 0.0}, {0, 2});
  expect(Opcode::kLog, {-1.0, -0.0}, std::log(std::complex<double>(-1, -0.0)));
  expect(Opcode::kAsin, {2.0, -0.0}, std::asin(std::complex<double>(2, -0.0)));
  expect(Opcode::kSinh, {800.0, 1.0}, std::sinh(std::complex<double>(800, 1)));
  expect(Opcode::kTanh, {800.0, 1.0}, std::tanh(std::complex<double>(800, 1)));
}

}  // namespace
}  // namespace hlo::debug::complex_double_double_test
