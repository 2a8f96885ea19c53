#pragma once
// The counter-based generators of random bits: Threefry-2x32 with 20 rounds and Philox-4x32 with 10
// (semantics 7.3 and 7.4). They encrypt a counter with a key.

#include <array>
#include <cstdint>

#include "base/host_device.h"
#include "base/unroll.h"

namespace hlo {

HLO_HOST_DEVICE uint32_t LowWord(uint64_t x) { return static_cast<uint32_t>(x); }
HLO_HOST_DEVICE uint32_t HighWord(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
HLO_HOST_DEVICE uint64_t JoinWords(uint32_t low, uint32_t high) {
  return low | static_cast<uint64_t>(high) << 32;
}

template <class Word>
struct TwoWords {
  Word low, high;
};
// The rotation in round k of a group of four rounds, and the word that completes the key.
HLO_HOST_DEVICE constexpr int ThreeFryRotation(uint32_t group, int k) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  return kRotations[group % 2][k];
}
inline constexpr uint32_t kThreeFryGroups = 5, kThreeFryParity = 0x1BD11BDA;
// `Word` is uint32_t, or a vector of it that holds one block in each lane.
template <class Word>
HLO_HOST_DEVICE TwoWords<Word> ThreeFry(uint64_t key, TwoWords<Word> counter) {
  const uint32_t keys[3] = {LowWord(key), HighWord(key), kThreeFryParity ^ LowWord(key) ^ HighWord(key)};
  Word x = counter.low + keys[0], y = counter.high + keys[1];
  HLO_UNROLL_EVERYWHERE
  for (uint32_t group = 0; group < kThreeFryGroups; ++group) {
    HLO_UNROLL_EVERYWHERE
    for (int k = 0; k < 4; ++k) {
      const int rotation = ThreeFryRotation(group, k);
      x += y;
      y = (y << rotation | y >> (32 - rotation)) ^ x;
    }
    x += keys[(group + 1) % 3];
    y += keys[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

struct FourWords {
  std::array<uint32_t, 4> word;

  // Returns the words in pairs, as 64-bit numbers.
  HLO_HOST_DEVICE uint64_t Pair(int i) const { return JoinWords(word[2 * i], word[2 * i + 1]); }
};
HLO_HOST_DEVICE FourWords Philox(FourWords x, uint64_t key) {
  uint32_t k0 = LowWord(key), k1 = HighWord(key);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * x.word[0], b = uint64_t{0xCD9E8D57u} * x.word[2];
    x = {{HighWord(b) ^ x.word[1] ^ k0, LowWord(b), HighWord(a) ^ x.word[3] ^ k1, LowWord(a)}};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return x;
}
// Encrypts a 128-bit counter.
HLO_HOST_DEVICE FourWords Philox(uint64_t low, uint64_t high, uint64_t key) {
  return Philox({{LowWord(low), HighWord(low), LowWord(high), HighWord(high)}}, key);
}

}  // namespace hlo
