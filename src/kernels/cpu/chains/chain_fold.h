#pragma once
// Values of chains that are combined with each other as they are computed.

#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/cpu/chains/tile_chain.h"

namespace hlo::cpu {

// Many f32 become one. What is combined with what depends on nothing but how many there are.
class ChainFold {
 public:
  enum class Kind : uint8_t { kSum, kSumBF16, kMaximum, kMinimum };
  // What a fold of tiles of f32 is here; nothing for others. `of_bf16`: the values are.
  static std::optional<Kind> KindOf(const TileCall& fold, bool of_bf16);

  explicit ChainFold(Kind kind) : kind_(kind) { Begin(); }
  void Begin();
  // The step that takes each strip, and its operand.
  ChainFn function() const;
  void* operand() { return kind_ == Kind::kSum ? static_cast<void*>(wide_) : partial_; }
  // What makes no strip, after what does.
  void Add(const float* values, int64_t n);
  // Before each tile of n elements, at most so many.
  static constexpr int64_t kLongest =
      64 * kLanes<float>;  // Sixteen of bf16 each: their bits have room for carries.
  void BeginTile(int64_t n);
  float result() const;

 private:
  std::pair<Vector<double>, Vector<double>> SumOfBF16() const;

  Kind kind_;
  Vector<float> partial_[8];  // Of sums of bf16 in a tile, and extremes.
  Vector<double> wide_[4];    // Of sums.
  double rest_;               // Of what makes no vector.
  int64_t taken_;             // By sums of bf16, since those went to the others.
};

}  // namespace hlo::cpu
