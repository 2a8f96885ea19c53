#pragma once
// This file reduces values of chains as they are computed.

#include <cstdint>
#include <optional>
#include <utility>

#include "kernels/cpu/chains/tile_chain.h"

namespace hlo::cpu {

// Reduces many f32 values to one. The order of combination depends only on their number.
class ChainFold {
 public:
  enum class Kind : uint8_t { kSum, kSumBF16, kMaximum, kMinimum };
  // Returns the kind for a fold of f32 tiles, or nullopt. `of_bf16`: the values are exact in bf16.
  static std::optional<Kind> KindOf(const TileCall& fold, bool of_bf16);

  explicit ChainFold(Kind kind) : kind_(kind) { Begin(); }
  void Begin();
  // The step that accumulates each strip, and its operand.
  ChainFn function() const;
  void* operand() { return kind_ == Kind::kSum ? static_cast<void*>(wide_) : partial_; }
  // Adds the tail that is shorter than a strip, after all strips.
  void Add(const float* values, int64_t n);
  // Adds a tile in the same order as a chain that ends with function(), and Add.
  void AddTile(const float* values, int64_t n);
  // Must be called before each tile of n <= kLongest elements.
  static constexpr int64_t kLongest =
      64 * kLanes<float>;  // Sixteen bf16 values per lane leave bits for carries.
  void BeginTile(int64_t n);
  float result() const;

 private:
  std::pair<Vector<double>, Vector<double>> SumOfBF16() const;

  Kind kind_;
  Vector<float> partial_[8];  // Partial sums of bf16 in a tile, or extremes.
  Vector<double> wide_[4];    // Partial sums.
  double rest_;               // The tail that fills no vector.
  int64_t taken_;  // Elements in the partial sums of bf16 since these were last added to the others.
};

}  // namespace hlo::cpu
