// Tests rng-bit-generator on the CPU and on the emulated GPU: the bits and the next state of the reference.

#include "fixtures.h"
#include "fmt/format.h"

namespace hlo::random_test {
namespace {

constexpr const char* kTypes[] = {"u32", "s32", "u64", "s64",  "f32", "u16",
                                  "s8",  "u4",  "s4",  "bf16", "f64", "s1"};

template <class Fixture>
struct RandomBitsTest : Fixture {
  static void ExpectBits(const char* algorithm, const char* state_type, const char* state) {
    for (const char* type : kTypes) {
      for (const char* dims : {"", "1", "7", "2", "5,7", "4,3", "3,4,5", "0,3", "1031", "33,129"}) {
        Fixture::ExpectAgrees(fmt::format("ENTRY e {{ s = {1} constant({2})\n"
                                          " ROOT r = ({1}, {3}[{4}]) rng-bit-generator(s), algorithm={0} }}",
                                          algorithm, state_type, state, type, dims),
                              "random bits");
      }
    }
  }
};
TYPED_TEST_SUITE(RandomBitsTest, test::Fixtures, test::FixtureNames);

// The counters of some states overflow 32 or 64 bits.
TYPED_TEST(RandomBitsTest, ThreeFry) {
  this->ExpectBits("rng_three_fry", "u64[2]", "{1234567890123456789, 5}");
  this->ExpectBits("rng_three_fry", "u64[2]", "{9, 4294967290}");
  this->ExpectBits("rng_three_fry", "u64[2]", "{18446744073709551615, 18446744073709551610}");
}

TYPED_TEST(RandomBitsTest, PhiloxHasTheBitsOfTheReference) {
  for (const char* algorithm : {"rng_philox", "rng_default"}) {
    this->ExpectBits(algorithm, "u64[2]", "{1234567890123456789, 18446744073709551610}");
    this->ExpectBits(algorithm, "u64[3]", "{1234567890123456789, 18446744073709551610, 7}");
  }
}

}  // namespace
}  // namespace hlo::random_test
