#include "kernels/cuda/reduce/lower_vm32_reduce.h"

#include <memory>
#include <utility>

#include "base/arithmetic.h"
#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cuda/launch/launch.h"
#include "kernels/cuda/reduce/vm32_reduce_body.h"
#include "kernels/cuda/vm/lower_loop.h"
#include "kernels/cuda/vm/lower_vm32.h"

namespace hlo::cuda {

using loops::ComputeType;
using loops::ReduceProgram;

std::optional<Vm32Fold> Vm32FoldOf(const loops::Reduction& reduction) {
  const loops::Operation* operation = reduction.BinaryOperation();
  if (operation == nullptr) return std::nullopt;
  const ComputeType compute_type = loops::ComputeTypeOf(operation->from);
  const bool is_float = compute_type == ComputeType::kF32, is_signed = VmTypeOf(compute_type) == VmType::kI32;
  // Narrow integers wrap when they are stored, but not within a maximum.
  if (!is_float && compute_type != ComputeType::kS32 && compute_type != ComputeType::kU32 &&
      compute_type != ComputeType::kPred)
    return std::nullopt;
  switch (operation->opcode) {
    case Opcode::kAdd:
      return compute_type == ComputeType::kPred ? Vm32Fold::kOr
             : is_float                         ? Vm32Fold::kAddF
                                                : Vm32Fold::kAddI;
    case Opcode::kMaximum:
      return is_float ? Vm32Fold::kMaximumF : is_signed ? Vm32Fold::kMaximumS : Vm32Fold::kMaximumU;
    case Opcode::kMinimum:
      return is_float ? Vm32Fold::kMinimumF : is_signed ? Vm32Fold::kMinimumS : Vm32Fold::kMinimumU;
    case Opcode::kAnd:
      if (is_float) return std::nullopt;
      return Vm32Fold::kAnd;
    case Opcode::kOr:
      if (is_float) return std::nullopt;
      return Vm32Fold::kOr;
    default:
      return std::nullopt;
  }
}

std::optional<VmMemory> Vm32ScalarMemory(ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kS32:
    case ElementType::kU32:
      return VmMemory::k4;
    case ElementType::kBF16:
      return VmMemory::kBF16;
    case ElementType::kF16:
      return VmMemory::kF16;
    case ElementType::kPred:
      return VmMemory::kU8;
    default:
      return std::nullopt;
  }
}

namespace {

// Chooses threads per row and chunks per row from the shape only.
void ChooseThreadGroups(Vm32ReduceArgs& args) {
  constexpr uint32_t kChunk = 32 << 10, kFewRows = 1024, kLongRow = 8 << 10;
  const bool cuts = args.kept < kFewRows && args.reduced >= 2 * kChunk;
  args.chunk_length = cuts ? kChunk : args.reduced;
  args.chunks = CeilDiv(args.reduced, args.chunk_length);
  args.group = args.chunk_length >= kLongRow || (args.kept < kFewRows && args.reduced >= 1024) ? kVm32Threads
                                                                                               : kWarpSize;
}

// A finished reduction without pointers.
struct Vm32Reduction {
  VmTemplate vm;
  Vm32ReduceArgs args;
  loops::Reduction::Result result;
  size_t shared_bytes = 0;
  int vectors = 1;
  bool needs_all = false;
};

template <class Kernel>
absl::Status LaunchRows(const Vm32ReduceArgs& args, size_t shared_bytes, device::Stream stream) {
  const uint32_t rows = Kernel::kThreads / args.group, units = args.kept * args.chunks;
  return Launch<Kernel>({{CeilDiv(units, rows)}, Kernel::kThreads, Kernel::kWarpsBytes + shared_bytes}, args,
                        stream);
}

absl::Status RunReduction(const Vm32Reduction& reduction, const Vm32ReduceArgs& args, device::Stream stream) {
  const size_t bytes = reduction.shared_bytes;
  const bool sums = args.fold == Vm32Fold::kAddF;
  if (sums && reduction.needs_all)
    HLO_RETURN_IF_ERROR(LaunchRows<WideVm32SumRows4>(args, bytes, stream));
  else if (sums && reduction.vectors == 1)
    HLO_RETURN_IF_ERROR(LaunchRows<Vm32SumRows4>(args, bytes, stream));
  else if (sums)
    HLO_RETURN_IF_ERROR(LaunchRows<Vm32SumRows8>(args, bytes, stream));
  else if (reduction.needs_all)
    HLO_RETURN_IF_ERROR(LaunchRows<WideVm32WordRows4>(args, bytes, stream));
  else
    HLO_RETURN_IF_ERROR(LaunchRows<Vm32WordRows8>(args, bytes, stream));
  if (args.chunks == 1) return absl::OkStatus();
  const LaunchShape shape{{args.kept}, kVm32Threads, 64};
  return sums ? Launch<Vm32SumJoin>(shape, args, stream) : Launch<Vm32WordJoin>(shape, args, stream);
}

std::optional<Vm32Reduction> MakeReduction(const ReduceProgram& program,
                                           const device::DeviceProperties& device) {
  std::optional<Vm32ReduceBody> body = LowerReduceBody(program);
  if (!body.has_value()) return std::nullopt;
  const Vm32Template& vm32 = body->vm32;
  Vm32Reduction made;
  made.result = program.results[0];
  made.vm = std::move(body->vm);
  made.args.program = vm32.program;
  made.args.fold = body->fold;
  made.args.init_memory = body->init_memory;
  made.args.output_memory = body->output_memory;
  made.args.kept = static_cast<uint32_t>(program.kept_count());
  made.args.reduced = static_cast<uint32_t>(program.reduced_count());
  // Vectors begin at multiples of the width in a row, so rows must be multiples of it, too.
  if (made.args.reduced % kVm32Width != 0) return std::nullopt;
  ChooseThreadGroups(made.args);
  made.needs_all = vm32.needs_all;
  const auto bytes = [&](int vectors) { return Vm32Kernel4::kSlotBytes * vectors * vm32.slot_count; };
  constexpr size_t kMaxBytes = 56 << 10;
  const bool has_two = !made.needs_all && bytes(2) <= kMaxBytes;
  if (!has_two && made.args.fold != Vm32Fold::kAddF && !made.needs_all) made.needs_all = true;
  made.vectors = has_two ? 2 : 1;
  made.shared_bytes = bytes(made.vectors);
  if (static_cast<int64_t>(made.shared_bytes) + 64 > device.shared_bytes_per_block) return std::nullopt;
  return made;
}

}  // namespace

std::optional<Vm32ReduceBody> LowerReduceBody(const ReduceProgram& program) {
  if (!program.rows || program.part_length != 1 || program.reassociation != loops::Reassociation::kAny ||
      program.results.size() != 1 || program.body.yields().size() != 1 || program.kept_count() == 0 ||
      program.reduced_count() == 0)
    return std::nullopt;
  const std::optional<Vm32Fold> fold = Vm32FoldOf(program);
  const std::optional<VmMemory> init = Vm32ScalarMemory(program.results[0].init_type),
                                output = Vm32ScalarMemory(program.results[0].output_type);
  if (!fold.has_value() || !init.has_value() || !output.has_value()) return std::nullopt;
  VmBuilder builder(1);
  const absl::StatusOr<std::vector<VmBuilder::Value>> yields = LowerSteps(program.body, builder);
  if (!yields.ok()) return std::nullopt;
  builder.CopyTo(builder.Pinned(0), (*yields)[0]);
  builder.EndSection();
  absl::StatusOr<VmTemplate> vm = builder.Finish(DimsOf(program.body));
  if (!vm.ok()) return std::nullopt;
  std::optional<Vm32Template> vm32 = LowerVm32(*vm);
  if (!vm32.has_value() || vm32->program.code_count == 0) return std::nullopt;
  // The accumulator holds the value; nothing reads its slot.
  vm32->program.code[vm32->program.code_count - 1].out = Vm32Instruction::kNone;
  return Vm32ReduceBody{*std::move(vm), *std::move(vm32), *fold, *init, *output};
}

std::optional<LoweredProgram> LowerVm32Reduce(const ReduceProgram& program,
                                              const device::DeviceProperties& device) {
  std::optional<Vm32Reduction> made = MakeReduction(program, device);
  if (!made.has_value()) return std::nullopt;
  const auto shared = std::make_shared<const Vm32Reduction>(*std::move(made));
  const Vm32ReduceArgs& args = shared->args;
  const int64_t workspace = args.chunks > 1 ? int64_t{args.kept} * args.chunks * 8 : 0;
  const std::string chunks = args.chunks > 1 ? fmt::format(", {} chunks", args.chunks) : "";
  return LoweredProgram{fmt::format("reduce vm32 {} x {}, {} threads{}{}", shared->vectors, kVm32Width,
                                    args.group, chunks, args.fold == Vm32Fold::kAddF ? ", sums in f64" : ""),
                        [shared](void* const* pointers, void* partials, device::Stream stream) {
                          Vm32ReduceArgs run = shared->args;
                          SetVm32Pointers(shared->vm, pointers, run.program);
                          run.init = pointers[shared->result.init];
                          run.output = pointers[shared->result.output];
                          run.partials = partials;
                          return RunReduction(*shared, run, stream);
                        },
                        workspace};
}

}  // namespace hlo::cuda
