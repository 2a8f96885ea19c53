#pragma once
// This file compiles scalar functions, such as combiners of reductions, to functions on tiles.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/elementwise/tile_ops.h"
#include "loops/scalar_function.h"

namespace hlo::cpu {

// A compiled scalar function, which is applied elementwise to tiles of arguments. It has no loops.
class TileCode {
 public:
  TileCode() = default;
  explicit TileCode(const loops::ScalarFunction& function);
  int64_t step_count() const { return static_cast<int64_t>(steps_.size()); }
  // Returns the expected time of a run without native code, per element.
  double nanoseconds_per_element() const { return 0.3 * static_cast<double>(steps_.size()); }

  // Lets runs compile the function, from which this was made, to native code once that is worthwhile.
  void AllowNativeCode(const loops::ScalarFunction& function);

  // Computes out[k][0, n) from in[i][0, n); `out` may alias `in`.
  void Run(int64_t n, const void* const* in, void* const* out) const;

 private:
  struct Step {
    TileCall call;  // If null, the step is a constant.
    loops::Value out;
    std::array<loops::Value, 3> in;
    std::array<std::byte, 16> constant;
  };
  struct Native;
  bool RunNative(int64_t n, const void* const* in, void* const* out) const;

  std::vector<loops::ComputeType> types_;
  size_t inputs_ = 0;
  std::vector<Step> steps_;
  std::vector<loops::Value> results_;
  std::shared_ptr<Native> native_;  // Null if native code is not allowed.
};

}  // namespace hlo::cpu
