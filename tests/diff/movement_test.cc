// Tests data movement through both engines: bit-equal for every type.

#include "engines.h"
#include "fmt/format.h"

namespace hlo::movement_test {
namespace {

constexpr const char* kTypes[] = {"u8", "bf16", "f32", "f64", "c128", "s4", "f8e4m3fn"};

// `body` uses {0} as its type.
void ExpectAgreement(std::string_view body) {
  for (const char* type : kTypes)
    test::ExpectEnginesAgree(fmt::format(fmt::runtime(body), type), {.specials = true});
}

TEST(MovementTest, TransposesAgreeWithTheReference) {
  ExpectAgreement(
      "ENTRY e {{ a = {0}[37,53] parameter(0)\n ROOT r = {0}[53,37] transpose(a), dimensions={{1,0}} }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[96,160] parameter(0)\n ROOT r = {0}[160,96] transpose(a), dimensions={{1,0}} }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[3,17,33] parameter(0)\n ROOT r = {0}[33,17,3] transpose(a), dimensions={{2,1,0}} "
      "}}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[5,7,4,9] parameter(0)\n ROOT r = {0}[5,4,7,9] transpose(a), dimensions={{0,2,1,3}} "
      "}}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[5,64,66] parameter(0)\n ROOT r = {0}[64,66,5] transpose(a), dimensions={{1,2,0}} "
      "}}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[0,4] parameter(0)\n ROOT r = {0}[4,0] transpose(a), dimensions={{1,0}} }}");
}

TEST(MovementTest, SliceReverseAndBroadcast) {
  ExpectAgreement(
      "ENTRY e {{ a = {0}[50,70] parameter(0)\n ROOT r = {0}[16,23] slice(a), slice={{[1:49:3],[1:70:3]}} "
      "}}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[31,2500] parameter(0)\n ROOT r = {0}[30,2400] slice(a), "
      "slice={{[1:31],[100:2500]}} }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[11,1031] parameter(0)\n ROOT r = {0}[11,1031] reverse(a), dimensions={{0,1}} }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[19] parameter(0)\n ROOT r = {0}[7,19,300] broadcast(a), dimensions={{1}} }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[] parameter(0)\n ROOT r = {0}[100,1000] broadcast(a), dimensions={{}} }}");
}

TEST(MovementTest, PadAndConcatenate) {
  ExpectAgreement(
      "ENTRY e {{ a = {0}[13,17] parameter(0)\n v = {0}[] parameter(1)\n"
      " ROOT r = {0}[30,14] pad(a, v), padding=3_2_1x-2_-1 }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[40,1100] parameter(0)\n v = {0}[] parameter(1)\n"
      " ROOT r = {0}[43,1105] pad(a, v), padding=1_2x3_2 }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[20,30,40] parameter(0)\n v = {0}[] parameter(1)\n"
      " ROOT r = {0}[21,29,46] pad(a, v), padding=-2_3x4_-5x0_6 }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[50,2] parameter(0)\n v = {0}[] parameter(1)\n"
      " ROOT r = {0}[51,100] pad(a, v), padding=0_1x100_-2 }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[9,300] parameter(0)\n b = {0}[9,1] parameter(1)\n c = {0}[9,0] parameter(2)\n"
      " ROOT r = {0}[9,301] concatenate(a, c, b), dimensions={{1}} }}");
}

// Loops that combine padded arrays, along one and two dimensions, with cropped and reversed ones.
TEST(MovementTest, SumsOfArraysWithInteriorPadding) {
  ExpectAgreement(
      "ENTRY e {{ a = {0}[20,40] parameter(0)\n b = {0}[19,40] parameter(1)\n v = {0}[] parameter(2)\n"
      " p = {0}[39,40] pad(a, v), padding=0_0_1x0_0\n q = {0}[39,40] pad(b, v), padding=1_1_1x0_0\n"
      " ROOT r = {0}[39,40] add(p, q) }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[3,30,9,17] parameter(0)\n b = {0}[3,46,9,17] parameter(1)\n"
      " v = {0}[] parameter(2)\n w = {0}[] parameter(3)\n"
      " p = {0}[3,91,9,17] pad(a, v), padding=0_0x-2_5_2x0_0x0_0\n"
      " t = {0}[3,91,9,17] reverse(p), dimensions={{1}}\n"
      " q = {0}[3,91,9,17] pad(b, w), padding=0_0x0_0_1x0_0x0_0\n"
      " ROOT r = {0}[3,91,9,17] add(t, q) }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[10,12,20] parameter(0)\n b = {0}[19,34,20] parameter(1)\n v = {0}[] parameter(2)\n"
      " p = {0}[19,34,20] pad(a, v), padding=0_0_1x0_0_2x0_0\n ROOT r = {0}[19,34,20] add(p, b) }}");
}

TEST(MovementTest, DynamicSlices) {
  for (const char* type : kTypes) {
    test::ExpectEnginesAgree(
        fmt::format(
            "ENTRY e {{ a = {0}[40,300] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n"
            " ROOT r = {0}[20,131] dynamic-slice(a, i, j), dynamic_slice_sizes={{20,131}} }}",
            type),
        {.specials = true, .index_range = 40});
    test::ExpectEnginesAgree(
        fmt::format("ENTRY e {{ a = {0}[40,300] parameter(0)\n u = {0}[20,131] parameter(1)\n"
                    " i = s32[] parameter(2)\n j = s32[] parameter(3)\n"
                    " ROOT r = {0}[40,300] dynamic-update-slice(a, u, i, j) }}",
                    type),
        {.specials = true, .index_range = 40});
  }
}

TEST(MovementTest, ABitcastOfDefaultLayoutsIsAReshape) {
  ExpectAgreement("ENTRY e {{ a = {0}[6,10] parameter(0)\n ROOT r = {0}[3,20] bitcast(a) }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[6,10] parameter(0)\n b = {0}[6,1,10] bitcast(a)\n"
      " ROOT r = {0}[10,1,6] transpose(b), dimensions={{2,1,0}} }}");
}

TEST(MovementTest, ABitcastBetweenLayoutsIsATransposeOrAReshape) {
  ExpectAgreement("ENTRY e {{ a = {0}[6,10]{{1,0}} parameter(0)\n ROOT r = {0}[10,6]{{0,1}} bitcast(a) }}");
  ExpectAgreement("ENTRY e {{ a = {0}[16,1]{{1,0}} parameter(0)\n ROOT r = {0}[1,16]{{0,1}} bitcast(a) }}");
  ExpectAgreement(
      "ENTRY e {{ a = {0}[4,2,3]{{2,1,0}} parameter(0)\n b = {0}[2,3,1,4]{{1,0,3,2}} bitcast(a)\n"
      " ROOT r = {0}[4,1,3,2] transpose(b), dimensions={{3,2,1,0}} }}");
}

}  // namespace
}  // namespace hlo::movement_test
