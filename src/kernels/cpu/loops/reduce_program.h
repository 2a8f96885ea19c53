#pragma once
// Reductions of what a tile program computes: along its inner dimensions (rows) or its outer ones (columns).

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/loops/tile_program.h"

namespace hlo::cpu {

// Elementwise code on tiles: a to_apply computation, applied to whole tiles of arguments at once.
// Straight-line but for loops, which only machines run whose lanes go their own ways.
class TileCode {
 public:
  static constexpr TileValue kAll = -1;
  struct Loop;
  explicit TileCode(absl::Span<const Lane> inputs)
      : lanes_(inputs.begin(), inputs.end()), inputs_(lanes_.size()) {}
  TileValue Apply(TileCall call, Lane result, absl::Span<const TileValue> operands);
  // A constant: one element in its lane.
  TileValue Constant(Lane lane, const void* element);
  // The state after the loop: so many values side by side, of which this is the first.
  TileValue Repeat(Loop loop, absl::Span<const TileValue> state);
  void Yield(TileValue value) { results_.push_back(value); }
  Lane lane(TileValue value) const { return lanes_[value]; }
  int64_t result_count() const { return static_cast<int64_t>(results_.size()); }
  int64_t step_count() const { return static_cast<int64_t>(steps_.size()); }
  int64_t value_count() const { return static_cast<int64_t>(lanes_.size()); }
  bool has_loops() const;

  // What Run does, in order.
  struct Step {
    TileCall call;  // No function: the loop, or else the constant.
    TileValue out;
    std::array<TileValue, 3> in{};
    std::array<std::byte, 16> constant{};
    std::shared_ptr<const Loop> loop{};
    std::vector<TileValue> state{};  // Of the loop, before it.
  };
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const TileValue> yields() const { return results_; }
  size_t input_count() const { return inputs_; }

  // out[k][0, n) from in[i][0, n), n <= kLargestTile; `out` may be among `in`. Of code without loops.
  void Run(int64_t n, const void* const* in, void* const* out) const;

 private:
  std::vector<Lane> lanes_;
  size_t inputs_;
  std::vector<Step> steps_;
  std::vector<TileValue> results_;
};

// Turns of each lane by itself, for as long as its predicate holds.
struct TileCode::Loop {
  TileCode condition, body;  // State -> the predicate, state -> state.
  TileValue active = kAll;   // The predicate of the lanes that take part.
};

// Which values a combiner may combine first: none but the accumulator and the next one, neighbours, any.
enum class Grouping : uint8_t { kNone, kNeighbours, kAny };

struct ReduceProgram {
  // Inner dimensions are the reduced ones and outer ones those that are kept, or the other way about. Yields
  // the values to be reduced.
  TileProgram body;
  bool rows = true;
  // (accumulators..., values...) -> accumulators. Rows are combined in an order of their own: only for
  // combiners for which that changes nothing but rounding.
  TileCode combiner;
  Grouping grouping = Grouping::kAny;
  TileCall fold;  // A tile of the one value to one element, as the combiner would, but for its rounding.
  struct Result {
    int32_t init, output;  // Arguments of the run: a scalar; the dense result.
    ElementType init_type, output_type;
  };
  std::vector<Result> results;
  // Of rows whose neighbours are combined: the length of the parts that stand side by side in a tile. The
  // last outer dimension runs through them.
  int64_t part_length = 1;
  // Of rows of pairs, a value and its position in the row: whether the combiner keeps the first of the
  // largest or smallest values, or the first NaN.
  enum class Pick : uint8_t { kNone, kLargest, kSmallest };
  Pick pick = Pick::kNone;
  // Of equal values, which differ where they are zeros of both signs, the last one goes with the first one's
  // position.
  bool picks_last_value = false;
  // A NaN makes the combiner do something else: its row is combined in order.
  bool picks_among_numbers = false;

  // Both follow from the body.
  int64_t kept_count() const { return rows ? body.outer_count() / part_length : body.inner_count(); }
  int64_t reduced_count() const { return rows ? body.inner_count() * part_length : body.outer_count(); }
  double nanoseconds() const;
  void Run(void* const* arguments) const;

  // Whether the results of some rows can be had by themselves.
  bool TakesRows() const;
  // The rows [begin, end), on this thread; the same bits as of a whole run. For what TakesRows.
  void RunRows(void* const* arguments, int64_t begin, int64_t end) const;
};

}  // namespace hlo::cpu
