#pragma once
// Loads operand tiles into shared memory for kernels that read single elements of them.

#include "kernels/cuda/gemm/f32_tile.h"
#include "kernels/cuda/gemm/gemm.h"

namespace hlo::cuda {

// Copies tiles of one operand into shared memory as [term][row]. kAxes: elements may be out of bounds.
template <class T, int kWidth, int kDepth, int kThreads, bool kAxes>
class TileReader {
 public:
  static constexpr int kPitch = kWidth + 4;
  // Bytes of shared memory for the table of row offsets, in addition to the tiles.
  static constexpr size_t kTableBytes =
      kWidth * (sizeof(int64_t) + (kAxes ? kAxisRank * sizeof(int32_t) : 0));

  HLO_DEVICE TileReader(const Operand& operand, const void* data, std::byte* table, uint32_t first,
                        uint32_t mn_end, uint32_t k_end)
      : operand_(operand),
        data_(static_cast<const T*>(data)),
        offsets_(reinterpret_cast<int64_t*>(table)),
        coordinates_(reinterpret_cast<int32_t*>(table + kWidth * sizeof(int64_t))),
        rows_(mn_end > first ? mn_end - first : 0),
        first_(first),
        k_end_(k_end) {}

  template <class Env>
  HLO_DEVICE void FillTable(Env& env, uint32_t batch) {
    for (uint32_t r = env.thread(); r < kWidth; r += env.threads()) {
      if (r >= rows_) continue;
      if constexpr (kAxes) {
        Location location = RowLocation(operand_, batch, first_ + r);
        AddAxes(operand_, &location);
        offsets_[r] = location.offset;
        HLO_UNROLL
        for (int x = 0; x < kAxisRank; ++x) coordinates_[x * kWidth + r] = location.coordinates[x];
      } else {
        offsets_[r] = operand_.origin + operand_.batch.Offset(batch) + operand_.mn.Offset(first_ + r);
      }
    }
  }

  // Starts the asynchronous copy of the terms k_first, ... of all rows.
  template <class Env>
  HLO_DEVICE void Start(Env& env, uint32_t k_first, T* tile) const {
    if (operand_.load_pattern == LoadPattern::kVectors)
      StartVectors(env, k_first, tile);
    else if (operand_.load_pattern == LoadPattern::kAlongMn)
      StartElements<CopyAlongMn<kWidth, kDepth, kThreads>>(env, k_first, tile);
    else
      StartElements<CopyAlongK<kWidth, kDepth, kThreads, 32 / sizeof(T)>>(env, k_first, tile);
  }

 private:
  template <class Env>
  HLO_DEVICE void StartVectors(Env& env, uint32_t k_first, T* tile) const {
    using Map = CopyVectors<kWidth, kDepth, kThreads, 16 / sizeof(T)>;
    const uint32_t mn = Map::Mn(env.thread(), 0);
    const int left = static_cast<int>(rows_) - static_cast<int>(mn);
    constexpr int kRun = 16 / sizeof(T);
    const int row_bytes = left <= 0 ? 0 : left >= kRun ? 16 : static_cast<int>(sizeof(T)) * left;
    const T* row = data_ + (left > 0 ? offsets_[mn] : 0);
    HLO_UNROLL
    for (int i = 0; i < Map::kCount; ++i) {
      const uint32_t k = Map::K(env.thread(), i);
      const bool exists = k_first + k < k_end_ && left > 0;
      const T* from = exists ? row + operand_.k.Offset(k_first + k) : data_;
      env.template copy_async<16>(tile + k * kPitch + mn, from, exists ? row_bytes : 0);
    }
  }

  template <class Map, class Env>
  HLO_DEVICE void StartElements(Env& env, uint32_t k_first, T* tile) const {
    Location term;
    HLO_UNROLL
    for (int i = 0; i < Map::kCount; ++i) {
      const uint32_t k = Map::K(env.thread(), i), mn = Map::Mn(env.thread(), i);
      const bool term_exists = k_first + k < k_end_;
      if (i == 0 || k != Map::K(env.thread(), i - 1)) {
        term = Location();
        if (term_exists) {
          if constexpr (kAxes) {
            operand_.k.Add(k_first + k, &term);
            AddAxes(operand_, &term);
          } else {
            term.offset = operand_.k.Offset(k_first + k);
          }
        }
      }
      const bool exists = term_exists && mn < rows_ && IsInside(term, mn);
      const T* from = exists ? data_ + (offsets_[mn] + term.offset) : data_;
      env.template copy_async<sizeof(T)>(tile + k * kPitch + mn, from,
                                         exists ? static_cast<int>(sizeof(T)) : 0);
    }
  }

  HLO_DEVICE bool IsInside(const Location& term, uint32_t mn) const {
    if constexpr (!kAxes) return true;
    bool inside = true;
    HLO_UNROLL
    for (int x = 0; x < kAxisRank; ++x) {
      const int32_t c = coordinates_[x * kWidth + mn] + term.coordinates[x];
      inside &= static_cast<uint32_t>(c) < static_cast<uint32_t>(operand_.axes[x].extent);
    }
    return inside;
  }

  const Operand& operand_;
  const T* data_;
  int64_t* offsets_;
  int32_t* coordinates_;
  uint32_t rows_, first_, k_end_;
};

}  // namespace hlo::cuda
