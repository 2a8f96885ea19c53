#pragma once
// The API functions that typed FFI handlers may call on the host.

#include "absl/status/status.h"
#include "reference/ffi_abi.h"

namespace hlo::ffi {

const Api& HostApi();

// Returns the status of an error, or OK for nullptr; frees it.
absl::Status TakeError(Error* error);
// Waits for the future, frees it and returns its status.
absl::Status Await(Future* future);

}  // namespace hlo::ffi
