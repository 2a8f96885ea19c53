#pragma once
// The functions that typed foreign functions may call while they run on the host.

#include "absl/status/status.h"
#include "reference/ffi_abi.h"

namespace hlo::ffi {

const Api& HostApi();

// The status of an error, or OK for nullptr; frees it.
absl::Status TakeError(Error* error);
// Waits for the future, frees it and gives what it was set to.
absl::Status Await(Future* future);

}  // namespace hlo::ffi
