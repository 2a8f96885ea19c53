#pragma once
// This file provides whole arrays in their compute type: in place if that is the storage type, otherwise as a
// converted copy.

#include <algorithm>
#include <cstddef>

#include "base/arithmetic.h"
#include "base/parallel.h"
#include "kernels/cpu/elementwise/tile_ops.h"
#include "kernels/cpu/memory/buffer_cache.h"

namespace hlo::cpu {

namespace internal {
// Converts in pieces, with several threads if worthwhile.
inline void Convert(const TileCall& call, int64_t n, const std::byte* from, int64_t from_width, std::byte* to,
                    int64_t to_width) {
  constexpr int64_t kPiece = 16 << 10;
  ParallelFor(CeilDiv(n, kPiece), 0.5 * static_cast<double>(n), [&](int64_t i) {
    const void* in[] = {from + i * kPiece * from_width};
    call.function(std::min(kPiece, n - i * kPiece), to + i * kPiece * to_width, in, call.parameter);
  });
}
}  // namespace internal

class WidenedInput {
 public:
  WidenedInput(ElementType type, const void* data, int64_t n)
      : data_(static_cast<const std::byte*>(data)), width_(ComputeTypeBytes(ComputeTypeOf(type))) {
    const TileCall widen = LoadTile(type);
    if (widen.function == nullptr) return;
    copy_.resize(n * width_);
    internal::Convert(widen, n, data_, ByteCount(type), copy_.data(), width_);
    data_ = copy_.data();
  }
  WidenedInput(WidenedInput&&) = default;
  const std::byte* at(int64_t i) const { return data_ + i * width_; }
  int64_t width() const { return width_; }

 private:
  CachedVector<std::byte> copy_;
  const std::byte* data_;
  int64_t width_;
};

// A result in its compute type, uninitialised; Finish rounds and stores it.
class WidenedResult {
 public:
  WidenedResult(ElementType type, void* data, int64_t n)
      : type_(type),
        n_(n),
        result_(static_cast<std::byte*>(data)),
        width_(ComputeTypeBytes(ComputeTypeOf(type))) {
    if (!IsStoredAsComputed(type)) copy_.resize(n * width_);
    data_ = copy_.empty() ? result_ : copy_.data();
  }
  WidenedResult(WidenedResult&&) = default;
  std::byte* at(int64_t i) { return data_ + i * width_; }
  int64_t width() const { return width_; }
  void Finish() {
    if (!copy_.empty())
      internal::Convert(StoreTile(type_), n_, copy_.data(), width_, result_, ByteCount(type_));
  }

 private:
  ElementType type_;
  int64_t n_;
  CachedVector<std::byte> copy_;
  std::byte* result_;
  std::byte* data_;
  int64_t width_;
};

}  // namespace hlo::cpu
