#pragma once
// Stores double-doubles in elements of ordinary types, so that the reference's functions can move them and
// apply computations to them. A real one is a c128, and a complex one an index into a ComplexTable.

#include <array>
#include <cstdint>
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

// Adds double-doubles that are stored as complex numbers, where the computations of the instruction add
// complex numbers.
class PartSumCaller : public PairCaller {
 public:
  using PairCaller::PairCaller;
  std::unique_ptr<reference::ScalarFunction> ScalarFunctionOf(const Computation& computation) override;
};

// True if all computations of the instruction can be evaluated in double-double.
bool HaveExtendedFunctions(const Instruction& instruction);

// Returns the pairs of an f64 as a c128, or adds those of a c128 to the table and returns their indices as a
// u64. Returns values of other types unchanged.
absl::StatusOr<Literal> Paired(const ShadowValue& value, ComplexTable& table);
// Returns the double-doubles of a value that was declared as an f64 or a c128; otherwise an invalid value.
absl::StatusOr<ExtendedValue> Unpaired(const Literal& pairs, ElementType declared, const ComplexTable& table);

// The same for one part of a c128, which needs no table.
enum class ComplexPart : uint8_t { kReal, kImaginary };
absl::StatusOr<Literal> PairedPart(const ShadowValue& value, ComplexPart part);
absl::StatusOr<ExtendedValue> FromPairedParts(const Literal& real, const Literal& imaginary);

}  // namespace hlo::debug
