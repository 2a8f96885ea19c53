#pragma once
// What the functions of builder.h share: emitting, refusing, and the one place that broadcasts.

#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "hlo_run/builder.h"

namespace hlo::build {

// Emits one instruction for the builder of the first operand that has one.
Op Emit(Place place, Opcode opcode, const std::vector<Op>& operands,
        const std::vector<AttrEntry>& attributes = {}, Shape shape = {},
        std::optional<ElementType> type = {});

// All operands have values. Reports one that never had; those after a mistake are silent.
bool Ready(Place place, const std::vector<Op>& operands);
// The same, and all are arrays.
bool ReadyArrays(Place place, std::string_view what, const std::vector<Op>& operands);

template <class... Args>
Op Refuse(const Op& at, Place place, fmt::format_string<Args...> format, Args&&... args) {
  return at.builder() == nullptr
             ? Op()
             : at.builder()->Fail(place, fmt::format(format, std::forward<Args>(args)...));
}

// A list kept for the module of `at`; empty where that has no builder.
IntList KeepDims(const Op& at, Dims dims);
attr_kind::PrecisionList KeepPrecision(const Op& at, const std::vector<Precision>& precision);

// Brings two operands to one shape (shape-rules 2.1, 2.2); false after a mistake.
bool BroadcastTogether(Place place, std::string_view what, Op* lhs, Op* rhs, Dims broadcast_dimensions);
// Repeats the scalars among the operands to the sizes of the first that is none.
void BroadcastScalars(Place place, const std::vector<Op*>& operands);

// Window attribute; an empty one after a mistake. Lists other than sizes may be empty.
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
