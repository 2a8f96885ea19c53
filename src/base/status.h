#pragma once
// The two status macros that this release of Abseil lacks, and conversion of status messages.

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hlo {

// Returns the message as std::string_view; some distributions build Abseil with its own string_view.
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace hlo

#define HLO_RETURN_IF_ERROR(expression)                             \
  do {                                                              \
    if (absl::Status hlo_status = (expression); !hlo_status.ok()) { \
      return hlo_status;                                            \
    }                                                               \
  } while (false)

#define HLO_STATUS_CONCAT_INNER(a, b) a##b
#define HLO_STATUS_CONCAT(a, b) HLO_STATUS_CONCAT_INNER(a, b)
#define HLO_ASSIGN_OR_RETURN(lhs, expression) \
  HLO_ASSIGN_OR_RETURN_IMPL(HLO_STATUS_CONCAT(hlo_status_or_, __LINE__), lhs, expression)
#define HLO_ASSIGN_OR_RETURN_IMPL(temporary, lhs, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) return std::move(temporary).status();  \
  lhs = std::move(temporary).value()
