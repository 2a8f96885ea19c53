#pragma once
// Compiles kernel steps on few elements to bytecode: scatters, gathers and dots.

#include <cstdint>

#include "plan/bytecode/frame_access.h"
#include "plan/bytecode/load_cse.h"
#include "plan/bytecode/stable_slots.h"
#include "plan/plan.h"
#include "plan/select/window_moves.h"

namespace hlo::plan {

class KernelCompiler {
 public:
  // Emits to `code`.
  KernelCompiler(const Plan& plan, const StableSlots& stable, FrameAccess& access, LoadCse& cse,
                 cpu::Bytecode& code)
      : plan_(plan), stable_(stable), access_(access), cse_(cse), code_(code) {}

  // Returns false if the step is not a kernel, or one on many elements.
  bool Compile(const Step& step, bool in_loop);

 private:
  // Compiles a scatter of one contiguous window, whose bounds are checked. Returns false for others.
  bool Scatter(const Step& step, const KernelStep& kernel);
  // Compiles a gather or scatter of a few windows. Returns false for others.
  bool Windows(const Step& step, const KernelStep& kernel);
  // Compiles a gather of single elements of a line. Returns false for others.
  bool Gather(const Step& step, const KernelStep& kernel);
  // Compiles a dot of small arrays. Returns false for others.
  bool Dot(const Step& step, const KernelStep& kernel, bool in_loop);

  struct MovedWindow {
    Slot operand;
    cpu::FrameOffset base, updates;  // The address of the window, and the updates in the frame.
    cpu::FrameOffset value;          // Temporary memory for a row.
  };
  void GatherMove(const WindowMoves& moves, const WindowMoves::Move& move, const MovedWindow& window,
                  Slot result);
  void ScatterMove(const WindowMoves& moves, const WindowMoves::Move& move, const MovedWindow& window);
  // Copies the operand of a scatter that is not in place. Returns false if it is large.
  bool CopyOperand(Slot operand, Slot result);
  // Emits the operation on elements in the frame and as many others, in place.
  void Combine(const loops::Operation& operation, int64_t count, int64_t width, cpu::FrameOffset elements,
               cpu::FrameOffset others);
  void Bind(cpu::Bytecode::Label label);

  const Plan& plan_;
  const StableSlots& stable_;
  FrameAccess& access_;
  LoadCse& cse_;
  cpu::Bytecode& code_;
};

}  // namespace hlo::plan
