#pragma once
// The call graph, the users of instructions, and the starts of asynchronous values, as flat arrays that are
// built once.

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
  // Returns the callers in module order; an instruction that calls the computation twice occurs twice.
  InstructionSpan Callers(const Computation& computation) const;
  // Returns the while loop with this body if nothing else calls it, otherwise nullptr.
  const Instruction* LoopOf(const Computation& body) const;
  // True if async-start, -update or -done calls it.
  bool IsAsync(const Computation& computation) const;

 private:
  absl::flat_hash_map<const Computation*, int32_t> index_;
  std::vector<int64_t> begin_;
  std::vector<const Instruction*> callers_;
};

// The users within one computation, one entry per operand. Build can be called again for another computation.
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
// share a step budget; once it is exhausted, the result is unknown.
class Tracer {
 public:
  Tracer(const CallGraph& calls, int64_t instruction_count)
      : calls_(calls), steps_left_(8 * instruction_count + 4096) {}
  // Returns the start, update or other producer of `value`; nullptr if there is none.
  const Instruction* FindProducer(const Instruction& value);
  bool exhausted() const { return steps_left_ <= 0; }
  bool Step() { return --steps_left_ > 0; }

 private:
  const CallGraph& calls_;
  int64_t steps_left_;
};

// True for custom calls that only annotate their operand.
// True for tuple, get-tuple-element, opt-barrier, copy, parameter, while and annotations.
bool IsIntermediary(const Instruction& instruction);

}  // namespace hlo::check
