#pragma once
/// \file
/// Compiles a module for an engine once and runs it many times.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo_run/check.h"
#include "hlo_run/literal.h"
#include "hlo_run/plan_options.h"
#include "hlo_run/run.h"

namespace hlo {
namespace exec {
class RunServer;
}
namespace spmd {
class ProcessGroup;
}
}  // namespace hlo

#pragma GCC visibility push(default)
namespace hlo {

/// The implementation that runs a module.
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
  int number = 0;  ///< The index of the GPU. For the emulated GPU it selects the order of threads.
  /// Further GPUs for a run on several devices; these are assigned to `number` and `more` in turn.
  std::vector<int> more = {};
};

/// A step of a GPU plan that runs on the CPU.
struct Fallback {
  const Instruction* instruction;
  std::string reason;
  /// Executions of the step, and bytes copied between host and device, summed over all runs.
  int64_t runs, bytes;
};

/// The options of a run on several devices.
struct DevicesOptions {
  /// If true, only executions of the same instruction exchange values. Otherwise devices that would wait for
  /// each other forever at different collectives of one kind are paired in the order of arrival, with a
  /// warning.
  bool strict_match = false;
  /// The longest time in seconds that a device waits for others in a collective; 0 means no limit. Devices
  /// that wait for each other are reported at once.
  double collective_timeout = 0;
  /// If true, reductions over devices give the bits of XLA:CPU. They start from an identity, and minimum and
  /// maximum drop NaNs. Types of 8 bits and fewer accumulate in f16, and bf16 accumulates in f32.
  bool emulate_xla_cpu = false;
  /// Returns the host of a device; may be empty if the module neither reads from nor writes to a host.
  std::function<Host*(int64_t device)> host;
  /// Returns the observer of a device, which its thread calls. If this is empty, EvaluateOptions::observer
  /// observes device 0.
  std::function<Observer*(int64_t device)> observer;
  /// Receives the warnings of a run, after the run.
  std::function<void(const std::string& message)> warn;
  /// The processes that run the devices together with this one; null if it runs all of them. The program sets
  /// it under MPI; the library has no way to make one. Runs with custom calls of the caller, or with a host,
  /// stay in this process.
  spmd::ProcessGroup* processes = nullptr;
};

/// A module compiled for an engine. It is not thread-safe.
class Executable {
 public:
  /// Compiles a module. Modules that the fast engine does not support, and runs with custom calls other than
  /// those in `options`, use the reference. The custom calls must outlive the executable. Errors:
  /// Unimplemented if CheckSupported fails or there is no GPU; InvalidArgument if `plan_options` names an
  /// unknown pass.
  static absl::StatusOr<Executable> Make(const CheckedModule& module, Engine engine,
                                         const EvaluateOptions& options = {}, const Device& device = {},
                                         const PlanOptions& plan_options = {});
  ~Executable();
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;

  /// Runs the module; arguments, result and errors are those of Evaluate.
  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options = {});

  /// Runs the module on all devices of its header (ModuleHeader: replica_count, num_partitions), each on a
  /// thread of its own. On GPUs all devices run concurrently, otherwise at most one per core. Takes the
  /// arguments of each device and returns the results, replica by replica. Results do not depend on the order
  /// in which devices run. Device d draws its random numbers from seed + d. Errors: those of Run for the
  /// failed device with the lowest number; FailedPrecondition for devices that wait for each other.
  absl::StatusOr<std::vector<Literal>> RunDevices(std::vector<std::vector<Literal>> arguments,
                                                  const EvaluateOptions& options = {},
                                                  const DevicesOptions& devices = {});
  /// Returns the number of devices that RunDevices runs.
  int64_t device_count() const;

  /// Return the engine in use and, if it is not the requested one, the reason.
  Engine engine() const;
  std::string_view fallback_reason() const;
  /// Returns what the validator found wrong in the plan with all passes, if the module runs without the
  /// optional ones for that reason (PlanOptions::replan_if_refused); otherwise empty.
  std::string_view plan_refusal() const;
  /// Returns the steps that ran on the CPU instead of the GPU so far, on all devices together. GPUs exchange
  /// values through host memory, so collectives are among them.
  std::vector<Fallback> fallbacks() const;

 private:
  friend class exec::RunServer;
  struct State;
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Compiles a module and runs it once.
absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options = {}, const Device& device = {},
                                const PlanOptions& plan_options = {});

}  // namespace hlo
#pragma GCC visibility pop
