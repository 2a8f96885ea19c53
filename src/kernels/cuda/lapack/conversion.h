#pragma once
// Converts arrays between element types: kernels of linear algebra compute in f64 and c128.

#include <optional>

#include "absl/status/status.h"
#include "hlo_run/element_type.h"
#include "kernels/cuda/launch/cuda_kernel.h"
#include "kernels/cuda/launch/lowered_program.h"

namespace hlo::cuda {

class Conversion {
 public:
  // Returns nullopt if no kernel converts `count` elements.
  static std::optional<Conversion> Make(ElementType from, ElementType to, int64_t count,
                                        const DeviceProperties& device);

  bool is_copy() const { return !loop_.has_value(); }
  absl::Status Run(const void* from, void* to, Stream stream) const;

 private:
  std::optional<LoweredProgram> loop_;
  int64_t byte_count_ = 0;
};

}  // namespace hlo::cuda
