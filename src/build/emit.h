#pragma once
// Helpers of builder.h's functions: emitting instructions, reporting errors and broadcasting.

#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "hlo_run/builder.h"

namespace hlo::build {

// Emits an instruction with the builder of the first operand that has one.
Op Emit(Place place, Opcode opcode, const std::vector<Op>& operands,
        const std::vector<AttrEntry>& attributes = {}, Shape shape = {},
        std::optional<ElementType> type = {});

// True if all operands have values. Reports operands that never had a value, but not those that are null
// after an error.
bool Ready(Place place, const std::vector<Op>& operands);
// True if Ready holds and all operands are arrays; reports others.
bool ReadyArrays(Place place, std::string_view what, const std::vector<Op>& operands);

template <class... Args>
Op Refuse(const Op& at, Place place, fmt::format_string<Args...> format, Args&&... args) {
  return at.builder() == nullptr
             ? Op()
             : at.builder()->Fail(place, fmt::format(format, std::forward<Args>(args)...));
}

// Copies a list to the module of `at`; empty if `at` has no builder.
IntList KeepDims(const Op& at, Dims dims);
attr_kind::PrecisionList KeepPrecision(const Op& at, const std::vector<Precision>& precision);

// Broadcasts two operands to a common shape (shape-rules 2.1, 2.2); returns false after an error.
bool BroadcastTogether(Place place, std::string_view what, Op* lhs, Op* rhs, Dims broadcast_dimensions);
// Broadcasts scalars to the shape of the first operand that is not a scalar.
void BroadcastScalars(Place place, const std::vector<Op*>& operands);

// Creates a window attribute; empty after an error. Lists other than sizes may be empty.
struct WindowLists {
  Dims sizes, strides = {};
  Pairs padding = {};
  Dims base_dilation = {}, window_dilation = {};
  std::vector<bool> reversal = {};
};
std::optional<Window> MakeWindow(const Op& at, Place place, const WindowLists& lists);

inline std::vector<Op> Joined(const std::vector<Op>& a, const std::vector<Op>& b) {
  std::vector<Op> all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace hlo::build
