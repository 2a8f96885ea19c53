#pragma once
// This file compiles bytecode to machine code with the same results. Values of small loops stay in registers.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "kernels/cpu/bytecode/bytecode.h"
#include "kernels/cpu/native/machine_code.h"

namespace hlo::cpu {

// The accesses to the frame that bytecode does not show. The default is the most cautious one.
struct FrameUse {
  // Only the code's operands access the bytes from here on; the host and arguments do not.
  int64_t private_begin = std::numeric_limits<int64_t>::max();
  // The bytes of the frame that each argument may alias; all of them if nullopt.
  std::optional<std::vector<Bytecode::Bytes>> arguments;
  // The bytes that the host reads after the end; all if nullopt.
  std::optional<std::vector<Bytecode::Bytes>> results;
  // Bytes that have these values in all runs. The code does not write them.
  struct Constant {
    FrameOffset at;
    absl::Span<const std::byte> value;
  };
  std::vector<Constant> constants;
};

class NativeCode {
 public:
  // Compiles finished code, which must outlive the result. Returns null if no machine code can be made or if
  // it would not be faster. `counts`: with iteration counters, as those of Bytecode::WithCounts.
  static std::unique_ptr<const NativeCode> Make(const Bytecode& code, const FrameUse& frame,
                                                bool counts = false);

  // Runs the code like Bytecode::Run. `iterations` are the counters, if the code has them.
  bool Run(std::byte* frame, void* const* arguments, absl::FunctionRef<bool(int32_t)> escape,
           int64_t* iterations = nullptr) const;

  int64_t byte_count() const { return code_->byte_count(); }

 private:
  explicit NativeCode(std::unique_ptr<const MachineCode> code) : code_(std::move(code)) {}

  std::unique_ptr<const MachineCode> code_;
};

}  // namespace hlo::cpu
