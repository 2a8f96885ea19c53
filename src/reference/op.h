#pragma once
// The reference functions of opcodes.def: one short function each, grouped by family in the .cc files of this
// folder, with the sentence or formula of the semantics above it.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {
class CustomCalls;
class Host;
namespace spmd {
class Collectives;
}
}  // namespace hlo

namespace hlo::reference {

class ScalarFunction;

// Evaluates called computations; the evaluator implements it.
class Caller {
 public:
  virtual ~Caller() = default;
  // Returns the root's value for these arguments, which may be moved from.
  virtual absl::StatusOr<Literal> Call(const Computation& computation, absl::Span<Literal> arguments) = 0;

  // True if dots emulate their `algorithm=`.
  virtual bool emulates_dot_algorithms() const = 0;

  // True if an observer sees each instruction of computations that are applied to scalars.
  virtual bool observes_scalars() const { return false; }

  // Returns a function that replaces the evaluation of a computation on scalars, or null.
  virtual std::unique_ptr<ScalarFunction> ScalarFunctionOf(const Computation& computation);

  // AdvanceCounter adds `delta` to the run's random number counter and returns its previous value, low half
  // first.
  virtual std::array<uint64_t, 2> AdvanceCounter(int64_t delta) = 0;
  virtual uint64_t seed() const = 0;

  // Return what the run's caller supplied; null if absent.
  virtual Host* host() const { return nullptr; }
  virtual const CustomCalls* custom_calls() const { return nullptr; }

  // Returns the link to the other devices; null in a run of one device.
  virtual spmd::Collectives* collectives() const { return nullptr; }

  // Returns the values that were sent over a channel and not yet received, oldest first.
  std::deque<Literal>& Channel(int64_t id) { return channels_[id]; }

 private:
  absl::flat_hash_map<int64_t, std::deque<Literal>> channels_;
};

struct OpContext {
  const Instruction& instruction;
  // One value per operand. The evaluator drops its own reference at an operand's last use, so a function may
  // move an operand and, if it IsUnique(), update it in place.
  absl::Span<Literal> operands;
  Caller& caller;
  // The instruction with the bounds of dynamic dimensions, if `instruction` has their run-time sizes.
  const Instruction* at_bounds = nullptr;

  const Shape& shape() const { return instruction.shape(); }
};

using ReferenceOp = absl::StatusOr<Literal> (*)(OpContext& context);

#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) \
  absl::StatusOr<Literal> reference(OpContext& context);
#include "hlo_run/opcodes.def"

}  // namespace hlo::reference
