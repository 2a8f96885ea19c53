#pragma once
// Runs instructions on the emulator, with the kernels of the registry, and compares them with the reference.

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "device/gpu.h"
#include "gtest/gtest.h"
#include "hlo_run/check.h"
#include "hlo_run/compare.h"
#include "hlo_run/parse.h"
#include "hlo_run/run.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/registry.h"
#include "on_gpu.h"
#include "types/dispatch.h"

namespace hlo::cuda {

inline device::Stream EmulatedStream(int32_t schedule) { return {.emulated = true, .schedule = schedule}; }

// A module whose entry is one instruction with parameters as operands, as separate types and attributes.
struct OneInstruction {
  std::string result, opcode;
  std::vector<std::string> operands;  // Shapes.
  std::string attributes;

  std::string Text() const {
    std::string text = "HloModule t\nENTRY e {\n", names;
    for (size_t i = 0; i < operands.size(); ++i) {
      const std::string name = "p" + std::to_string(i);
      text += "  " + name + " = " + operands[i] + " parameter(" + std::to_string(i) + ")\n";
      names += (i == 0 ? "" : ", ") + name;
    }
    return text + "  ROOT r = " + result + " " + opcode + "(" + names + "), " + attributes + "\n}\n";
  }
};

inline absl::StatusOr<CheckedModule> ReadModule(const std::string& text) {
  Diagnostics diagnostics;
  std::shared_ptr<Module> module = Parse(std::make_shared<SourceText>("t.hlo", text), diagnostics);
  if (module == nullptr) return absl::InvalidArgumentError("the module does not parse: " + text);
  return Check(std::move(module), diagnostics);
}

// Returns small integers, whose products and sums are exact in any order. Types that do not represent them
// get the nearest values.
inline Literal WholeNumbers(const Shape& shape, uint32_t seed) {
  absl::StatusOr<Literal> array = Literal::Create(Shape::Array(shape.type(), shape.dims()));
  std::mt19937 random(seed);
  DispatchType(shape.type(), [&]<ElementType kType>() {
    using N = Native<kType>;
    for (N& x : array->mutable_span<N>()) {
      const int value = static_cast<int>(random() % 5) - 2;
      if constexpr (requires(N n) { n.ToFloat(); })
        x = N::FromDouble(kType == ElementType::kF8E8M0FNU ? 1 + value % 2 * 0.5 : value);
      else if constexpr (std::is_same_v<N, bool>)
        x = value > 0;
      else if constexpr (std::is_same_v<N, std::complex<float>> || std::is_same_v<N, std::complex<double>>)
        x = N(static_cast<typename N::value_type>(value),
              static_cast<typename N::value_type>(static_cast<int>(random() % 5) - 2));
      else if constexpr (std::is_integral_v<N>)
        x = static_cast<N>(BitWidth(kType) >= 8 ? static_cast<int>(random())
                           : IsSigned(kType)    ? -(value > 0)
                                                : value > 0);
      else
        x = static_cast<N>(value);
    }
  });
  return *std::move(array);
}

// Returns normally distributed numbers.
inline std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Returns the first GPU.
inline device::Gpu& TestGpu() {
  static const absl::StatusOr<std::unique_ptr<device::Gpu>> gpu = device::OpenGpu(0);
  return **gpu;
}

// Returns the instruction's value and, in `name`, the name of its kernel.
inline absl::StatusOr<Literal> RunEmulated(const CheckedModule& module, const std::vector<Literal>& arguments,
                                           int32_t schedule, std::string* name = nullptr,
                                           int capability = 90) {
  const Instruction& root = *module.module().entry()->root();
  const std::optional<CudaKernel> kernel = FindCudaKernel(
      root, {.compute_capability = capability, .multiprocessors = 2, .shared_bytes_per_block = 227 << 10});
  if (!kernel.has_value()) return absl::UnimplementedError("no kernel");
  if (name != nullptr) *name = kernel->name;
  const std::unique_ptr<device::Gpu> emulated = test::OnGpu() ? nullptr : device::MakeEmulatedGpu(schedule);
  device::Gpu& gpu = emulated != nullptr ? *emulated : TestGpu();
  std::vector<device::GpuMemory> memory;
  const auto allocate = [&](int64_t bytes) -> absl::StatusOr<void*> {
    absl::StatusOr<void*> data = gpu.Allocate(std::max<int64_t>(bytes, 16), "a test");
    if (!data.ok()) return data;
    memory.emplace_back(gpu, *data);
    const std::vector<std::byte> poison(bytes, std::byte{0xff});
    const absl::Status status = gpu.ToDevice(*data, poison.data(), bytes);
    if (!status.ok()) return status;
    return data;
  };
  std::vector<const void*> operands;
  for (const Literal& argument : arguments) {
    HLO_ASSIGN_OR_RETURN(void* const data, allocate(argument.byte_count()));
    HLO_RETURN_IF_ERROR(gpu.ToDevice(data, argument.data(), argument.byte_count()));
    operands.push_back(data);
  }
  HLO_ASSIGN_OR_RETURN(Literal result,
                       Literal::Create(Shape::Array(root.shape().type(), root.shape().dims())));
  HLO_ASSIGN_OR_RETURN(void* const out, allocate(result.byte_count()));
  HLO_ASSIGN_OR_RETURN(void* const workspace, allocate(kernel->workspace_bytes));
  void* results[] = {out};
  HLO_RETURN_IF_ERROR(kernel->run(operands, absl::MakeSpan(results, 1), workspace, gpu.stream()));
  HLO_RETURN_IF_ERROR(gpu.ToHost(result.mutable_data(), out, result.byte_count()));
  return result;
}

// Expects bits equal to the reference's on integers for all schedules. Returns the kernel's name.
inline std::string ExpectExact(const OneInstruction& instruction, int schedules = 2, int capability = 90) {
  SCOPED_TRACE(instruction.Text());
  std::string name;
  absl::StatusOr<CheckedModule> module = ReadModule(instruction.Text());
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return name;
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module->module().entry()->parameters())
    arguments.push_back(WholeNumbers(parameter->shape(), static_cast<uint32_t>(arguments.size()) + 1));
  const absl::StatusOr<Literal> want = Evaluate(*module, arguments);
  EXPECT_TRUE(want.ok()) << want.status();
  for (int s = 0; want.ok() && s < schedules; ++s) {
    const absl::StatusOr<Literal> got = RunEmulated(*module, arguments, 2 * s, &name, capability);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok()) break;
    const CompareReport report = CompareArrays(*got, *want, CompareRule::Exact());
    EXPECT_TRUE(report.ok()) << name << "\n" << ToString(report);
  }
  return name;
}

// The same for an instruction whose kernel must have `part` in its name.
inline std::string ExpectExactBy(const std::string& part, const OneInstruction& instruction,
                                 int schedules = 2) {
  const std::string name = ExpectExact(instruction, schedules);
  EXPECT_NE(name.find(part), std::string::npos) << name << instruction.Text();
  return name;
}

}  // namespace hlo::cuda
