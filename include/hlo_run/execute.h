#pragma once
/// \file
/// Compiles a module for an engine once and runs it many times.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/plan_options.h"
#include "hlo_run/run.h"

#pragma GCC visibility push(default)
namespace hlo {

enum class Engine : uint8_t {
  kReference,  ///< Runs one simple function per opcode, which defines the opcode's semantics.
  kFast,       ///< Runs a plan of fused kernels with the same semantics.
};

/// The device on which the fast engine runs its plan.
struct Device {
  enum class Kind : uint8_t {
    kCpu,
    kGpu,          ///< An NVIDIA GPU.
    kEmulatedGpu,  ///< The GPU kernels on the host, for tests; slow.
  };
  Kind kind = Kind::kCpu;
  int number = 0;  ///< The index of the GPU. For the emulated one it selects the order of threads.
};

/// A step of a GPU plan that runs on the CPU.
struct Fallback {
  const Instruction* instruction;
  std::string reason;
  /// Executions of the step, and bytes copied between host and device, summed over all runs.
  int64_t runs, bytes;
};

/// A module compiled for an engine. It is not thread-safe.
class Executable {
 public:
  /// Compiles a module. Modules that the fast engine does not support, and runs with custom calls other than
  /// those in `options`, use the reference. The custom calls must outlive the executable. Errors:
  /// Unimplemented if CheckSupported fails or there is no GPU; InvalidArgument if `plan_options` names an
  /// unknown pass.
  static absl::StatusOr<Executable> Make(const CheckedModule& module, Engine engine,
                                         const EvaluateOptions& options = {}, Device device = {},
                                         const PlanOptions& plan_options = {});
  ~Executable();
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;

  /// Runs the module; arguments, result and errors are those of Evaluate.
  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options = {});

  /// Return the engine in use and, if it is not the requested one, the reason.
  Engine engine() const;
  std::string_view fallback_reason() const;
  /// Returns the steps that ran on the CPU instead of the GPU so far.
  std::vector<Fallback> fallbacks() const;

 private:
  struct State;
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Compiles a module and runs it once.
absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options = {}, Device device = {},
                                const PlanOptions& plan_options = {});

}  // namespace hlo
#pragma GCC visibility pop
