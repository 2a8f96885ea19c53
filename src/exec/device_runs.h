#pragma once
// Parts of runs on several devices that do not depend on what runs a device.

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/execute.h"
#include "hlo_run/module.h"
#include "spmd/exchange_groups.h"
#include "spmd/rendezvous.h"

namespace hlo::exec {

// Adds the instructions that depend on devices to the table. Errors are those of ExchangeTable::Add, with the
// place of the instruction.
absl::Status AddExchanges(absl::Span<const Computation* const> computations, spmd::ExchangeTable& table);

// Calls body(device, options) for each device of the rendezvous, on a thread of its own, and passes on its
// result. `options_of(device)` are its options but for the seed, the link to the others and the limit of
// waiting, which the function adds.
void RunDeviceThreads(spmd::Rendezvous& rendezvous, absl::FunctionRef<EvaluateOptions(int64_t)> options_of,
                      absl::FunctionRef<absl::StatusOr<Literal>(int64_t, const EvaluateOptions&)> body);

}  // namespace hlo::exec
