#pragma once
// Runs an emulated CUDA kernel for the root instruction of a module, whose operands are parameters or
// constants, and compares it with the reference.

#include <random>
#include <string>
#include <vector>

#include "engines.h"
#include "kernels/cuda/emulator/emulator.h"
#include "kernels/cuda/registry.h"

namespace hlo::test {

struct KernelRun {
  std::string name;
  std::vector<Literal> results;  // Leaves of the result.
};

inline device::DeviceProperties Hopper() {
  device::DeviceProperties device;
  device.compute_capability = 90;
  device.multiprocessors = 132;
  device.shared_bytes_per_block = 227 << 10;
  return device;
}

inline Literal Poisoned(const Shape& shape) {
  absl::StatusOr<Literal> array = Literal::Create(shape);
  HLO_CHECK(array.ok());
  std::fill_n(reinterpret_cast<uint8_t*>(array->mutable_data()), array->byte_count(), uint8_t{0xff});
  return *std::move(array);
}

// Runs the kernel under one of the emulator's schedules.
inline absl::StatusOr<KernelRun> RunKernel(const Instruction& instruction,
                                           absl::Span<const Literal> arguments, int32_t schedule) {
  const std::optional<cuda::CudaKernel> kernel = cuda::FindCudaKernel(instruction, Hopper());
  if (!kernel.has_value()) return absl::UnimplementedError("no kernel takes the instruction");
  std::vector<const void*> operands;
  for (const Instruction* operand : instruction.operands()) {
    operands.push_back(operand->opcode() == Opcode::kConstant
                           ? operand->Get<attr::literal>()->data()
                           : arguments[operand->Get<attr::number>()].data());
  }
  KernelRun run{kernel->name, {}};
  const Shape& shape = instruction.shape();
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) run.results.push_back(Poisoned(element));
  } else {
    run.results.push_back(Poisoned(shape));
  }
  std::vector<void*> results;
  for (Literal& result : run.results) results.push_back(result.mutable_data());
  std::vector<uint64_t> workspace(kernel->workspace_bytes / 8 + 1, ~uint64_t{0});
  const absl::Status status =
      kernel->run(operands, absl::MakeSpan(results), workspace.data(), {nullptr, true, schedule});
  if (!status.ok()) return status;
  return run;
}

// Expects that the entry's root runs on a kernel whose name starts with `name` and gives the reference's
// values.
inline void ExpectKernelAgrees(const std::string& text, std::string_view name,
                               const Agreement& agreement = {}, int schedules = 2) {
  SCOPED_TRACE(text);
  absl::StatusOr<CheckedModule> module = ReadModule("HloModule t\n" + text);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<Literal> arguments = ArgumentsOf(*module, agreement);
  const absl::StatusOr<Literal> want = Execute(*module, arguments, Engine::kReference);
  ASSERT_TRUE(want.ok()) << want.status();
  const std::vector<LiteralLeaf> expected = ArrayLeaves(*want);
  for (int schedule = 0; schedule < schedules; ++schedule) {
    const absl::StatusOr<KernelRun> run =
        RunKernel(*module->module().entry()->root(), arguments, static_cast<int32_t>(schedule));
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->name.substr(0, name.size()), name);
    ASSERT_EQ(run->results.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const CompareReport report = CompareArrays(run->results[i], *expected[i].value, agreement.rule);
      EXPECT_TRUE(report.ok()) << run->name << ", leaf " << expected[i].key << "\n" << ToString(report, 2);
    }
  }
}

}  // namespace hlo::test
