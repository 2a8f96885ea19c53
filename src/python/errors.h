#pragma once
// Converts statuses to exceptions of hlo_run.errors.

#include <nanobind/nanobind.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo::python {

namespace nb = nanobind;

// Raises the exception for the status code. Needs the GIL.
[[noreturn]] void Raise(const absl::Status& status);

inline void RaiseUnlessOk(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}
template <class T>
T ValueOrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

}  // namespace hlo::python
