#pragma once
// Builds step programs (step_program.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "device/properties.h"
#include "kernels/cuda/launch/lowered_program.h"
#include "kernels/cuda/steps/step_program.h"
#include "kernels/cuda/vm/lower_vm32.h"
#include "loops/gemm_problem.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"

namespace hlo::cuda {

// Methods that return false leave a builder that must not be used.
class StepsBuilder {
 public:
  explicit StepsBuilder(const device::DeviceProperties& device) : device_(device) {}

  // Appends a loop. Returns false if the 32-bit VM cannot run it, if one thread block is too few for it,
  // or if the program is full.
  bool AddLoop(const loops::LoopProgram& program);
  // The same for a reduction of rows.
  bool AddReduction(const loops::ReduceProgram& program);
  // The same for a product of two arguments; dense, as that of DotProblem.
  bool AddDot(const loops::GemmProblem& problem, int32_t a, int32_t b, int32_t output);
  // Appends a loop of any size.
  bool AddLargeLoop(const loops::LoopProgram& program);
  // The last loop does not run in launches in which both arguments have the same address.
  void SkipIfSame(int32_t argument, int32_t other);

  struct ArgumentMove {
    int32_t to, from;
    int64_t byte_count;
  };
  // Appends simultaneous moves. Returns false if they are too many or too large.
  bool AddMoves(absl::Span<const ArgumentMove> moves);

  using Label = size_t;
  Label NewLabel();
  void Bind(Label label) { labels_[label] = size(); }
  bool Jump(Label label);
  bool JumpIf(int32_t predicate, Label label);
  // Jumps to the label whose number `choice`, an s32, has; to the last one if there is none.
  bool Select(int32_t choice, absl::Span<const Label> labels);

  // The number of launches that the loops and moves would take otherwise.
  int launch_count() const { return launch_count_; }
  LoweredProgram Finish();
  // Returns a launch that runs all tasks concurrently; they are large loops that do not depend on each other.
  LoweredProgram FinishConcurrent();

 private:
  // A pointer in the tasks: that of an argument, and an offset.
  struct Pointer {
    uint32_t at;
    int32_t argument;
    int64_t offset = 0;
  };
  struct Access {
    uint32_t at, strides;
    int32_t argument;
    int rank;
    bool may_align;  // Positions of vectors are multiples of their width.
  };
  struct Jumped {
    uint32_t at;  // The offset of the word that becomes the offset of the label.
    Label label;
  };
  struct Skip {
    uint32_t task;
    int32_t argument, other;
  };
  struct Program;

  uint32_t size() const { return static_cast<uint32_t>(tasks_.size()); }
  // Appends a task without arrays.
  StepTask& Begin(StepTask::Kind kind);
  template <class T>
  void Append(const T* values, int64_t count);
  std::shared_ptr<const Program> TakeProgram(uint32_t threads);
  // Ends the last task.
  bool End();
  bool AddLoop(const loops::LoopProgram& program, bool is_large);
  // Sets the sizes of the last task's arrays and appends these.
  void AppendLoop(const VmTemplate& vm, const Vm32Template& vm32, bool may_align);
  // Ends the last task, a loop or product of so many positions, or a reduction.
  bool EndLoop(int64_t scratch_bytes, int64_t positions, bool runs_once);
  StepTask& Last() { return *reinterpret_cast<StepTask*>(tasks_.data() + last_); }

  device::DeviceProperties device_;
  std::vector<std::byte> tasks_;
  uint32_t last_ = 0;  // The offset of the last task.
  std::vector<Pointer> pointers_;
  std::vector<Access> accesses_;
  std::vector<Jumped> jumps_;
  std::vector<Skip> skips_;
  std::vector<uint32_t> labels_;
  int64_t scratch_bytes_ = 0, positions_ = 0;
  int launch_count_ = 0, loop_count_ = 0;
  std::vector<uint32_t> loops_;  // The offsets of the loops.
};

}  // namespace hlo::cuda
