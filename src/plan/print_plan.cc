#include "plan/print_plan.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace hlo::plan {
namespace {

std::string Of(Slot slot) { return slot < 0 ? "token" : fmt::format("b{}", slot); }

std::string SlotList(const std::vector<Slot>& slots) {
  std::vector<std::string> names;
  for (Slot slot : slots) names.push_back(Of(slot));
  return absl::StrJoin(names, ", ");
}

class Printer {
 public:
  explicit Printer(const Plan& plan) : plan_(plan) {}

  std::string Print() {
    Buffers();
    text_ += "steps";
    if (plan_.bytecode != nullptr) text_ += ", run by bytecode";
    if (plan_.bytecode != nullptr && plan_.native_code) text_ += " or by native code made from it";
    text_ += "\n";
    Steps(plan_.steps, 1);
    text_ += fmt::format("result {}\n", SlotList(plan_.results));
    return std::move(text_);
  }

 private:
  void Buffers() {
    const std::string kernels =
        plan_.kernel_bytes == 0 ? "" : fmt::format(" and a kernel's {}", plan_.kernel_bytes);
    text_ += fmt::format("memory {} bytes, the arena's {}{} among them\nbuffers\n", MemoryOf(plan_),
                         plan_.arena_bytes, kernels);
    for (size_t slot = 0; slot < plan_.buffers.size(); ++slot) {
      const Buffer& buffer = plan_.buffers[slot];
      text_ += fmt::format("  b{} {} {}\n", slot, ToString(buffer.shape), Location(buffer));
    }
  }
  static std::string Location(const Buffer& buffer) {
    switch (buffer.kind) {
      case Buffer::Kind::kParameter:
        return fmt::format("argument {}", buffer.parameter);
      case Buffer::Kind::kConstant:
        return "constant";
      case Buffer::Kind::kArena:
        return fmt::format("arena at {}, {} bytes", buffer.offset, buffer.byte_count);
      case Buffer::Kind::kAllocated:
        return fmt::format(
            "{}, {} bytes{}", buffer.is_result ? "result" : "memory of its own", buffer.byte_count,
            buffer.donor < 0 ? "" : fmt::format(", in the memory of b{} if that is donated", buffer.donor));
      case Buffer::Kind::kLiteral:
        return buffer.parameter >= 0
                   ? fmt::format("argument {}, its sizes known at run time", buffer.parameter)
                   : "a literal, its sizes known at run time";
    }
    return "";
  }

  void Line(int depth, const std::string& line) { text_ += fmt::format("{:{}}{}\n", "", 2 * depth, line); }

  // Returns what a loop reads and writes, and its dimensions. `of` names its arguments.
  template <class Names>
  static std::string Program(const loops::LoopProgram& program, Names&& of) {
    std::vector<std::string> reads, writes;
    program.VisitAccesses([&](const loops::Access& access, bool is_store) {
      std::string name = access.IsArray()                          ? of(access.argument)
                         : access.argument == loops::Access::kIota ? "iota"
                                                                   : "inside";
      for (const loops::RuntimeStart& start : access.starts)
        name += fmt::format(" {} {}", start.index.has_value() ? "by" : "at", of(start.argument));
      if (access.outside >= 0) name += fmt::format(" else {}", of(access.outside));
      std::vector<std::string>& list = is_store ? writes : reads;
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(std::move(name));
    });
    std::string text = absl::StrJoin(reads, ", ");
    if (!writes.empty()) text += fmt::format(" -> {}", absl::StrJoin(writes, ", "));
    const std::string dims = absl::StrJoin(program.inner_dims(), ",");
    return fmt::format("[{}] {} operations: {}", dims, program.steps().size(), text);
  }

  template <class Names>
  void Loop(const std::string& name, const loops::LoopProgram& program, int depth, Names&& of) {
    const std::string rows = program.outer_count() > 1 ? fmt::format("{} of ", program.outer_count()) : "";
    Line(depth, fmt::format("loop {} {}{}", name, rows, Program(program, of)));
  }
  template <class Names>
  void Reduce(const std::string& name, const loops::ReduceProgram& reduce, int depth, Names&& of) {
    std::vector<std::string> inits, outputs;
    for (const auto& result : reduce.results) {
      inits.push_back(of(result.init));
      outputs.push_back(of(result.output));
    }
    Line(depth,
         fmt::format("reduce {} {} of {} {}: {}, init {} -> {}", name, reduce.kept_count(),
                     reduce.reduced_count(), reduce.rows ? "by rows" : "by columns", Program(reduce.body, of),
                     absl::StrJoin(inits, ", "), absl::StrJoin(outputs, ", ")));
  }
  // Values that exist only block by block are named r0, r1 and so on.
  void Rows(const std::string& name, const RowsStep& step, int depth) {
    const loops::RowProgram& program = step.program;
    int64_t kept = 0;
    for (const int64_t bytes : program.kept_bytes) kept += bytes;
    Line(depth, fmt::format("rows {} {} at a time of {}, {} bytes each between loops", name, program.block,
                            program.rows, kept));
    const auto of = [&](int32_t argument) {
      const auto operands = static_cast<int32_t>(step.operands.size());
      if (argument >= program.argument_count) return fmt::format("r{}", argument - program.argument_count);
      return Of(argument < operands ? step.operands[argument] : step.results[argument - operands]);
    };
    for (size_t p = 0; p < program.parts.size(); ++p) {
      const std::string part = fmt::format("'{}'", step.instructions[p]->name());
      if (const auto* loop = std::get_if<loops::LoopProgram>(&program.parts[p]))
        Loop(part, *loop, depth + 1, of);
      else
        Reduce(part, std::get<loops::ReduceProgram>(program.parts[p]), depth + 1, of);
    }
  }

  // lhs, rhs and product name values that exist only block by block.
  void Product(const Instruction& product, const std::string& name, const ProductStep& step, int depth) {
    constexpr std::string_view kNames[] = {"lhs", "rhs", "product"};
    const auto operand = [&](int side) {
      return step.loops[side].has_value() ? std::string(kNames[side]) : Of(step.operands[side]);
    };
    const bool has_loop = step.loops[ProductStep::kProduct].has_value();
    const std::string out = !has_loop       ? Of(step.results[0])
                            : step.in_place ? fmt::format("product in {}", Of(step.results[0]))
                                            : "product";
    Line(depth, fmt::format("{} {} block by block: {}, {} -> {}", Name(product.opcode()), name,
                            operand(ProductStep::kLhs), operand(ProductStep::kRhs), out));
    const auto operands = static_cast<int32_t>(step.operands.size());
    const auto of = [&](int32_t argument) {
      if (argument >= step.NumberOf(0)) return std::string(kNames[argument - step.NumberOf(0)]);
      return Of(argument < operands ? step.operands[argument] : step.results[argument - operands]);
    };
    for (const auto& loop : step.loops) {
      if (loop.has_value())
        Loop(fmt::format("'{}'", loop->instruction->name()), loop->program, depth + 1, of);
    }
  }

  void Moves(const std::vector<Move>& moves, int depth) {
    for (const Move& move : moves)
      Line(depth, fmt::format("{} {} {}", Of(move.to), move.swaps ? "<->" : "<-", Of(move.from)));
  }

  void Steps(const std::vector<Step>& steps, int depth) {
    for (const Step& step : steps) Print(step, depth);
  }
  void Print(const Step& step, int depth) {
    const std::string name = fmt::format("'{}'", step.shown().name());
    if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
      for (const loops::LoopProgram& program : tiles->programs) Loop(name, program, depth, Of);
    } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
      Reduce(name, reduce->program, depth, Of);
    } else if (const auto* rows = std::get_if<RowsStep>(&step.what)) {
      Rows(name, *rows, depth);
    } else if (const auto* product = std::get_if<ProductStep>(&step.what)) {
      Product(*step.instruction, name, *product, depth);
    } else if (const auto* kernel = std::get_if<KernelStep>(&step.what)) {
      Line(depth, fmt::format("{} {}: {} -> {}", kernel->kernel.name, name, SlotList(kernel->operands),
                              SlotList(kernel->results)));
    } else if (const auto* reference = std::get_if<ReferenceStep>(&step.what)) {
      Line(depth, fmt::format("reference {} {}: {} -> {}", Name(step.instruction->opcode()), name,
                              SlotList(reference->operands), SlotList(reference->results)));
    } else if (const auto* loop = std::get_if<LoopStep>(&step.what)) {
      Line(depth, fmt::format("while {}", name));
      Moves(loop->initial, depth + 1);
      Line(depth, fmt::format("condition {}", Of(loop->predicate)));
      Steps(loop->condition, depth + 1);
      Line(depth, "body");
      Steps(loop->body, depth + 1);
      Moves(loop->next, depth + 1);
    } else {
      const BranchStep* branch = &std::get<BranchStep>(step.what);
      Line(depth, fmt::format("conditional {} by {}", name, Of(branch->choice)));
      for (size_t b = 0; b < branch->branches.size(); ++b) {
        Line(depth, fmt::format("branch {}", b));
        Steps(branch->branches[b].steps, depth + 1);
        Moves(branch->branches[b].results, depth + 1);
      }
    }
  }

  const Plan& plan_;
  std::string text_;
};

}  // namespace

std::string ToString(const Plan& plan) { return Printer(plan).Print(); }

}  // namespace hlo::plan
