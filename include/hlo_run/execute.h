#pragma once
// Runs a module many times: planned once, by the engine of one's choice.

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
  kReference,  // One plain function for each opcode: says what a module means.
  kFast,       // A plan of fused kernels: the same meaning, at the speed of compiled code.
};

// Where the fast engine's plan runs.
struct Device {
  enum class Kind : uint8_t {
    kCpu,
    kGpu,          // An NVIDIA GPU.
    kEmulatedGpu,  // The GPU's kernels, on the host: slow, for tests.
  };
  Kind kind = Kind::kCpu;
  int number = 0;  // Which GPU. Emulated: which order of threads.
};

// A step that the GPU left to the CPU.
struct Fallback {
  const Instruction* instruction;
  std::string reason;
  int64_t runs, bytes;  // Copied, of all runs.
};

// Not to be used by several threads at once.
class Executable {
 public:
  // Unimplemented: see CheckSupported, with these options; or there is no GPU. What the fast engine has no
  // plan for, the reference runs; so it does runs with other custom calls than these, which must outlive the
  // executable. InvalidArgument: the options of the planner name no pass.
  static absl::StatusOr<Executable> Make(const CheckedModule& module, Engine engine,
                                         const EvaluateOptions& options = {}, Device device = {},
                                         const PlanOptions& plan_options = {});
  ~Executable();
  Executable(Executable&&) noexcept;
  Executable& operator=(Executable&&) noexcept;

  // As Evaluate.
  absl::StatusOr<Literal> Run(std::vector<Literal> arguments, const EvaluateOptions& options = {});

  // The engine that runs; and why, where it is not the one that was asked for.
  Engine engine() const;
  std::string_view fallback_reason() const;
  // What the GPU left to the CPU so far.
  std::vector<Fallback> fallbacks() const;

 private:
  struct State;
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Once.
absl::StatusOr<Literal> Execute(const CheckedModule& module, std::vector<Literal> arguments, Engine engine,
                                const EvaluateOptions& options = {}, Device device = {},
                                const PlanOptions& plan_options = {});

}  // namespace hlo
#pragma GCC visibility pop
