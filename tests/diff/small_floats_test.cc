// Tests conversions of small floats between memory and lanes against types/small_float.h.

#include <bit>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "types/dispatch.h"

namespace hlo::cpu::small_floats_test {
namespace {

// Returns the value of every code, adjacent numbers, midpoints between codes, and random bits.
template <class N>
std::vector<float> Samples() {
  std::vector<float> samples;
  const uint32_t codes = uint32_t{1} << N::format().bits();
  for (uint32_t code = 0; code < codes; ++code) {
    const float value = N::FromBits(static_cast<decltype(N::bits)>(code)).ToFloat();
    const float next = N::FromBits(static_cast<decltype(N::bits)>((code + 1) % codes)).ToFloat();
    const float half = value + (next - value) / 2;
    for (float x : {value, half}) {
      samples.push_back(x);
      samples.push_back(std::nextafter(x, INFINITY));
      samples.push_back(std::nextafter(x, -INFINITY));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100'000; ++i) samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (uint32_t bits : {0u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u, 0x7f800001u,
                        0x7f7fffffu, 0x00000001u, 0x80000001u})
    samples.push_back(std::bit_cast<float>(bits));
  return samples;
}

bool Same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

template <ElementType kType>
void ExpectRight() {
  using N = Native<kType>;
  const std::vector<float> samples = Samples<N>();
  const auto n = static_cast<int64_t>(samples.size());
  std::vector<N> stored(samples.size());
  std::vector<float> loaded(samples.size()), rounded(samples.size());
  const auto run = [&](const TileCall& call, void* out, const void* from) {
    const void* in[] = {from};
    call.function(n, out, in, call.parameter);
  };
  run(StoreTile(kType), stored.data(), samples.data());
  run(LoadTile(kType), loaded.data(), stored.data());
  run(RoundTile(kType), rounded.data(), samples.data());
  std::vector<N> again(samples.size());
  run(StoreRoundedTile(kType), again.data(), rounded.data());
  for (size_t i = 0; i < samples.size(); ++i) {
    const N want = N::FromFloat(samples[i]);
    ASSERT_EQ(stored[i].bits, want.bits) << Name(kType) << " of " << samples[i];
    ASSERT_TRUE(Same(loaded[i], want.ToFloat())) << Name(kType) << " code " << int{want.bits};
    ASSERT_TRUE(Same(rounded[i], want.ToFloat())) << Name(kType) << " of " << samples[i];
    ASSERT_EQ(again[i].bits, want.bits) << Name(kType) << " of " << rounded[i];
  }
}

TEST(SmallFloatsTest, LoadStoreAndRound) {
  for (int type = 0; type < kElementTypeCount; ++type) {
    DispatchType(static_cast<ElementType>(type), []<ElementType kType>() {
      if constexpr (requires(Native<kType> n) { n.ToFloat(); }) ExpectRight<kType>();
    });
  }
}

}  // namespace
}  // namespace hlo::cpu::small_floats_test
