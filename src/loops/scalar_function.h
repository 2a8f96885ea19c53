#pragma once
// A computation on scalars, such as the to_apply of a reduction, as a list of operations. It is applied
// element by element to arrays of arguments.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "loops/compute_type.h"
#include "loops/loop_program.h"
#include "loops/operation.h"

namespace hlo::loops {

// The code is straight-line code except for loops, which only SIMT back ends run. The first values are the
// inputs.
class ScalarFunction {
 public:
  static constexpr Value kAll = -1;
  struct Loop;
  explicit ScalarFunction(absl::Span<const ComputeType> inputs)
      : types_(inputs.begin(), inputs.end()), inputs_(types_.size()) {}
  Value Apply(const Operation& operation, ComputeType result, absl::Span<const Value> operands);
  // Adds a constant: one element in its compute type.
  Value Constant(ComputeType compute_type, const void* element);
  // Adds a loop and returns the first of its final state values, which have consecutive numbers.
  Value Repeat(Loop loop, absl::Span<const Value> state);
  void Yield(Value value) { yields_.push_back(value); }

  struct Step {
    Operation operation = {};  // If it is of kind kNone, the step is a loop or else a constant.
    Value out;
    std::array<Value, 3> in{};
    std::array<std::byte, 16> constant{};
    std::shared_ptr<const Loop> loop{};
    std::vector<Value> state{};  // The loop's initial state.
  };
  absl::Span<const Step> steps() const { return steps_; }
  absl::Span<const Value> yields() const { return yields_; }
  absl::Span<const ComputeType> types() const { return types_; }
  ComputeType compute_type(Value value) const { return types_[value]; }
  size_t input_count() const { return inputs_; }
  int64_t value_count() const { return static_cast<int64_t>(types_.size()); }
  bool has_loops() const;
  // Returns the operation if the function is one operation that yields its result; nullptr otherwise.
  const Operation* OnlyOperation() const;

 private:
  std::vector<ComputeType> types_;
  size_t inputs_;
  std::vector<Step> steps_;
  std::vector<Value> yields_;
};

// A loop that each lane iterates independently while its predicate is true.
struct ScalarFunction::Loop {
  ScalarFunction condition, body;  // State -> predicate, state -> state.
  Value active = kAll;             // The predicate of the active lanes.
};

}  // namespace hlo::loops
