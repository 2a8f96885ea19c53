#pragma once
// The interpreter of step programs (step_program.h). A barrier after each task makes its results visible to
// the next one, and keeps that from overwriting what a thread has yet to read.

#include "kernels/cuda/copy/moves_body.h"
#include "kernels/cuda/reduce/rows_body.h"
#include "kernels/cuda/steps/dot_body.h"
#include "kernels/cuda/steps/step_program.h"
#include "kernels/cuda/vm/vm32_body.h"

namespace hlo::cuda {

// Launches take as many threads as most loops need.
struct StepsKernel {
  using Args = StepsArgs;
  static constexpr uint32_t kThreads = 512, kMinBlocks = 1;
  using Vm = Vm32Kernel<1, true, true, kThreads>;

  template <class Env>
  static HLO_DEVICE void Run(Env& env, const Args& args) {
    std::byte* const tasks = env.shared();
    std::byte* const scratch = tasks + args.byte_count;
    const uint32_t begin = args.is_concurrent ? args.loops[env.block().y] : 0,
                   end = args.is_concurrent ? args.loops[env.block().y + 1] : args.end;
    CopyWords<uint64_t>(env, tasks + begin, args.tasks + begin, (end - begin) / 8);
    env.sync();
    HLO_ROLLED
    for (uint32_t at = begin; at < end;) {
      const StepTask& task = *reinterpret_cast<const StepTask*>(tasks + at);
      at = RunTask(env, task, scratch);
      if (task.kind != StepTask::Kind::kJump) env.sync();
    }
  }

 private:
  // Returns the offset of the next task.
  template <class Env>
  static HLO_DEVICE uint32_t RunTask(Env& env, const StepTask& task, std::byte* scratch) {
    switch (task.kind) {
      case StepTask::Kind::kLoop:
        RunLoop(env, StepLoop(task, &task + 1), Slots(env, scratch));
        break;
      case StepTask::Kind::kReduce: {
        const auto& reduction = *Entries<StepReduction>(task);
        if (reduction.fold == Vm32Fold::kAddF)
          Reduce<Vm32Sum>(env, task, reduction, Slots(env, scratch));
        else
          Reduce<Vm32Word>(env, task, reduction, Slots(env, scratch));
        break;
      }
      case StepTask::Kind::kDot:
        StepProduct::Run(env, *Entries<StepDot>(task), task.count);
        break;
      case StepTask::Kind::kMoves:
        RunMoves(env, Entries<MovesArgs::OneMove>(task), task.count, scratch);
        break;
      case StepTask::Kind::kMove: {
        const MovesArgs::OneMove& move = *Entries<MovesArgs::OneMove>(task);
        if (move.to != move.from) CopyTogether(env, move.to, move.from, move.byte_count);
        break;
      }
      case StepTask::Kind::kJump:
        return task.target;
      case StepTask::Kind::kJumpIf:
        if (*static_cast<const uint8_t*>(task.condition) != 0) return task.target;
        break;
      case StepTask::Kind::kSelect: {
        const auto choice = static_cast<uint32_t>(*static_cast<const int32_t*>(task.condition));
        return Entries<uint32_t>(task)[choice < task.count ? choice : task.count - 1];
      }
    }
    return task.end;
  }

  template <class T>
  static HLO_DEVICE const T* Entries(const StepTask& task) {
    return reinterpret_cast<const T*>(&task + 1);
  }

  template <class Env>
  static HLO_DEVICE Vm32Vector* Slots(Env& env, std::byte* scratch) {
    return reinterpret_cast<Vm32Vector*>(scratch) + env.thread();
  }

  template <class Accumulator, class Env>
  static HLO_DEVICE void Reduce(Env& env, const StepTask& task, const StepReduction& reduction,
                                Vm32Vector* slots) {
    const StepLoop loop(task, &reduction + 1);
    RowsPart part;
    part.init = reduction.init;
    part.init_memory = reduction.init_memory;
    part.fold = reduction.fold;
    const uint32_t lane = env.thread() % kWarpSize, warps = env.threads() / kWarpSize;
    HLO_ROLLED
    for (uint32_t row = env.thread() / kWarpSize; row < task.count; row += warps) {
      RowsFold<Accumulator> sums(part.fold);
      const uint32_t begin = row * reduction.length, end = begin + reduction.length;
      HLO_ROLLED
      for (uint32_t first = begin + lane * kVm32Width; first < end; first += kWarpSize * kVm32Width) {
        const Vm32Positions positions{first, end, 0};
        Vm32Vector last[1] = {};
        Vm::RunRange(loop, 0, loop.code_count, positions, slots, last, Vm32NoRow());
        sums.Add(part.fold, positions, last);
      }
      const uint32_t result = sums.Finish(env, part, kWarpSize, nullptr);
      if (lane == 0)
        VmWrite(reduction.output_memory, ElementType::kF32, reduction.output, row, VmValue<1>::Of(result));
    }
  }

  // The threads of all blocks of a row of the grid share the positions; those without positions wait.
  template <class Env>
  static HLO_DEVICE void RunLoop(Env& env, const StepLoop& loop, Vm32Vector* slots) {
    const uint32_t thread = env.block().x * env.threads() + env.thread(),
                   step = env.grid().x * env.threads() * kVm32Width;
    HLO_ROLLED
    for (uint32_t first = thread * kVm32Width; first < loop.position_count; first += step) {
      Vm32Vector last[1] = {};
      Vm::RunRange(loop, 0, loop.code_count, Vm32Positions{first, loop.position_count, 0}, slots, last,
                   Vm32NoRow());
    }
  }

  template <class Env>
  static HLO_DEVICE void RunMoves(Env& env, const MovesArgs::OneMove* moves, uint32_t count,
                                  std::byte* staging) {
    HLO_ROLLED
    for (uint32_t m = 0; m < count; ++m)
      CopyTogether(env, staging + moves[m].staged, moves[m].from, moves[m].byte_count);
    env.sync();
    HLO_ROLLED
    for (uint32_t m = 0; m < count; ++m)
      CopyTogether(env, moves[m].to, staging + moves[m].staged, moves[m].byte_count);
  }
};

}  // namespace hlo::cuda
