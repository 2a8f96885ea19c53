#pragma once
// Makes the dimensions of a module smaller: every dimension of one size becomes a dimension of another size.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo::debug {

struct NewSize {
  int64_t from = 1, to = 1;  // 1 <= to <= from.
};

// Maps sizes to smaller sizes.
class SizeMap {
 public:
  // With `scales_multiples`, k * from becomes k * to, as reshapes need it. The largest `from` that divides a
  // size applies.
  SizeMap(std::vector<NewSize> sizes, bool scales_multiples);
  int64_t operator()(int64_t size) const;
  Shape operator()(const Shape& shape) const;
  // Returns the new value for a padding or a limit of a loop, which may be one less than a size.
  int64_t OfCount(int64_t count) const;

 private:
  const NewSize* Find(int64_t size) const;

  std::vector<NewSize> sizes_;
  bool scales_multiples_;
};

// Parses "1024=16,128=8".
absl::StatusOr<std::vector<NewSize>> ParseNewSizes(const std::string& text);

// Returns the sizes of all dimensions, in ascending order.
std::vector<int64_t> SizesOf(const Module& module);

// Returns the leading part of a value, whose shape has smaller dimensions.
absl::StatusOr<Literal> LeadingPart(const Literal& literal, const Shape& shape);

// Changes the shapes of all instructions, and the attributes that count elements. Constants lose their last
// elements. The result may be invalid: a caller checks it.
absl::Status ResizeShapes(Module& module, const SizeMap& sizes);
// Changes the constants of signed integers, and the known trip counts of loops, whose values are sizes:
// limits of loops, and offsets of partitions. Skips constants whose shape will change, so it is called before
// ResizeShapes. Returns the number of changed constants.
absl::StatusOr<int64_t> ResizeConstants(Module& module, const SizeMap& sizes);

struct ResizedModule {
  std::string text;
  int64_t constants = 0;  // The number of changed constants.
};
// Gives a module other sizes, shapes and constants both, and prints it. Changes `module`. Returns
// InvalidArgument, with places in the module's source, if the sizes do not fit each other.
absl::StatusOr<ResizedModule> ResizeModule(const std::shared_ptr<Module>& module,
                                           const std::vector<NewSize>& sizes);

}  // namespace hlo::debug
