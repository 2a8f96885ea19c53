#pragma once
// A plan: steps over numbered buffers, with their kernels and memory. It is made once and can run many times.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "loops/loop_program.h"
#include "loops/reduction.h"
#include "loops/row_program.h"
#include "plan/graph.h"

namespace hlo::plan {

// The number of a buffer in the run's table of pointers; kernels name their operands and results by slots.
using Slot = int32_t;

// One or several loops, such as those of a concatenation, or a copy and an update of it.
struct TileStep {
  std::vector<loops::LoopProgram> programs;  // They run in order.
  // The first program only copies this value to the result. It is removed if the update is in place, and
  // skipped in runs in which both share memory.
  ValueId updated = kNoValue, result = kNoValue;
};
// A reduction, with the loop that computes its operands.
struct ReduceStep {
  loops::ReduceProgram program;
};
// Loops and reductions over the same rows, fused block by block.
struct RowsStep {
  loops::RowProgram program;                     // The arguments are the operands, then the results.
  std::vector<const Instruction*> instructions;  // The last instruction of each part.
  std::vector<Slot> operands, results;
  // A result that may alias an operand, by their numbers in both lists.
  struct Alias {
    int32_t result, operand;
  };
  std::vector<Alias> aliases;
};
// A kernel on whole arrays, which the back ends find by the step's instruction.
struct Kernel {
  std::string_view name;
  int32_t in_place_results = 0;  // The number of leading results that may alias the leading operands.
  // The same number for the CPU's kernel only, and whether unused results may be null.
  int32_t in_place_results_on_cpu = 0;
  bool skips_unused = false;
};
struct KernelStep {
  Kernel kernel;
  std::vector<Slot> operands, results;  // The slots of the leaves; -1: a token or an unused result.
};
// A dot or convolution with loops fused into its prologues and its epilogue, which run block by block. The
// step's instruction is the dot or convolution.
struct ProductStep {
  // The two operands of the product come first; kNoValue if a loop computes them.
  std::vector<Slot> operands, results;
  struct Loop {
    const Instruction* instruction;  // The last instruction of the loop.
    // The arguments are the operands, the results, then the values that exist only block by block.
    loops::LoopProgram program;
  };
  enum Block : int8_t { kLhs, kRhs, kProduct };
  std::optional<Loop> loops[3];  // Indexed by Block: the prologues of both operands, and the epilogue.
  bool in_place = false;         // The product is stored in the buffer of its loop's only result.

  // Returns the number by which loops access the blocks of an operand or of the product.
  int32_t NumberOf(int block) const { return static_cast<int32_t>(operands.size() + results.size()) + block; }
};
// An instruction that the reference evaluates. A device may have a kernel for it, unless it is a custom call
// of the caller, or has literals or several types.
struct ReferenceStep {
  std::vector<Slot> operands, results;  // The slots of the leaves; -1: a token.
  bool is_required = false;
};
// to = from. A list of moves is parallel: all sources are read before any destination is written. A swap
// exchanges the pointers of the two buffers instead of copying.
struct Move {
  Slot to, from;
  bool swaps = false;
};
// The loop continues while `counter direction limit`; every iteration adds `step`. Counter and limit are
// value numbers, later slots.
struct CountedLoop {
  ValueId counter = kNoValue;  // A state of the loop.
  ValueId limit = kNoValue;    // It is loop-invariant.
  // Known constants.
  std::optional<int64_t> first_value, limit_value;
  int64_t step = 0;
  ElementType type = ElementType::kS32;
  ComparisonDirection direction = ComparisonDirection::kLt;
};

struct Step;
// A while loop.
struct LoopStep {
  std::vector<Step> condition, body;
  Slot predicate;
  std::vector<Move> initial, next;
  std::optional<CountedLoop> counted = {};  // Its counter and limit are slots.
  // The slot of each state of the loop's node when the condition begins; ValidatePlan reads it.
  std::vector<Slot> states = {};
};
// A conditional.
struct BranchStep {
  Slot choice;
  ElementType choice_type;
  struct Branch {
    std::vector<Step> steps;
    std::vector<Move> results;
  };
  std::vector<Branch> branches;
};
// A unit of execution.
struct Step {
  const Instruction* instruction = nullptr;  // The last instruction of a fusion.
  std::variant<TileStep, ReduceStep, RowsStep, KernelStep, ProductStep, ReferenceStep, LoopStep, BranchStep>
      what;
  std::vector<const Instruction*> fused = {};  // The other instructions of the fusion.
  const Node* node = nullptr;                  // The node of the instruction.
  // The values that the slots hold, in the order of VisitSlots; ValidatePlan reads them.
  std::vector<ValueId> values = {};

  // Returns the instruction of the module that the step helps to compute; profiles and printed plans name it.
  const Instruction& shown() const {
    return node != nullptr && node->replacement_of != nullptr ? *node->replacement_of : *instruction;
  }
};

// The memory of a slot.
struct Buffer {
  // kAllocated: allocated separately, because reference functions use it or because it is a result. kLiteral:
  // a literal, which stores the sizes of dynamic dimensions.
  enum class Kind : uint8_t { kParameter, kConstant, kArena, kAllocated, kLiteral };
  Kind kind = Kind::kArena;
  int64_t byte_count = 0;
  int64_t offset = 0;      // kArena: from the start of the arena.
  int32_t parameter = -1;  // The leaf number: of kParameter, and of kLiteral arguments.
  const Literal* constant = nullptr;
  Shape shape;  // The shape of the first value.
  bool is_result = false;
  Slot donor = -1;  // The argument whose memory the result reuses if the caller donates it.
};

struct PlanBytecode;
// The steps and the memory by which a run evaluates a module, and the graph that they were made from.
struct Plan {
  bool IsLiteral(Slot slot) const { return slot >= 0 && buffers[slot].kind == Buffer::Kind::kLiteral; }

  Graph graph;
  std::vector<Step> steps;
  std::vector<Buffer> buffers;  // Indexed by slot.
  std::vector<Slot> results;    // The leaves of the root; -1: a token.
  std::vector<Shape> result_shapes;
  int64_t arena_bytes = 0;
  int64_t kernel_bytes = 0;                      // The maximal scratch memory of a kernel.
  int64_t change_count = 0;                      // The changes that optional passes have made.
  std::string last_change;                       // The pass and the instruction of the last change.
  std::string refusal;                           // Why the plan with optional passes was refused, if it was.
  std::shared_ptr<const PlanBytecode> bytecode;  // The steps as bytecode; nullptr if it is not faster.
  bool native_code = false;                      // Executors may make machine code.
};

// Returns the bytes that a run allocates besides its arguments and constants.
int64_t MemoryOf(const Plan& plan);

}  // namespace hlo::plan
