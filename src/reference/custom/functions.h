#pragma once
// The functions that the table of targets names, by the file that holds them.

#include <string>

#include "reference/op.h"

namespace hlo::reference::custom {

// markers.cc
std::string OtherShape(const Instruction& call);
absl::StatusOr<Literal> Identity(OpContext& context);
absl::StatusOr<Literal> Zeros(OpContext& context);
absl::StatusOr<Literal> Seed(OpContext& context);
absl::StatusOr<Literal> Assert(OpContext& context);
std::string NotWords(const Instruction& call);
absl::StatusOr<Literal> SplitLow(OpContext& context);
absl::StatusOr<Literal> SplitHigh(OpContext& context);
absl::StatusOr<Literal> Combine(OpContext& context);

// selection.cc
std::string NotTopK(const Instruction& call);

}  // namespace hlo::reference::custom
