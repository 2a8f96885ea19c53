#pragma once
// The reference functions that opcodes.def names: one short function each, grouped by family in the .cc files
// of this folder, each with the sentence of the semantics that it implements above it.

#include <array>
#include <cstdint>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"

namespace hlo {
class CustomCalls;
class Host;
}  // namespace hlo

namespace hlo::reference {

// Evaluates called computations; the evaluator is one.
class Caller {
 public:
  virtual ~Caller() = default;
  // The root's value for these arguments. Arguments may be moved from.
  virtual absl::StatusOr<Literal> Call(const Computation& computation, absl::Span<Literal> arguments) = 0;

  // Whether a dot does what its `algorithm=` says.
  virtual bool emulates_dot_algorithms() const = 0;

  // The run's counter of random numbers, low half and high half, before `delta` is added to it; and its seed.
  virtual std::array<uint64_t, 2> AdvanceCounter(int64_t delta) = 0;
  virtual uint64_t seed() const = 0;

  // What the run's caller has supplied; null where it has not.
  virtual Host* host() const { return nullptr; }
  virtual const CustomCalls* custom_calls() const { return nullptr; }

  // What has been sent over a channel and not been received, oldest first.
  std::deque<Literal>& Channel(int64_t id) { return channels_[id]; }

 private:
  absl::flat_hash_map<int64_t, std::deque<Literal>> channels_;
};

struct OpContext {
  const Instruction& instruction;
  // One value for each operand. The evaluator gives up its own reference at an operand's last use, so a
  // function may move an operand out and, where it IsUnique(), update it in place.
  absl::Span<Literal> operands;
  Caller& caller;

  const Shape& shape() const { return instruction.shape(); }
};

using ReferenceOp = absl::StatusOr<Literal> (*)(OpContext& context);

#define HLO_OP(name, text, min, max, attrs, shape_rule, reference, traits) \
  absl::StatusOr<Literal> reference(OpContext& context);
#include "hlo_run/opcodes.def"
#undef HLO_OP

}  // namespace hlo::reference
