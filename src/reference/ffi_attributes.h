#pragma once
// The attributes of a typed FFI call, parsed from the dictionary in its backend_config:
//   {factor = 2.0 : f32, n = 3 : i64, name = "x", on = true, sizes = array<i64: 1, 2>, more = {...}}

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/ffi_abi.h"

namespace hlo::reference {

class FfiAttributes {
 public:
  // Returns InvalidArgument with the text position for values that handlers do not support.
  static absl::StatusOr<FfiAttributes> Parse(std::string_view text);

  // Returns a view of this object.
  const ffi::Attributes& view() const { return *view_; }

 private:
  friend class FfiAttributeReader;
  struct Storage;
  std::shared_ptr<Storage> storage_;
  const ffi::Attributes* view_ = nullptr;
};

}  // namespace hlo::reference
