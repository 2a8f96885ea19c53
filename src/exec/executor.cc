#include "exec/executor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/deadline.h"
#include "base/status.h"
#include "fmt/format.h"
#include "kernels/cpu/loops/block_loop.h"
#include "plan/cpu/plan_bytecode.h"
#include "types/index.h"
#include "types/memory_use.h"

namespace hlo::exec {
namespace {

using plan::Move;
using plan::Slot;

}  // namespace

absl::StatusOr<Literal> Executor::Run(const std::vector<Literal>& arguments, const EvaluateOptions& options) {
  Start(options);
  if (const absl::Status bound = Bind(arguments); absl::IsResourceExhausted(bound)) {
    return absl::ResourceExhaustedError(fmt::format("the run takes {} bytes besides its arguments: {}",
                                                    plan::MemoryOf(plan_), Message(bound)));
  } else if (!bound.ok()) {
    return bound;
  }
  const Observer* observer = options_->observer;
  const bool step_by_step = options_->max_steps > 0 || (observer != nullptr && observer->needs_inner_steps());
  const plan::PlanBytecode* code = step_by_step ? nullptr : plan_.bytecode.get();
  escaped_to_ = nullptr;
  compiled_ = code != nullptr ? &steps_->Escapes() : &steps_->All();
  HLO_RETURN_IF_ERROR(code != nullptr ? RunBytecode(*code) : RunSteps(plan_.steps));
  return TakeResults();
}

// Donates the memory of arguments that nobody else holds to the results that may alias them.
absl::Status Executor::Bind(const std::vector<Literal>& arguments) {
  const std::vector<const Literal*> leaves = Leaves(arguments);
  if (arena_ == nullptr) {
    HLO_ASSIGN_OR_RETURN(arena_, Buffer::Allocate(plan_.arena_bytes));
  }
  pointers_.resize(plan_.buffers.size());
  owners_.resize(plan_.buffers.size());
  literals_.clear();
  const auto argument_of = [&](const plan::Buffer& buffer) -> const std::shared_ptr<Buffer>& {
    return leaves[buffer.parameter]->buffer();
  };
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const Slot donor = plan_.buffers[slot].donor;
    if (donor < 0) continue;
    const std::shared_ptr<Buffer>& argument = argument_of(plan_.buffers[donor]);
    if (argument.use_count() == 1) owners_[slot] = argument;
  }
  BindLiterals(leaves);
  for (size_t slot = 0; slot < pointers_.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    std::shared_ptr<Buffer>& owner = owners_[slot];
    switch (buffer.kind) {
      case plan::Buffer::Kind::kParameter:
        owner = argument_of(buffer);
        break;
      case plan::Buffer::Kind::kConstant:
        owner = buffer.constant->buffer();
        break;
      case plan::Buffer::Kind::kArena:
        owner = nullptr;
        pointers_[slot] = arena_->data() + buffer.offset;
        continue;
      case plan::Buffer::Kind::kAllocated:
        if (buffer.donor >= 0 && owner == argument_of(plan_.buffers[buffer.donor])) break;
        // The caller may still hold the memory of the previous run's result.
        if (owner == nullptr || owner.use_count() > 1 || owner->byte_count() < buffer.byte_count) {
          HLO_ASSIGN_OR_RETURN(owner, Buffer::Allocate(buffer.byte_count));
        }
        break;
      case plan::Buffer::Kind::kLiteral:
        continue;
    }
    pointers_[slot] = owner->data();
  }
  // Checks that the memory that kernels allocate while they run is within the limit.
  HLO_RETURN_IF_ERROR(ClaimMemory(plan_.kernel_bytes));
  ReleaseMemory(plan_.kernel_bytes);
  for (const plan::Buffer& buffer : plan_.buffers) {
    const size_t slot = &buffer - plan_.buffers.data();
    if (buffer.donor >= 0 && owners_[slot] == owners_[buffer.donor]) owners_[buffer.donor] = nullptr;
  }
  return absl::OkStatus();
}

absl::StatusOr<Literal> Executor::ResultLeaf(size_t leaf) {
  const Slot slot = plan_.results[leaf];
  if (slot < 0) return Literal::Token();
  if (plan_.IsLiteral(slot)) return literals_[slot];
  const plan::Buffer& buffer = plan_.buffers[slot];
  std::shared_ptr<Buffer> memory = owners_[slot];
  // Buffers that were swapped with others, or that are in the arena, are copied.
  const bool is_from_caller =
      buffer.kind == plan::Buffer::Kind::kParameter || buffer.kind == plan::Buffer::Kind::kConstant;
  if (!is_from_caller && !buffer.is_result) {
    HLO_ASSIGN_OR_RETURN(memory, Buffer::Allocate(buffer.byte_count));
    std::memcpy(memory->data(), pointers_[slot], buffer.byte_count);
  }
  return Literal::FromBuffer(plan_.result_shapes[leaf], std::move(memory));
}

absl::StatusOr<Literal> Executor::TakeResults() {
  absl::StatusOr<Literal> result = AssembleResult();
  // Memory that the caller now holds is released.
  for (size_t slot = 0; slot < owners_.size(); ++slot) {
    const plan::Buffer& buffer = plan_.buffers[slot];
    if (buffer.is_result || buffer.kind == plan::Buffer::Kind::kParameter) owners_[slot] = nullptr;
  }
  literals_.clear();
  return result;
}

absl::Status Executor::RunKernels(const plan::Step& step) {
  if (const auto* tiles = std::get_if<plan::TileStep>(&step.what)) {
    const bool in_place = tiles->updated >= 0 && pointers_[tiles->updated] == pointers_[tiles->result];
    const auto& programs = Compiled<std::vector<cpu::TileProgram>>(step);
    for (size_t p = in_place ? 1 : 0; p < programs.size(); ++p) programs[p].Run(pointers_.data());
    return absl::OkStatus();
  }
  if (std::holds_alternative<plan::ReduceStep>(step.what)) {
    Compiled<cpu::ReduceProgram>(step).Run(pointers_.data());
    return absl::OkStatus();
  }
  if (const auto* rows = std::get_if<plan::RowsStep>(&step.what)) {
    absl::InlinedVector<void*, 16> arguments;
    for (const Slot slot : rows->operands) arguments.push_back(pointers_[slot]);
    for (const Slot slot : rows->results) arguments.push_back(pointers_[slot]);
    Compiled<cpu::RowProgram>(step).Run(arguments.data());
    return absl::OkStatus();
  }
  if (const auto* kernel = std::get_if<plan::KernelStep>(&step.what)) return RunKernel(step, *kernel);
  if (const auto* product = std::get_if<plan::ProductStep>(&step.what)) return RunProduct(step, *product);
  return RunReference(*step.instruction, std::get<plan::ReferenceStep>(step.what));
}

std::optional<int64_t> Executor::TripCount(const plan::LoopStep& loop, bool is_at_start) const {
  return exec::TripCount(loop, [&](Slot slot, ElementType type) -> std::optional<int64_t> {
    // Arguments do not change while the loop runs.
    const bool is_given = slot >= 0 && plan_.buffers[slot].kind == plan::Buffer::Kind::kParameter;
    if (slot < 0 || plan_.IsLiteral(slot) || !(is_at_start || is_given)) return std::nullopt;
    return loops::ReadInteger(type, pointers_[slot]);
  });
}

std::vector<RunningLoop> Executor::LoopsOf(const plan::PlanBytecode& code,
                                           absl::Span<const int64_t> iterations) const {
  std::vector<RunningLoop> loops;
  for (size_t k = iterations.size(); k-- > 0;) {
    const plan::Step& step = *code.loops[k];
    if (iterations[k] > 0)
      loops.push_back({&step.shown(), iterations[k],
                       TripCount(std::get<plan::LoopStep>(step.what), /*is_at_start=*/false)});
  }
  return ShownLoops(std::move(loops));
}

const StepProperties& Executor::PropertiesOf(const plan::Step& step) {
  const auto [found, is_new] = properties_.try_emplace(&step);
  if (is_new) found->second = exec::PropertiesOf(plan_, step);
  return found->second;
}

absl::Status Executor::RunBytecode(const plan::PlanBytecode& code) {
  std::byte* frame = arena_->data();
  for (const plan::PlanBytecode::Import& import : code.imports)
    std::memcpy(frame + import.to, static_cast<const std::byte*>(pointers_[import.slot]) + import.offset,
                import.byte_count);
  absl::Status status;
  const bool is_observed = options_->observer != nullptr;
  const bool counts = is_observed && options_->observer->needs_loops();
  std::vector<int64_t> iterations(counts ? code.loops.size() : 0);
  const auto loops = [&] { return LoopsOf(code, iterations); };
  const plan::Step* last = &plan_.steps.front();  // The last step outside the bytecode.
  // Deadlines and observers are checked when the bytecode interpreter returns to the executor.
  const auto check_status = [&] {
    if (options_->max_seconds > 0 || options_->cancel != nullptr) HLO_RETURN_IF_ERROR(Deadline::Check());
    if (!is_observed) return absl::OkStatus();
    const auto depth = std::count_if(iterations.begin(), iterations.end(), [](int64_t n) { return n > 0; });
    return options_->observer->BeforeStep(
        PlanStepView(plan_, *last, PropertiesOf(*last), pointers_.data(), depth, loops, nullptr, DeviceId()));
  };
  const auto view_of_slot = [this](Slot slot, const Shape& shape) { return ViewOf(slot, shape); };
  const ReadSlot read(view_of_slot);
  const auto report = [&](const plan::Step& step) {
    const auto depth = std::count_if(iterations.begin(), iterations.end(), [](int64_t n) { return n > 0; });
    return options_->observer->AfterStep(
        PlanStepView(plan_, step, PropertiesOf(step), pointers_.data(), depth, loops, &read, DeviceId()));
  };
  const auto run_escape = [&](int32_t number) {
    if (number == cpu::Bytecode::kPolled) {
      // The innermost running loop.
      for (size_t k = 0; k < iterations.size(); ++k) {
        if (iterations[k] == 0) continue;
        last = code.loops[k];
        break;
      }
      status = check_status();
    } else if (const auto* step = std::get_if<const plan::Step*>(&code.escapes[number])) {
      last = escaped_to_ = *step;
      escape_ = steps_->Escape(number);
      status = check_status();
      if (status.ok()) status = WithStep(RunStep(**step), **step);
      if (status.ok() && is_observed) status = report(**step);
    } else {
      status = RunAllMoves(std::get<std::vector<Move>>(code.escapes[number]));
    }
    return status.ok();
  };
  if (const cpu::NativeCode* native = steps_->Native(counts)) {
    native->Run(frame, pointers_.data(), run_escape, iterations.data());
  } else if (counts) {
    if (!counting_.has_value()) counting_ = code.code.WithCounts();
    counting_->Run(frame, pointers_.data(), run_escape, iterations.data());
  } else {
    code.code.Run(frame, pointers_.data(), run_escape);
  }
  return status;
}

void Executor::SwapBuffers(const Move& move) {
  std::swap(pointers_[move.to], pointers_[move.from]);
  std::swap(owners_[move.to], owners_[move.from]);
}

std::byte* Executor::Staging(int64_t byte_count) {
  if (staged_.size() < static_cast<size_t>(byte_count)) staged_.resize(byte_count);
  return staged_.data();
}

Literal Executor::ViewOf(Slot slot, const Shape& shape) const {
  if (plan_.IsLiteral(slot)) return literals_[slot];
  return Literal::FromBuffer(shape, Buffer::Wrap(pointers_[slot], *DenseByteCount(shape), [] {}));
}

// Copies values in the arena.
absl::StatusOr<Literal> Executor::OperandLeaf(Slot slot, const Shape& shape) {
  if (plan_.IsLiteral(slot)) return literals_[slot];
  if (owners_[slot] != nullptr) return Literal::FromBuffer(shape, owners_[slot]);
  HLO_ASSIGN_OR_RETURN(Literal copy, Literal::Create(shape));
  std::memcpy(copy.mutable_data(), pointers_[slot], copy.byte_count());
  return copy;
}

// Takes over the buffer of the value, unless others hold it or it belongs to another slot.
absl::Status Executor::StoreLeaf(const Literal& value, Slot slot) {
  if (plan_.IsLiteral(slot)) return StoreLiteral(value, slot);
  HLO_RETURN_IF_ERROR(CheckSize(value, plan_.buffers[slot]));
  if (owners_[slot] != nullptr && value.buffer().use_count() == 1) {
    owners_[slot] = value.buffer();
    pointers_[slot] = owners_[slot]->data();
  } else {
    std::memcpy(pointers_[slot], value.data(), value.byte_count());
  }
  return absl::OkStatus();
}

absl::Status Executor::RunKernel(const plan::Step& step, const plan::KernelStep& kernel) {
  absl::InlinedVector<const void*, 8> operands;
  absl::InlinedVector<void*, 8> results;
  for (const Slot slot : kernel.operands) operands.push_back(slot < 0 ? nullptr : pointers_[slot]);
  for (const Slot slot : kernel.results) results.push_back(slot < 0 ? nullptr : pointers_[slot]);
  absl::Status status = Compiled<plan::KernelFn>(step)(*step.instruction, operands, absl::MakeSpan(results));
  if (absl::IsUnimplemented(status))
    return RunReference(*step.instruction, {kernel.operands, kernel.results});
  return status;
}

absl::Status Executor::RunProduct(const plan::Step& step, const plan::ProductStep& product) {
  using plan::ProductStep;
  const Instruction& instruction = *step.instruction;
  const auto& [run, programs] = Compiled<plan::CpuProduct>(step);
  absl::InlinedVector<void*, 16> pointers;
  for (const Slot slot : product.operands) pointers.push_back(slot < 0 ? nullptr : pointers_[slot]);
  for (const Slot slot : product.results) pointers.push_back(pointers_[slot]);
  pointers.resize(product.NumberOf(ProductStep::kProduct) + 1);
  std::optional<cpu::BlockLoop> loops[3];
  cpu::BlockFunction functions[3];
  for (int block = 0; block < 3; ++block) {
    if (!programs[block].has_value()) continue;
    programs[block]->PrepareNativeCode();
    const bool is_product = block == ProductStep::kProduct;
    const Shape& shape = is_product ? instruction.shape() : instruction.operand(block)->shape();
    loops[block].emplace(*programs[block], pointers, product.NumberOf(block), ByteCount(shape.type()),
                         product.in_place || !is_product);
    functions[block] = loops[block]->function();
  }
  plan::ProductArguments arguments{.operands = {pointers[0], pointers[1]},
                                   .epilogue = functions[ProductStep::kProduct]};
  for (const int block : {ProductStep::kLhs, ProductStep::kRhs})
    arguments.compute[block] = loops[block].has_value() ? &functions[block] : nullptr;
  if (product.in_place || !loops[ProductStep::kProduct].has_value())
    arguments.result = pointers_[product.results[0]];
  return run(arguments);
}

absl::Status Executor::RunReference(const Instruction& instruction, const plan::ReferenceStep& step) {
  HLO_RETURN_IF_ERROR(CallReference(instruction, step.operands, step.results));
  // If somebody else, such as the host, holds an operand's memory, the slot continues with a copy.
  for (const Slot slot : step.operands) {
    if (slot < 0 || plan_.buffers[slot].kind != plan::Buffer::Kind::kAllocated ||
        owners_[slot].use_count() == 1)
      continue;
    HLO_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> copy, Buffer::Allocate(owners_[slot]->byte_count()));
    std::memcpy(copy->data(), pointers_[slot], plan_.buffers[slot].byte_count);
    pointers_[slot] = copy->data();
    owners_[slot] = std::move(copy);
  }
  return absl::OkStatus();
}

}  // namespace hlo::exec
