#pragma once
// The interface by which a device of a run exchanges values with the others. The rendezvous of threads
// implements it (rendezvous.h).

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "spmd/exchange_groups.h"

namespace hlo::spmd {

using Values = std::vector<Literal>;

// A transfer from one device to another. Transfers of one chain, source and target arrive in order.
struct Route {
  const Instruction* instruction = nullptr;  // The sender or the receiver.
  // The chain of a send and a recv; empty for a collective-permute, which is its own chain.
  std::string_view chain;
  int64_t source = 0, target = 0;
};

// The link of one device to the others. All calls of a device come from one thread.
class Collectives {
 public:
  virtual ~Collectives() = default;

  virtual int64_t device() const = 0;
  virtual const ExchangeTable& table() const = 0;
  const DeviceGrid& grid() const { return table().grid(); }

  // Computes the results of all members of a group from their values, both by position. Results must not
  // share memory with each other or with the values.
  using Combine = absl::FunctionRef<absl::StatusOr<std::vector<Values>>(absl::Span<const Values>)>;

  // Waits until all members of this device's group have called it for the same execution of the collective,
  // and returns this device's result. One of the members calls its `combine`. Errors: FailedPrecondition if
  // the members disagree or wait for each other; Aborted if another member has failed; those of `combine`.
  virtual absl::StatusOr<Values> Meet(const Instruction& collective, Values values, Combine combine) = 0;

  // Sends values, of which nobody else holds the memory. Does not wait.
  virtual absl::Status Send(const Route& route, Values values) = 0;
  // Waits for the next values of the chain; errors are those of Meet.
  virtual absl::StatusOr<Values> Receive(const Route& route) = 0;

  // True if reductions give the bits of XLA:CPU: they start from an identity, accumulate small floats in
  // wider types, and a minimum or maximum drops NaNs (spmd 3.9).
  virtual bool emulates_xla_cpu() const { return false; }

  // Reports something that does not stop the run.
  virtual void Warn(const Instruction& instruction, const std::string& message) = 0;
};

}  // namespace hlo::spmd
