#pragma once
// Double-doubles as pairs, which are complex numbers or numbers of a table, to which the reference applies
// computations on scalars.

#include <array>
#include <memory>

#include "absl/status/statusor.h"
#include "debug/shadow/complex_table.h"
#include "debug/shadow/extended.h"
#include "reference/op.h"

namespace hlo::debug {

// Makes functions in double-double from the computations that an instruction applies to scalars.
class PairCaller : public reference::Caller {
 public:
  // `pairs` is the copy of the instruction on pairs. `collectives` is the link to the other devices, or null.
  PairCaller(const Instruction& instruction, const Instruction& pairs, ComplexTable& table,
             spmd::Collectives* collectives = nullptr)
      : instruction_(instruction), pairs_(pairs), table_(table), collectives_(collectives) {}

  absl::StatusOr<Literal> Call(const Computation& computation, absl::Span<Literal> arguments) override;
  bool emulates_dot_algorithms() const override { return false; }
  std::array<uint64_t, 2> AdvanceCounter(int64_t /*delta*/) override { return {}; }
  uint64_t seed() const override { return 0; }
  spmd::Collectives* collectives() const override { return collectives_; }
  std::unique_ptr<reference::ScalarFunction> ScalarFunctionOf(const Computation& computation) override;

 private:
  const Instruction& instruction_;
  const Instruction& pairs_;
  ComplexTable& table_;
  spmd::Collectives* const collectives_;
};

// True if all computations of the instruction have a form in double-double.
bool HaveExtendedFunctions(const Instruction& instruction);

// Returns a c128 whose parts are those of an f64, or a u64 with the numbers of a c128 in the table; values of
// other types as they are.
absl::StatusOr<Literal> Paired(const ShadowValue& value, ComplexTable& table);
// Returns the double-doubles of a value of the declared type; an invalid value of other types.
absl::StatusOr<ExtendedValue> Unpaired(const Literal& pairs, ElementType declared, const ComplexTable& table);

}  // namespace hlo::debug
