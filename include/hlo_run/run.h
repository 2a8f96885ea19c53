#pragma once
/// \file
/// Evaluates modules with the reference engine.

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
namespace spmd {
class Collectives;
}

/// The host side of infeed, outfeed, and of send and recv with is_host_transfer.
class Host {
 public:
  virtual ~Host() = default;
  /// False if the host has no values for the module to read; called before the run.
  virtual bool has_values() const { return true; }
  /// Returns the next value for `reader`, an infeed or recv-done. It must have this shape.
  virtual absl::StatusOr<Literal> Read(const Instruction& reader, const Shape& shape) = 0;
  /// Receives a value from `writer`, an outfeed or send.
  virtual absl::Status Write(const Instruction& writer, Literal value) = 0;
};

/// Limits and hooks of a run.
struct EvaluateOptions {
  int64_t max_steps = 0;   ///< The largest number of executed instructions; 0 means no limit.
  double max_seconds = 0;  ///< The time limit in seconds; 0 means no limit.
  /// Another thread or a signal handler may set it; the run then ends before the next step with Cancelled.
  const std::atomic<bool>* cancel = nullptr;
  int64_t max_call_depth = 256;  ///< The largest depth of nested calls.
  uint64_t seed = 0;             ///< The seed of rng, whose values do not depend on operands alone.
  /// If true, a dot splits and rounds its operands as its `algorithm=` says; XLA ignores it on CPUs.
  bool emulate_dot_algorithms = false;
  Observer* observer = nullptr;
  Host* host = nullptr;  ///< May be null if the module neither reads from nor writes to a host.
  const CustomCalls* custom_calls =
      nullptr;  ///< The caller's functions; they take precedence over the built-in ones.
  /// The communication with other devices, which Executable::RunDevices sets; null in a run of one device.
  spmd::Collectives* collectives = nullptr;
};

/// Returns OK if every reachable instruction can be evaluated with these options; otherwise Unimplemented
/// with the opcode, type and location of the first twenty.
absl::Status CheckSupported(const CheckedModule& module, const EvaluateOptions& options = {});

/// Returns the value of the entry's root. Arguments are the entry's parameters by number; those that the
/// caller moves in may be updated in place. Errors: FailedPrecondition if the arguments do not fit;
/// Unimplemented as CheckSupported, before anything runs; ResourceExhausted or DeadlineExceeded at a limit.
absl::StatusOr<Literal> Evaluate(const CheckedModule& module, std::vector<Literal> arguments,
                                 const EvaluateOptions& options = {});

}  // namespace hlo
#pragma GCC visibility pop
