#pragma once
// What does a module compute on these arguments?

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/observer.h"

#pragma GCC visibility push(default)
namespace hlo {

class CustomCalls;

// The other end of infeed and outfeed, and of send and recv with is_host_transfer.
class Host {
 public:
  virtual ~Host() = default;
  // Whether there is anything to take; asked before the run.
  virtual bool gives_values() const { return true; }
  // The next value for `reader`, an infeed or recv-done; it must be of this shape.
  virtual absl::StatusOr<Literal> Take(const Instruction& reader, const Shape& shape) = 0;
  // A value from `writer`, an outfeed or send.
  virtual absl::Status Give(const Instruction& writer, Literal value) = 0;
};

struct EvaluateOptions {
  int64_t max_steps = 0;         // Instructions executed; 0: no limit.
  double max_seconds = 0;        // 0: no limit.
  // Set by another thread or a signal handler, it ends the run between two steps with Cancelled.
  const std::atomic<bool>* cancel = nullptr;
  int64_t max_call_depth = 256;  // Calls nested in each other.
  uint64_t seed = 0;             // Of random numbers that are not a function of their operands.
  // A dot splits and rounds its operands as its `algorithm=` says; else it ignores that, as XLA does on CPUs.
  bool emulate_dot_algorithms = false;
  Observer* observer = nullptr;
  Host* host = nullptr;  // Null: the module must neither read from a host nor write to it.
  const CustomCalls* custom_calls =
      nullptr;  // Functions of the caller's own; they come before the known ones.
};

// OK if every instruction that a run can reach is evaluated with these options; else Unimplemented, naming
// opcode, type and place of each (the first twenty).
absl::Status CheckSupported(const CheckedModule& module, const EvaluateOptions& options = {});

// The value of the entry's root. Arguments stand for the entry's parameters by number; those given up by the
// caller (moved in) may be updated in place. FailedPrecondition: the arguments do not fit. Unimplemented: as
// CheckSupported, before anything runs. ResourceExhausted, DeadlineExceeded: a limit was hit.
absl::StatusOr<Literal> Evaluate(const CheckedModule& module, std::vector<Literal> arguments,
                                 const EvaluateOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
