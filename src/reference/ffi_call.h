#pragma once
// Custom calls of API_VERSION_TYPED_FFI, whose handlers receive buffers with shapes and named attributes.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo_run/literal.h"
#include "hlo_run/module.h"
#include "reference/ffi_abi.h"

namespace hlo::reference {

absl::StatusOr<Literal> CallFfi(ffi::Handler handler, const Instruction& call,
                                absl::Span<const Literal> operands);

}  // namespace hlo::reference
