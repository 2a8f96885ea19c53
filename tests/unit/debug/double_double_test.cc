// Tests the elementary functions in double-double against values of mpmath with 600 bits.

#include "debug/shadow/double_double.h"

#include <gtest/gtest.h>

#include <string>

namespace hlo::debug::double_double_test {
namespace {

// x and f(x) are sums of two doubles.
struct Value {
  std::string name;
  DoubleDouble (*function)(const DoubleDouble&);
  double x, x_low, value, value_low;
};
const Value kValues[] = {
    {"Sqrt", Sqrt, 0x1.0313b8460bf0ap+4, -0x1.69d3ed1ee37dcp-51, 0x1.0188aef6e026dp+2,
     -0x1.e10400dcbbf6ep-57},
    {"Sqrt", Sqrt, 0x1.046067a9323efp+5, -0x1.bd4f70a5c2f68p-50, 0x1.6d1ec9dc642dcp+2, 0x1.e87b58994eb1dp-52},
    {"Sqrt", Sqrt, 0x1.acb6891723897p+4, -0x1.cca5b4d351335p-52, 0x1.4b494355b86f8p+2,
     -0x1.b405bd4411f10p-52},
    {"Cbrt", Cbrt, -0x1.6199d1f907938p+5, -0x1.508c4d19556ddp-55, -0x1.c4918f4b45d79p+1,
     -0x1.51fa59a0e87f2p-55},
    {"Cbrt", Cbrt, -0x1.7200e39f67c04p+5, 0x1.88d23ccb80318p-52, -0x1.cb75fe9aa4e86p+1,
     0x1.1efaaacbefcc8p-55},
    {"Cbrt", Cbrt, -0x1.581d9bf7ef070p+5, 0x1.19af22c06e496p-49, -0x1.c07c3659e2dcep+1,
     0x1.e777238b3080ep-55},
    {"Exp", Exp, -0x1.6a4ed20488a0cp+5, -0x1.d9af35f8c73cdp-50, 0x1.9535b2832ce3ep-66,
     0x1.31e75c9dcab07p-120},
    {"Exp", Exp, -0x1.c370099be1ee8p+7, 0x1.f3c2eb3d6abe9p-48, 0x1.47c709a4f1b66p-326,
     0x1.b41e814bd7864p-381},
    {"Exp", Exp, 0x1.31d6f8cae6294p+6, 0x1.11dab7d4bab5cp-48, 0x1.3d018ff850375p+110, -0x1.a4e0b71ea0721p+56},
    {"Exp", Exp, 0x1.3bd04d2bcc158p-3, -0x1.0509aa409da4ep-59, 0x1.2aaee37d6d17fp+0, 0x1.427768ef7655fp-54},
    {"Exp", Exp, 0x1.e7af6b1c4c68cp-1, -0x1.ba3ff6ac41f05p-55, 0x1.4bcd7ce056065p+1, -0x1.4c7153d57748bp-53},
    {"Exp", Exp, 0x1.6f125b110bdf4p-1, -0x1.34e9f5f86b947p-56, 0x1.0629c6fbec22fp+1, 0x1.715ec470b3473p-56},
    {"Expm1", Expm1, -0x1.c75a7e897d81ap+3, 0x1.5c144ba2dd601p-51, -0x1.ffffe9d3ab59cp-1,
     0x1.93268ff3b4c2ep-55},
    {"Expm1", Expm1, -0x1.ea495a0cb7b98p+2, -0x1.35fc28671f03cp-52, -0x1.ffc2450a80eddp-1,
     0x1.214846c195bd3p-55},
    {"Expm1", Expm1, -0x1.98ab946f82d6ap+3, -0x1.0ac7cc76e4432p-53, -0x1.ffffa0a1ff22ep-1,
     0x1.0420598b76a84p-57},
    {"Expm1", Expm1, 0x1.c731104cf3b48p-6, -0x1.d0ab28b0eb5a6p-62, 0x1.cd92e7b236be9p-6,
     -0x1.e3f683e9658f6p-61},
    {"Expm1", Expm1, 0x1.38e5ebe0f60d0p-7, -0x1.119ae2e632290p-61, 0x1.3a65957e389a2p-7,
     -0x1.99204d4323bd7p-62},
    {"Expm1", Expm1, -0x1.68c65427036f7p-4, 0x1.a854a5be4e521p-59, -0x1.5957b6fb66604p-4,
     0x1.569fcbb8a0ce1p-58},
    {"Log", Log, 0x1.54333ccb3b5afp+9, -0x1.8a21361357dc5p-48, 0x1.a1739c3a96222p+2, -0x1.19dda9f3e20acp-53},
    {"Log", Log, 0x1.3a25d9e7e6bb9p+8, 0x1.ae10b1fdd3e93p-49, 0x1.6ffdc48bd237ep+2, -0x1.85744bd2ab614p-52},
    {"Log", Log, 0x1.c52f57203ddb1p+8, -0x1.6af86667ca43fp-47, 0x1.877176a686e49p+2, -0x1.2c4cfe93bc45dp-52},
    {"Log", Log, 0x1.0f127da12687ap+0, 0x1.af88f0698a148p-56, 0x1.d4a59977db0a2p-5, -0x1.b363ee2ded4e1p-59},
    {"Log", Log, 0x1.e5cba4c10c390p-1, 0x1.213cd4886a511p-57, -0x1.ae61e1486d34ep-5, -0x1.35737cad7927cp-60},
    {"Log", Log, 0x1.014a416ff7ffbp+0, 0x1.82139bd38848cp-55, 0x1.496d201a898e7p-8, -0x1.23300a46bb6a3p-62},
    {"Log1p", Log1p, 0x1.c342d31e569d8p+2, -0x1.7ec81d1709b8fp-53, 0x1.0afb2f4d1fadap+1,
     0x1.cca9bdcf237f4p-54},
    {"Log1p", Log1p, 0x1.3915c1b1fdd6cp+3, -0x1.de4fbd5b49bbdp-52, 0x1.306419b548b4dp+1,
     0x1.7234d32238630p-53},
    {"Log1p", Log1p, 0x1.d42a3ae191c39p+1, 0x1.e189992425192p-54, 0x1.89da4b24fb789p+0,
     -0x1.ed3fa5f683f31p-60},
    {"Log1p", Log1p, -0x1.6cebb0ac961eep-11, 0x1.01c4143607214p-70, -0x1.6d0c377b3e05cp-11,
     -0x1.522fc9374a29fp-67},
    {"Log1p", Log1p, -0x1.e32d1c2df0304p-11, -0x1.451c91e0ba535p-66, -0x1.e366245a81466p-11,
     -0x1.9a0ef7d9bb724p-65},
    {"Log1p", Log1p, 0x1.156c337c591d6p-11, 0x1.4425124a18e43p-68, 0x1.15596af93fa7bp-11,
     -0x1.0d0167aee351ep-65},
    {"Sin", Sin, 0x1.e09c91c2efc0cp+2, -0x1.660f77de00158p-53, 0x1.e1ee17a84b6d3p-1, 0x1.b64b06b5d7f67p-57},
    {"Sin", Sin, 0x1.f3f4c5700e9ccp+1, 0x1.797246e319791p-55, -0x1.62536368a0870p-1, 0x1.60455bad8d06fp-58},
    {"Sin", Sin, 0x1.99103dfe02c80p+0, -0x1.1ea30352b7dc5p-57, 0x1.ffcfd857e84f5p-1, -0x1.8dcca275452cdp-57},
    {"Sin", Sin, 0x1.48bccf6de7401p+16, 0x1.245de2962c769p-38, -0x1.6204ed96fae78p-3, 0x1.00f391462462ep-57},
    {"Sin", Sin, 0x1.767f7886f1ca8p+15, 0x1.ebcc1b649188ep-41, 0x1.ef4d1c18f6978p-1, -0x1.87baddd880883p-55},
    {"Sin", Sin, 0x1.b5e45f91818c1p+12, 0x1.60ed52bf5642bp-43, 0x1.fe54052843febp-2, 0x1.4df7f7e70e485p-56},
    {"Cos", Cos, 0x1.78a65db8f15a8p+1, 0x1.7372f45376c43p-53, -0x1.f5e4dbe5315f0p-1, -0x1.0c9aa138e951fp-56},
    {"Cos", Cos, 0x1.9c1050674d720p+2, -0x1.630a9ddd2328bp-53, 0x1.f9d65c1553d8dp-1, -0x1.af584f22f91dap-55},
    {"Cos", Cos, -0x1.245fb86425a8ep+1, -0x1.8a7a2ba0b8b05p-55, -0x1.4f0c205ce1d24p-1, 0x1.14551ed2f63b7p-55},
    {"Cos", Cos, 0x1.94375b2810d40p+11, -0x1.ef77e85027781p-47, -0x1.0721c7487bee3p-1,
     -0x1.19f09b0400ac0p-55},
    {"Cos", Cos, 0x1.13932875c4846p+14, -0x1.a61336c9a2cc5p-41, 0x1.fccff5d9fc7fep-1, -0x1.ed4033e703538p-60},
    {"Cos", Cos, 0x1.ab47ccdb45230p+12, 0x1.ca715fdee47fdp-43, 0x1.db1d5bd556d96p-1, -0x1.46fb0d96fc815p-55},
    {"Tanh", Tanh, -0x1.da71cbc9dca2ep+1, 0x1.def8958f571d7p-54, -0x1.ff61f5a90288dp-1,
     0x1.f85fabcaedb73p-58},
    {"Tanh", Tanh, -0x1.172b33da9e6a4p+0, -0x1.9ec1f53482304p-55, -0x1.981876d390514p-1,
     0x1.d3df81c03a557p-55},
    {"Tanh", Tanh, -0x1.0c6d8f42b0d19p+2, 0x1.b476f840aaa8dp-56, -0x1.ffc4606a130c6p-1,
     -0x1.af0681b61bd5ap-59},
    {"Tanh", Tanh, 0x1.03351f6e67970p-10, 0x1.8d80fd95fa149p-65, 0x1.033519e51b22fp-10,
     0x1.d8ea89c48b89ap-66},
    {"Tanh", Tanh, 0x1.a27c893c4bf22p-8, 0x1.30a5289e190a3p-62, 0x1.a27b1478444a5p-8, -0x1.9207325e39ddfp-62},
    {"Tanh", Tanh, -0x1.226d8da0be748p-8, 0x1.899aa85b473b2p-65, -0x1.226d1107b0d99p-8,
     0x1.546987e425154p-62},
    {"Sinh", Sinh, -0x1.698bbaa587540p+2, -0x1.15ce7e952b117p-52, -0x1.1c0c1feecf272p+7,
     -0x1.f94e1667fe547p-47},
    {"Sinh", Sinh, 0x1.24f2ae3275ca6p+4, -0x1.990c4ced74eb1p-51, 0x1.553e90616b624p+25,
     0x1.35bf9cdad0a26p-29},
    {"Sinh", Sinh, -0x1.9e70f987cad19p+3, 0x1.bc5a43198b9fbp-52, -0x1.9b810e9de606ap+17,
     0x1.2a9911e318ffep-39},
    {"Sinh", Sinh, -0x1.b4e6f3fd878c7p-5, 0x1.a477dbdbaa367p-64, -0x1.b51bfbb7f3ac5p-5,
     -0x1.91512f5107f52p-59},
    {"Sinh", Sinh, 0x1.240a36b1166f8p-6, -0x1.15265a0b8fda5p-61, 0x1.240e2c3032360p-6,
     -0x1.e18151b2b984bp-60},
    {"Sinh", Sinh, -0x1.963f1bf1152e5p-4, 0x1.076beef3f4658p-60, -0x1.96e9b2c313495p-4,
     -0x1.88777800e5d38p-59},
    {"Cosh", Cosh, -0x1.4eb5fa7cdc2a8p+2, -0x1.634833e14ae61p-55, 0x1.758afd56ebb1bp+6,
     0x1.87cfcaae9281fp-50},
    {"Cosh", Cosh, 0x1.21fb906a0a10ep+4, 0x1.b9eb3b97f0a0fp-52, 0x1.1b8409ef0ed8cp+25,
     -0x1.df7681de63432p-29},
    {"Cosh", Cosh, 0x1.3d43b98092c20p-1, 0x1.2a76ce486f7c3p-57, 0x1.32bde38ebbeb2p+0, 0x1.2af63f96bfb52p-57},
    {"Erf", Erf, 0x1.c3127c6cbb2a8p+0, -0x1.925ce20222a37p-54, 0x1.f97e51dca2921p-1, -0x1.d609ab1a0f05bp-57},
    {"Erf", Erf, 0x1.ff66fa0b5b520p+1, 0x1.1e5aa3737cf40p-53, 0x1.ffffff76606d6p-1, -0x1.79c0d14d7c607p-56},
    {"Erf", Erf, 0x1.df607aece45b0p+1, 0x1.1d9643d277d82p-53, 0x1.fffffc098ceb1p-1, -0x1.4a851496bf1b6p-57},
    {"Erf", Erf, -0x1.60a71dc359c68p-6, 0x1.1d00d05e0d000p-62, -0x1.8ddd583099f46p-6, 0x1.e7ef40dd3d236p-60},
    {"Erf", Erf, -0x1.44c84c3517918p-4, -0x1.5ceb4b023f0aep-60, -0x1.6db60ac13252cp-4, 0x1.c7216aa4ff71cp-58},
    {"Erf", Erf, -0x1.669b491fae7c5p-4, 0x1.364dd220a9b3ep-58, -0x1.939cd9a023c98p-4, 0x1.b8bdee24881a1p-58},
    {"Exp2", Exp2, 0x1.3aa0dad1be0e0p+3, 0x1.304acaaf18e48p-52, 0x1.c7c2f8bdfc89dp+9, -0x1.cabb9b913bcffp-45},
    {"Exp2", Exp2, 0x1.79d9070e78b3ep+4, 0x1.4e5b9246ab93bp-50, 0x1.8835f34d3520fp+23, 0x1.88a9b3176bec9p-32},
    {"Exp2", Exp2, 0x1.3a709aa844d4cp-8, 0x1.099774c5b296dp-62, 0x1.00da50e0a4efep+0, -0x1.637b3768db472p-54},
    {"Exp2", Exp2, -0x1.34abcf693d1a5p-7, 0x1.538fb8f1bcd19p-65, 0x1.fcaaf845071cep-1,
     -0x1.4fa87e40a0fbep-58},
    {"Log2", Log2, 0x1.d7adaac2395dcp+9, 0x1.191282c049fb0p-46, 0x1.3c368e5f43411p+3, 0x1.44742efad410ap-53},
    {"Log2", Log2, 0x1.c273468f9c31dp+9, -0x1.5c76858743804p-45, 0x1.3a1650e043dd8p+3,
     -0x1.5789ad196b4a6p-53},
    {"Log2", Log2, 0x1.ffaeea96df21ep-1, -0x1.03595053780fep-55, -0x1.d40f8521eba00p-11,
     -0x1.b8c10e35fafeap-66},
    {"Log2", Log2, 0x1.00395bb52f6d7p+0, 0x1.2f20d030fdf14p-57, 0x1.4adb63c0f8d38p-10, 0x1.9f0e8ccc7bfb0p-64},
    {"Asin", Asin, -0x1.d9a47bf3e357fp-1, 0x1.0c566e47b43a5p-55, -0x1.2e66accfa066dp+0,
     0x1.97c2ceb9f3762p-54},
    {"Asin", Asin, -0x1.ad0a0306eb50cp-2, -0x1.6541c3d5c23ecp-56, -0x1.bab38b813d872p-2,
     -0x1.31f04fbf91715p-57},
    {"Asin", Asin, 0x1.16a221fdcbdc0p-11, -0x1.7b61e82be00f5p-66, 0x1.16a222d9d9871p-11,
     0x1.3d9fb1b934053p-66},
    {"Asin", Asin, 0x1.3794c9c3cbd62p-11, -0x1.c2368fb5d50c3p-66, 0x1.3794caf781c82p-11,
     -0x1.f624fca106740p-65},
    {"Acos", Acos, 0x1.c907ffd85e3a0p-3, -0x1.5538610ec71afp-57, 0x1.5882842190f37p+0,
     -0x1.4f1a81f3240d8p-57},
    {"Acos", Acos, -0x1.e4ac64dcf6bacp-1, -0x1.68051f74e261ap-55, 0x1.681d9fba7eccep+1,
     -0x1.686ed6d33f7c3p-53},
    {"Acos", Acos, 0x1.fbf112c2ac2c3p-1, -0x1.2109b7482ebf4p-55, 0x1.02079b96683c7p-3,
     -0x1.33e48b0ee0382p-57},
    {"Acos", Acos, 0x1.ffdc150b70823p-1, 0x1.7d3db589a7e82p-55, 0x1.7f91f0a19dc7fp-6, 0x1.c93142dba0053p-63},
    {"Asinh", Asinh, -0x1.511c9a71450d0p+4, -0x1.3723a85f44db0p-50, -0x1.deeaa33071510p+1,
     -0x1.ea95c16a3573cp-59},
    {"Asinh", Asinh, 0x1.f60f7679ca500p+1, 0x1.652066733128ap-54, 0x1.09b0b1c711a96p+1,
     0x1.580648a4aaf5bp-53},
    {"Asinh", Asinh, -0x1.358fa54871bf6p-11, -0x1.11049ea715527p-65, -0x1.358fa41aae120p-11,
     -0x1.2db33dba67ec1p-66},
    {"Asinh", Asinh, 0x1.8fce1cdfa4854p-12, 0x1.7511d1e9fc5c5p-66, 0x1.8fce1c3d1eb97p-12,
     0x1.a2121d35fe607p-66},
    {"Acosh", Acosh, 0x1.666e86cad6f1ep+5, -0x1.207b5646ec6f7p-50, 0x1.1fb34fd40177bp+2,
     0x1.84103deb8eadap-55},
    {"Acosh", Acosh, 0x1.2c31ebd7c722fp+4, -0x1.911d00b96f70cp-51, 0x1.cfe866771dab8p+1,
     -0x1.3f858a95abe60p-53},
    {"Acosh", Acosh, 0x1.006515ff99b23p+0, -0x1.bdfbd916df696p-55, 0x1.c6f0bf9490fd8p-5,
     -0x1.7ac8378e31578p-59},
    {"Acosh", Acosh, 0x1.00ca13cacd8e5p+0, 0x1.a7a40c362db7ap-57, 0x1.419330cfd6fbap-4,
     0x1.2d7368730398ap-58},
    {"Atanh", Atanh, -0x1.c9ae9f3b57ddap-1, -0x1.45bfd1e05f5acp-56, -0x1.70e9233ea8b5cp+0,
     -0x1.e5e65bfc1dcd6p-58},
    {"Atanh", Atanh, -0x1.2ac9db70c9d68p-2, 0x1.c642534bb26a9p-58, -0x1.33bab92b60bf6p-2,
     0x1.c176ee958f075p-56},
    {"Atanh", Atanh, 0x1.4dfd8b6bb350ep-11, -0x1.9b943e00b6cc9p-70, 0x1.4dfd8e61af9a9p-11,
     -0x1.feb03368e63e9p-65},
    {"Atanh", Atanh, -0x1.824f52c13a0fep-12, 0x1.d05a7b1df5577p-71, -0x1.824f53e674909p-12,
     0x1.303d5c40f8200p-67},
};

struct ValueOfTwo {
  std::string name;
  DoubleDouble (*function)(const DoubleDouble&, const DoubleDouble&);
  double x, y, value, value_low;
};
const ValueOfTwo kValuesOfTwo[] = {
    {"Pow", Pow, 0x1.0bb928271ae46p+2, -0x1.59cd3171eddeap+2, 0x1.cbbcb68ea232cp-12, 0x1.754de7958fa23p-66},
    {"Pow", Pow, 0x1.b3b0e808117c5p+2, -0x1.ca299ef2e539cp+2, 0x1.2421738bf075cp-20, -0x1.9044af87aa34dp-75},
    {"Pow", Pow, 0x1.e07cb828fa45ep-7, -0x1.651ace3b50144p+2, 0x1.fc702ad0e87ebp+33, 0x1.e1062ff86b7a3p-21},
    {"Pow", Pow, 0x1.04e61ed16e887p+1, -0x1.1753ae62e21d8p+1, 0x1.b0f50ed45fadcp-3, -0x1.554e7ff6cec5dp-59},
    {"Atan2", Atan2, -0x1.2fadef4a5fefep+2, 0x1.df253bc145be0p+1, -0x1.ce43b761e3828p-1,
     -0x1.dd08b39ee0413p-55},
    {"Atan2", Atan2, 0x1.2404407864b58p+0, -0x1.c1dafa1a7e957p+1, 0x1.69f3c924d4065p+1,
     -0x1.2a5789a000948p-56},
    {"Atan2", Atan2, -0x1.3d1c2da72007cp+1, -0x1.86aec97f454a0p+0, -0x1.0fbb39842b1aep+1,
     0x1.3f8c2f3b25bd0p-54},
    {"Atan2", Atan2, -0x1.5bbdd92845832p+0, -0x1.e2c30ecd8b1ecp+1, -0x1.65dff248a5c5ap+1,
     -0x1.72e031bac09ddp-54},
    {"Remainder", Remainder, 0x1.47787a3339590p+4, -0x1.1524ae7d690cep+1, 0x1.f5e6bcc465508p-1, 0x0.0p+0},
    {"Remainder", Remainder, 0x1.5f359e1e495bap+5, 0x1.7f786f6905f67p+2, 0x1.f587944c847fcp+0, 0x0.0p+0},
    {"Remainder", Remainder, -0x1.818bc4cd17e98p+5, 0x1.70aa5d27245a4p+1, -0x1.0e167a5f38f40p+1, 0x0.0p+0},
    {"Remainder", Remainder, 0x1.f6853fe0fcbe0p+2, -0x1.b8bf8474dc100p+1, 0x1.ee2ddb6105700p-1, 0x0.0p+0},
};

constexpr double kBits = 0x1p-96;

TEST(DoubleDouble, FunctionsHave96Bits) {
  for (const Value& v : kValues) {
    const DoubleDouble got = v.function({v.x, v.x_low});
    const double error = ((got.high - v.value) + (got.low - v.value_low)) / v.value;
    EXPECT_LE(std::fabs(error), kBits) << v.name << " of " << v.x;
  }
}

TEST(DoubleDouble, FunctionsOfTwoHave96Bits) {
  for (const ValueOfTwo& v : kValuesOfTwo) {
    const DoubleDouble got = v.function(v.x, v.y);
    const double error = ((got.high - v.value) + (got.low - v.value_low)) / v.value;
    EXPECT_LE(std::fabs(error), kBits) << v.name << " of " << v.x << ", " << v.y;
  }
}

// 1/3 in binary repeats 01; two doubles hold 106 bits of it.
TEST(DoubleDouble, ArithmeticHoldsTwiceTheBits) {
  const DoubleDouble third = DoubleDouble(1) / 3;
  const DoubleDouble rest = third * 3 - 1;
  EXPECT_LE(std::fabs(rest.high), 0x1p-104);
  EXPECT_EQ((DoubleDouble(1) + 0x1p-80).low, 0x1p-80);
  EXPECT_EQ((DoubleDouble(1) + 0x1p-80 - 1).high, 0x1p-80);
  EXPECT_EQ((DoubleDouble(1 + 0x1p-52) * (1 + 0x1p-52)).low, 0x1p-104);
}

// The low part decides where the high part is an integer or half of one.
TEST(DoubleDouble, RoundsToIntegers) {
  const auto expect = [](const DoubleDouble& x, double floor, double ceil, double away, double even) {
    EXPECT_EQ(Floor(x).high, floor);
    EXPECT_EQ(Ceil(x).high, ceil);
    EXPECT_EQ(RoundAway(x).high, away);
    EXPECT_EQ(RoundEven(x).high, even);
  };
  expect({3, -0x1p-60}, 2, 3, 3, 3);
  expect({3, 0x1p-60}, 3, 4, 3, 3);
  expect(2.5, 2, 3, 3, 2);
  expect({2.5, -0x1p-60}, 2, 3, 2, 2);
  expect({2.5, 0x1p-60}, 2, 3, 3, 3);
  expect(-2.5, -3, -2, -3, -2);
  expect({-2.5, 0x1p-60}, -3, -2, -2, -2);
  expect(3.5, 3, 4, 4, 4);
  EXPECT_EQ(Sign(-3).high, -1);
}

}  // namespace
}  // namespace hlo::debug::double_double_test
