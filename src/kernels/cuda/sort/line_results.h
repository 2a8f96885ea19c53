#pragma once
// The results of sorts that keep a line in shared memory.

#include "kernels/cuda/memory/words.h"
#include "kernels/cuda/sort/sort_lines.h"

namespace hlo::cuda {

constexpr int kMaxMovedArrays = 8;

struct MovedArray {
  const void* in = nullptr;
  void* out = nullptr;
  uint32_t width = 4;  // Bytes of an element.
};

struct LineResults {
  uint32_t kept = 0;  // Elements of a sorted line that are stored.
  uint32_t array_count = 0;
  MovedArray arrays[kMaxMovedArrays];
  int32_t* indices = nullptr;  // The indices of the elements in their line before the sort, or nullptr.
  uint32_t* order = nullptr;   // The numbers of the elements, or nullptr.

  // The address of element t of a stored line is First + t * Stride.
  HLO_DEVICE int64_t First(const SortLines& lines, uint32_t line) const {
    return kept == lines.length ? lines.Address(line, 0) : int64_t{line} * kept;
  }
  HLO_DEVICE int64_t Stride(const SortLines& lines) const {
    return kept == lines.length ? lines.stride() : 1;
  }
  // Element t of the sorted line came from index `index`.
  HLO_DEVICE void StoreIndex(const SortLines& lines, uint32_t line, uint32_t t, uint32_t index) const {
    if (indices != nullptr) indices[int64_t{line} * kept + t] = static_cast<int32_t>(index);
    if (order != nullptr) order[line * lines.length + t] = line * lines.length + index;
  }
};

template <class Word>
HLO_DEVICE void CopyWord(const void* in, int64_t from, void* out, int64_t to) {
  static_cast<Word*>(out)[to] = static_cast<const Word*>(in)[from];
}
HLO_DEVICE void CopyElement(uint32_t width, const void* in, int64_t from, void* out, int64_t to) {
  switch (width) {
    case 1:
      return CopyWord<uint8_t>(in, from, out, to);
    case 2:
      return CopyWord<uint16_t>(in, from, out, to);
    case 4:
      return CopyWord<uint32_t>(in, from, out, to);
    case 8:
      return CopyWord<uint64_t>(in, from, out, to);
    default:
      return CopyWord<Word16>(in, from, out, to);
  }
}

}  // namespace hlo::cuda
