#include "python/errors.h"

#include "base/status.h"

namespace hlo::python {
namespace {

const char* ExceptionName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return "InvalidInput";
    case absl::StatusCode::kUnimplemented:
      return "Unsupported";
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return "LimitReached";
    case absl::StatusCode::kCancelled:
      return "Cancelled";
    default:
      return "Error";
  }
}

}  // namespace

void Raise(const absl::Status& status) {
  const nb::object type = nb::module_::import_("hlo_run.errors").attr(ExceptionName(status.code()));
  const std::string_view message = Message(status);
  const nb::object error = type(nb::str(message.data(), message.size()));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace hlo::python
