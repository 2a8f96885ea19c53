#include "kernels/cuda/vm/lower_loop.h"

#include <algorithm>
#include <memory>

#include "base/arithmetic.h"
#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cuda/copy/lower_copy.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/vm/lower_vm32.h"
#include "kernels/cuda/vm/vm32_body.h"
#include "kernels/cuda/vm/vm_kernels.h"

namespace hlo::cuda {
namespace {

template <class Kernel>
absl::Status LaunchTile(const VmProgram& program, size_t shared_bytes, device::Stream stream) {
  constexpr uint64_t kPerBlock = uint64_t{kVmThreads} * Kernel::kValues;
  const uint64_t blocks = CeilDiv(program.position_count, kPerBlock);
  return Launch<Kernel>({{static_cast<uint32_t>(blocks)}, kVmThreads, shared_bytes}, program, stream);
}

// Returns the program for the 32-bit VM (vm32.h), which runs most loops; nullopt if it does not support this
// one.
std::optional<LoweredProgram> LowerToVm32(const VmTemplate& made, const device::DeviceProperties& device) {
  std::optional<Vm32Template> vm32 = LowerVm32(made);
  if (!vm32.has_value()) return std::nullopt;
  const std::optional<Vm32Choice> choice = ChooseVm32(*vm32, device);
  if (!choice.has_value()) return std::nullopt;
  const auto shared = std::make_shared<const std::pair<VmTemplate, Vm32Template>>(made, *std::move(vm32));
  return LoweredProgram{fmt::format("loop {} x {}{}", choice->vectors, kVm32Width,
                                    shared->second.needs_all ? "" : ", no calls"),
                        [shared, choice = *choice](void* const* pointers, void*, device::Stream stream) {
                          const auto& [vm, vm32] = *shared;
                          Vm32Program program = vm32.program;
                          if (program.position_count == 0) return absl::OkStatus();
                          SetVm32Pointers(vm, pointers, program);
                          return LaunchVm32(vm32, choice, program, stream);
                        }};
}

int ValuesOf(int words) {
  return words == 1 ? TileVm4::kValues : words == 2 ? TileVm8::kValues : TileVm16::kValues;
}

}  // namespace

absl::StatusOr<std::vector<VmBuilder::Value>> LowerSteps(const loops::LoopProgram& program,
                                                         VmBuilder& builder) {
  std::vector<VmBuilder::Value> values;
  for (const loops::LoopProgram::Step& step : program.steps()) {
    absl::InlinedVector<VmBuilder::Value, 3> operands;
    for (const loops::Value operand : step.operands()) operands.push_back(values[operand]);
    HLO_ASSIGN_OR_RETURN(const VmBuilder::Value value,
                         step.IsLoad() ? builder.Load(program, step.access)
                                       : builder.Apply(step.operation, step.compute_type, operands));
    values.push_back(value);
  }
  for (const loops::LoopProgram::Stored& stored : program.stores())
    HLO_RETURN_IF_ERROR(builder.Store(values[stored.value], program.access(stored.access)));
  std::vector<VmBuilder::Value> yields;
  for (const loops::Value value : program.yields()) yields.push_back(values[value]);
  return yields;
}

namespace {

// Returns the loop state after the last iteration.
absl::StatusOr<std::vector<VmBuilder::Value>> LowerWhile(const loops::ScalarFunction::Step& step,
                                                         absl::Span<const VmBuilder::Value> values,
                                                         VmBuilder& builder) {
  const loops::ScalarFunction::Loop& loop = *step.loop;
  std::vector<VmBuilder::Value> state;
  for (const loops::Value value : step.state) state.push_back(builder.Variable(values[value]));
  const VmBuilder::Label turn = builder.NewLabel(), end = builder.NewLabel();
  if (loop.active != loops::ScalarFunction::kAll) builder.JumpUnless(values[loop.active], end);
  builder.Bind(turn);
  HLO_ASSIGN_OR_RETURN(const std::vector<VmBuilder::Value> predicate,
                       LowerCode(loop.condition, state, builder));
  builder.JumpUnless(predicate[0], end);
  HLO_ASSIGN_OR_RETURN(std::vector<VmBuilder::Value> next, LowerCode(loop.body, state, builder));
  // A result may be an element of the state that another result overwrites.
  for (VmBuilder::Value& value : next) value = builder.Copy(value);
  for (size_t k = 0; k < state.size(); ++k) builder.CopyTo(state[k], next[k]);
  builder.Jump(turn);
  builder.Bind(end);
  return state;
}

}  // namespace

absl::StatusOr<std::vector<VmBuilder::Value>> LowerCode(const loops::ScalarFunction& code,
                                                        absl::Span<const VmBuilder::Value> inputs,
                                                        VmBuilder& builder) {
  std::vector<VmBuilder::Value> values(inputs.begin(), inputs.end()), yields;
  values.resize(static_cast<size_t>(code.value_count()));
  for (const loops::ScalarFunction::Step& step : code.steps()) {
    const loops::ComputeType compute_type = code.compute_type(step.out);
    if (step.loop != nullptr) {
      HLO_ASSIGN_OR_RETURN(const std::vector<VmBuilder::Value> state, LowerWhile(step, values, builder));
      std::copy(state.begin(), state.end(), values.begin() + step.out);
    } else if (step.operation.kind == loops::Operation::Kind::kNone) {
      HLO_ASSIGN_OR_RETURN(values[step.out], builder.Constant(compute_type, step.constant.data()));
    } else {
      HLO_ASSIGN_OR_RETURN(values[step.out],
                           builder.Apply(step.operation, compute_type,
                                         {values[step.in[0]], values[step.in[1]], values[step.in[2]]}));
    }
  }
  for (const loops::Value value : code.yields()) yields.push_back(values[value]);
  return yields;
}

std::vector<int64_t> DimsOf(const loops::LoopProgram& program) {
  std::vector<int64_t> dims(program.outer_dims().begin(), program.outer_dims().end());
  dims.insert(dims.end(), program.inner_dims().begin(), program.inner_dims().end());
  return dims;
}

void SetPointers(const VmTemplate& made, void* const* pointers, VmProgram& program) {
  for (size_t a = 0; a < made.access_arguments.size(); ++a) {
    const int32_t argument = made.access_arguments[a];
    program.accesses[a].data = argument < 0 ? nullptr : pointers[argument];
    const int32_t outside = made.outside_arguments[a];
    program.accesses[a].outside = outside < 0 ? nullptr : pointers[outside];
  }
  for (size_t s = 0; s < made.start_arguments.size(); ++s)
    program.starts[s].data = pointers[made.start_arguments[s]];
}

absl::StatusOr<size_t> SharedBytesOf(const VmTemplate& made, int values,
                                     const device::DeviceProperties& device) {
  const auto bytes = static_cast<size_t>(made.program.slot_count) * values * kVmThreads * 4 * made.words;
  if (static_cast<int64_t>(bytes) > device.shared_bytes_per_block)
    return absl::UnimplementedError(
        fmt::format("the code keeps {} values: more than shared memory holds", made.program.slot_count));
  return bytes;
}

absl::StatusOr<LoweredProgram> LowerLoop(const loops::LoopProgram& program,
                                         const device::DeviceProperties& device) {
  if (std::optional<LoweredProgram> copy = LowerCopy(program); copy.has_value()) return *std::move(copy);
  VmBuilder builder;
  HLO_RETURN_IF_ERROR(LowerSteps(program, builder).status());
  builder.EndSection();
  HLO_ASSIGN_OR_RETURN(VmTemplate made, builder.Finish(DimsOf(program)));
  if (std::optional<LoweredProgram> vm32 = LowerToVm32(made, device); vm32.has_value())
    return *std::move(vm32);
  const int values = ValuesOf(made.words);
  HLO_ASSIGN_OR_RETURN(const size_t shared_bytes, SharedBytesOf(made, values, device));
  if (made.program.position_count / (kVmThreads * values) >= (uint64_t{1} << 31) - 1)
    return absl::UnimplementedError("the loop is too long");
  const auto shared = std::make_shared<const VmTemplate>(std::move(made));
  return LoweredProgram{fmt::format("loop {} x {} bytes", values, 4 * shared->words),
                        [shared, shared_bytes](void* const* pointers, void*, device::Stream stream) {
                          VmProgram program = shared->program;
                          if (program.position_count == 0) return absl::OkStatus();
                          SetPointers(*shared, pointers, program);
                          switch (shared->words) {
                            case 1:
                              return LaunchTile<TileVm4>(program, shared_bytes, stream);
                            case 2:
                              return LaunchTile<TileVm8>(program, shared_bytes, stream);
                            default:
                              return LaunchTile<TileVm16>(program, shared_bytes, stream);
                          }
                        }};
}

}  // namespace hlo::cuda
