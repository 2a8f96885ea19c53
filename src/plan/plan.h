#pragma once
// A module as steps over numbered buffers: which kernels run, on what, in which memory. Made once, run often.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hlo_run/attribute.h"
#include "hlo_run/element_type.h"
#include "kernels/cpu/loops/reduce_program.h"
#include "kernels/cpu/loops/row_program.h"
#include "kernels/cpu/loops/tile_program.h"
#include "plan/graph.h"
#include "plan/kernel.h"

namespace hlo::plan {

// Kernels name what they read and write by slot, the number of a buffer in the run's table of pointers.
using Slot = int32_t;

struct TileStep {
  std::vector<cpu::TileProgram> programs;  // One after the other.
  // The first program only copies this value to the result. It goes where the value is updated in place, and
  // is left out in runs that find both in the same memory.
  ValueId updated = kNoValue, result = kNoValue;
};
struct ReduceStep {
  cpu::ReduceProgram program;
};
// Loops and reductions over the same rows, block by block.
struct RowsStep {
  cpu::RowProgram program;                       // Its arguments are the operands and then the results.
  std::vector<const Instruction*> instructions;  // The last one of each part.
  std::vector<Slot> operands, results;
  // Results that may take the place of an operand, by their numbers in both lists.
  struct Sharing {
    int32_t result, operand;
  };
  std::vector<Sharing> sharing;
};
// A kernel that takes whole arrays.
struct KernelStep {
  LibraryKernel kernel;
  std::vector<Slot> operands, results;  // Of the leaves; -1: a token, or a result that nothing needs.
};
// A dot or convolution, and loops over its operands or its result that run block by block: an operand is
// computed as it is needed, and the result changed while it is in the cache. The step's instruction is the
// product.
struct ProductStep {
  ProductFn run;
  // The product's two come first, kNoValue if computed.
  std::vector<Slot> operands, results;
  struct Loop {
    const Instruction* instruction;  // The last one.
    // Its arguments are the operands, the results, and then what only blocks are seen of.
    cpu::TileProgram program;
  };
  enum Block : int8_t { kLhs, kRhs, kProduct };
  std::optional<Loop> loops[3];
  bool in_place = false;  // The product lies where its loop's only result will be.

  int32_t NumberOf(int block) const { return static_cast<int32_t>(operands.size() + results.size()) + block; }
};
// The reference function of an instruction.
struct ReferenceStep {
  std::vector<Slot> operands, results;  // Of the leaves; -1: a token.
};
// to = from, all at once: sources are read before anything is written. Exchanged buffers change places
// instead of their contents.
struct Move {
  Slot to, from;
  bool exchange = false;
};
// The loop goes on while `counter direction limit`, and every turn adds `step`. Value numbers, which become
// slots as those of steps do.
struct CountedLoop {
  ValueId counter = kNoValue;  // Of the state.
  ValueId limit = kNoValue;    // No turn changes it.
  // Where they are constants.
  std::optional<int64_t> first_value, limit_value;
  int64_t step = 0;
  ElementType type = ElementType::kS32;
  ComparisonDirection direction = ComparisonDirection::kLt;
};

struct Step;
struct LoopStep {
  std::vector<Step> condition, body;
  Slot predicate;
  std::vector<Move> initial, next;
  std::optional<CountedLoop> counted = {};  // Counter and limit are slots.
  // The slot of each state of the loop's node whenever the condition begins, for ValidatePlan.
  std::vector<Slot> states = {};
};
struct BranchStep {
  Slot choice;
  ElementType choice_type;
  struct Branch {
    std::vector<Step> steps;
    std::vector<Move> results;
  };
  std::vector<Branch> branches;
};
struct Step {
  const Instruction* instruction = nullptr;  // The last one of a group.
  std::variant<TileStep, ReduceStep, RowsStep, KernelStep, ProductStep, ReferenceStep, LoopStep, BranchStep>
      what;
  std::vector<const Instruction*> fused = {};  // The group's others.
  const Node* node = nullptr;                  // Of the instruction.
  // The values that the slots stand for, in the order of VisitSlots: what a step was planned with, for
  // ValidatePlan.
  std::vector<ValueId> values = {};
};

struct Buffer {
  // kOwn: memory of its own, because reference functions read or write it, or because it is a result.
  // kLiteral: no memory but a literal, which knows the sizes of dimensions at run time.
  enum class Kind : uint8_t { kParameter, kConstant, kArena, kOwn, kLiteral };
  Kind kind = Kind::kArena;
  int64_t byte_count = 0;
  int64_t offset = 0;      // kArena: from its start.
  int32_t parameter = -1;  // Leaf number: kParameter, and kLiteral that is given.
  const Literal* constant = nullptr;
  Shape shape;  // Of the value that came first.
  bool is_result = false;
  Slot takes = -1;  // Of an argument, in whose memory the result may lie if the caller gave it up.
};

struct PlanCode;
struct Plan {
  Graph graph;
  std::vector<Step> steps;
  std::vector<Buffer> buffers;  // By slot.
  std::vector<Slot> results;    // Of the root's leaves; -1: a token.
  std::vector<Shape> result_shapes;
  int64_t arena_bytes = 0;
  int64_t kernel_bytes = 0;              // That a kernel takes for the time of a call, at most.
  std::shared_ptr<const PlanCode> code;  // The steps for the machine of small steps; nullptr: not worth it.
};

// What a run takes at once besides its arguments and the module's constants.
int64_t MemoryOf(const Plan& plan);

}  // namespace hlo::plan
