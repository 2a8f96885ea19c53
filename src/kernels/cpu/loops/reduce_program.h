#pragma once
// This file defines reductions of the values that a tile program computes, along its inner dimensions (rows)
// or its outer ones (columns).

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

// The code of a to_apply computation, applied elementwise to tiles of arguments. It is straight-line code
// except for loops, which only SIMT back ends run.
class TileCode {
 public:
  static constexpr TileValue kAll = -1;
  struct Loop;
  explicit TileCode(absl::Span<const Lane> inputs)
      : lanes_(inputs.begin(), inputs.end()), inputs_(lanes_.size()) {}
  TileValue Apply(TileCall call, Lane result, absl::Span<const TileValue> operands);
  // Adds a constant: one element in its lane type.
  TileValue Constant(Lane lane, const void* element);
  // Adds a loop and returns the first of its final state values, which have consecutive numbers.
  TileValue Repeat(Loop loop, absl::Span<const TileValue> state);
  void Yield(TileValue value) { results_.push_back(value); }
  Lane lane(TileValue value) const { return lanes_[value]; }
  int64_t result_count() const { return static_cast<int64_t>(results_.size()); }
  int64_t step_count() const { return static_cast<int64_t>(steps_.size()); }
  int64_t value_count() const { return static_cast<int64_t>(lanes_.size()); }
  bool has_loops() const;

  // An instruction of Run.
  struct Step {
    TileCall call;  // If null, the step is a loop or else a constant.
    TileValue out;
    std::array<TileValue, 3> in{};
    std::array<std::byte, 16> constant{};
    std::shared_ptr<const Loop> loop{};
    std::vector<TileValue> state{};  // The loop's initial state.
  };
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const TileValue> yields() const { return results_; }
  size_t input_count() const { return inputs_; }

  // Computes out[k][0, n) from in[i][0, n), n <= kLargestTile; `out` may alias `in`. Requires !has_loops().
  void Run(int64_t n, const void* const* in, void* const* out) const;

 private:
  std::vector<Lane> lanes_;
  size_t inputs_;
  std::vector<Step> steps_;
  std::vector<TileValue> results_;
};

// A loop that each lane iterates independently while its predicate is true.
struct TileCode::Loop {
  TileCode condition, body;  // State -> predicate, state -> state.
  TileValue active = kAll;   // The predicate of the active lanes.
};

// The permitted reassociation of a combiner: none, between adjacent values, or in any order.
enum class Grouping : uint8_t { kNone, kNeighbours, kAny };

struct ReduceProgram {
  // The inner dimensions are the reduced ones and the outer ones are kept if `rows`, otherwise the reverse.
  // The program yields the values to be reduced.
  TileProgram body;
  bool rows = true;
  // Maps (accumulators..., values...) to accumulators. Rows are combined in an unspecified order if
  // reordering affects nothing but rounding.
  TileCode combiner;
  Grouping grouping = Grouping::kAny;
  TileCall fold;  // Reduces a tile of the single value to one element, like the combiner except for rounding.
  struct Result {
    int32_t init, output;  // Arguments of the run: a scalar and the dense result.
    ElementType init_type, output_type;
  };
  std::vector<Result> results;
  // The length of the parts that are contiguous in a tile, for rows in which adjacent values are combined.
  // The last outer dimension iterates over the parts.
  int64_t part_length = 1;
  // The combiner of (value, position) pairs is argmax or argmin: it keeps the first largest or smallest
  // value, or the first NaN.
  enum class Pick : uint8_t { kNone, kLargest, kSmallest };
  Pick pick = Pick::kNone;
  // Among equal values, which may be zeros of both signs, the last value is paired with the first position.
  bool picks_last_value = false;
  // The pick is only valid without NaNs; rows with a NaN are combined in order.
  bool picks_among_numbers = false;

  // The number of kept and reduced positions of the body.
  int64_t kept_count() const { return rows ? body.outer_count() / part_length : body.inner_count(); }
  int64_t reduced_count() const { return rows ? body.inner_count() * part_length : body.outer_count(); }
  double nanoseconds() const;
  void Run(void* const* arguments) const;

  // Returns true if ranges of rows can be reduced separately.
  bool TakesRows() const;
  // Reduces rows [begin, end) on this thread, with the same bits as a whole run. Requires TakesRows().
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;
};

}  // namespace hlo::cpu
