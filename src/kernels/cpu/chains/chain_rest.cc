// This file runs chains on the tail of a tile, after its last half strip.

#include <cstring>

#include "base/check.h"
#include "kernels/cpu/chains/tile_chain.h"

namespace hlo::cpu {

// Runs the chain on copies that are padded with zeros.
void RunChainRest(int64_t i, int64_t n, ChainStep* steps, const ChainPointer* pointers, int64_t count) {
  HLO_CHECK(count <= kLongestChain);
  alignas(64) std::byte copies[2 * kLongestChain][kHalfStrip * 4];
  void *whole[kLongestChain], *whole_second[kLongestChain];
  const auto copy = [&](const void* from, ChainForm form, std::byte* to) {
    const int64_t width = ChainWidth(form);
    CopyPadded(to, static_cast<const std::byte*>(from) + i * width, (n - i) * width, kHalfStrip * width);
  };
  // Returns the operand of step k: the output of an earlier step at this address, or a padded copy.
  const auto tail = [&](int64_t k, const void* from, ChainForm form, std::byte* to) -> std::byte* {
    for (int64_t before = 0; before < k; ++before) {
      if (pointers[before].is_store && whole[before] == from) return copies[before];
    }
    copy(from, form, to);
    return to;
  };
  for (int64_t k = 0; k < count; ++k) {
    whole[k] = steps[k].operand;
    whole_second[k] = steps[k].second;
    if (steps[k].operand == nullptr || pointers[k].form == ChainForm::kScalar) {
    } else if (pointers[k].form == ChainForm::kCount) {
      uint32_t first;
      std::memcpy(&first, steps[k].operand, sizeof first);
      first += static_cast<uint32_t>(i);
      std::memcpy(copies[k], &first, sizeof first);
      steps[k].operand = copies[k];
    } else {
      steps[k].operand = pointers[k].is_store ? copies[k] : tail(k, whole[k], pointers[k].form, copies[k]);
    }
    if (pointers[k].has_second && pointers[k].second_form != ChainForm::kScalar)
      steps[k].second = tail(k, steps[k].second, pointers[k].second_form, copies[kLongestChain + k]);
  }
  const Vector<float> none{};
  steps[0].function.half(steps, 0, none, none, none, none, none, none, none, none);
  for (int64_t k = 0; k < count; ++k) {
    steps[k].operand = whole[k];
    steps[k].second = whole_second[k];
    if (!pointers[k].is_store) continue;
    const int64_t width = ChainWidth(pointers[k].form);
    CopyFew(static_cast<std::byte*>(whole[k]) + i * width, copies[k], (n - i) * width);
  }
}

}  // namespace hlo::cpu
