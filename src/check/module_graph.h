#pragma once
// Who calls a computation, who uses an instruction, and which start made the value that a done takes? Flat
// arrays, built once.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hlo_run/module.h"

namespace hlo::check {

using InstructionSpan = absl::Span<const Instruction* const>;

class CallGraph {
 public:
  explicit CallGraph(const Module& module);
  // In module order; an instruction that names the computation twice occurs twice.
  InstructionSpan Callers(const Computation& computation) const;
  // The while whose body this is, if nothing else calls it; else nullptr.
  const Instruction* LoopOf(const Computation& body) const;
  // Called by async-start, -update or -done.
  bool IsAsync(const Computation& computation) const;

 private:
  absl::flat_hash_map<const Computation*, int32_t> index_;
  std::vector<int64_t> begin_;
  std::vector<const Instruction*> callers_;
};

// Users within one computation, each once for an operand. Can be built again for the next computation.
class Users {
 public:
  void Build(const Computation& computation);
  InstructionSpan Of(const Instruction& instruction) const {
    const int64_t i = instruction.index();
    return InstructionSpan(users_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  std::vector<int32_t> begin_, fill_, last_;
  std::vector<const Instruction*> users_;
};

// Follows values backwards through tuples, loops and annotations (shape-rules 4.7). All searches of a module
// share a budget of steps, so that no module takes long; when it is spent, nothing can be said any more.
class Tracer {
 public:
  Tracer(const CallGraph& calls, int64_t instruction_count)
      : calls_(calls), steps_left_(8 * instruction_count + 4096) {}
  // The start, update or other producer that `value` comes from; nullptr where there is none.
  const Instruction* FindProducer(const Instruction& value);
  bool exhausted() const { return steps_left_ <= 0; }
  bool Step() { return --steps_left_ > 0; }

 private:
  const CallGraph& calls_;
  int64_t steps_left_;
};

// Custom-calls that only annotate their operand.
bool IsAnnotation(const Instruction& instruction);
// tuple, get-tuple-element, opt-barrier, copy, parameter, while and annotations.
bool IsIntermediary(const Instruction& instruction);

}  // namespace hlo::check
