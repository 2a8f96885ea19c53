#include "plan/bytecode/compiler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "kernels/cpu/loops/small_program.h"
#include "plan/bytecode/frame_access.h"
#include "plan/bytecode/kernel_compiler.h"
#include "plan/bytecode/load_cse.h"
#include "plan/bytecode/stable_slots.h"
#include "plan/cpu/plan_bytecode.h"
#include "plan/memory/aliasing.h"
#include "plan/visit.h"

namespace hlo::plan {
namespace {

using cpu::FrameOffset;
using cpu::SmallProgram;

class Compiler {
 public:
  Compiler(const Plan& plan, const StableSlots& stable, const BytecodeOptions& options,
           ChangeCounter& changes)
      : plan_(plan), stable_(stable), options_(options), changes_(changes) {
    scratch_ = frame_.Allocate(CompileLoops());
  }

  PlanBytecode Compile() {
    Steps(plan_.steps);
    result_.code.Finish();
    result_.frame_use = access_.Use();
    return std::move(result_);
  }
  int64_t end() const { return frame_.end(); }

 private:
  // True if the operands of the program fit the frame.
  static bool IsInFrame(const SmallProgram& program) { return !program.is_in_memory; }

  // Compiles the small loops of all steps. Returns the scratch bytes that they need besides buffers.
  int64_t CompileLoops() {
    int64_t bytes = 0;
    VisitStepLists(plan_.steps, [&](const std::vector<Step>& steps) {
      for (const Step& step : steps) {
        const auto add = [&](std::optional<SmallProgram> program) {
          if (program.has_value() && program->is_for_loops && &steps == &plan_.steps) program.reset();
          if (program.has_value()) bytes = std::max(bytes, ScratchBytes(*program));
          small_[&step].push_back(std::move(program));
        };
        if (const auto* tiles = std::get_if<TileStep>(&step.what)) {
          small_[&step];
          for (const loops::LoopProgram& program : tiles->programs) add(cpu::CompileSmall(program));
        } else if (const auto* reduce = std::get_if<ReduceStep>(&step.what)) {
          add(cpu::CompileSmall(reduce->program));
        }
      }
    });
    return bytes;
  }
  static int64_t ScratchBytes(const SmallProgram& program) {
    int64_t bytes = 0;
    for (const SmallProgram::Call& call : program.calls) {
      if (call.out.argument < 0) bytes = std::max(bytes, call.out.offset + call.count * call.out.width);
    }
    return IsInFrame(program) ? bytes : 0;
  }

  void Steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<LoopStep>(&step.what))
        Loop(step, *loop);
      else if (const auto* branch = std::get_if<BranchStep>(&step.what))
        Branch(*branch);
      else if (!Tiles(step) && !kernels_.Compile(step, in_loop_))
        Escape(&step);
      if (in_loop_)
        cse_.InvalidateWrites(step);
      else
        cse_.InvalidateAll();
      frame_.ReleaseAll();
    }
  }

  void Bind(cpu::Bytecode::Label label) {
    cse_.InvalidateAll();
    result_.code.Bind(label);
  }
  void Escape(std::variant<const Step*, std::vector<Move>> what) {
    cse_.InvalidateAll();
    result_.code.Escape(static_cast<int32_t>(result_.escapes.size()));
    result_.escapes.push_back(std::move(what));
  }

  void Loop(const Step& step, const LoopStep& loop) {
    Moves(loop.initial);
    const bool was_in_loop = std::exchange(in_loop_, true);
    const cpu::Bytecode::Label body = result_.code.NewLabel(), test = result_.code.NewLabel();
    result_.code.Jump(test);
    Bind(body);
    const int64_t first = result_.code.op_count();
    Steps(loop.body);
    Moves(RemainingMoves(loop.next, first));
    Bind(test);
    Steps(loop.condition);
    result_.code.Repeat(access_.Read(loop.predicate, 0, 1), body);
    result_.loops.push_back(&step);
    in_loop_ = was_in_loop;
  }

  // Retargets the computations of next states, from operation `first` on, to the offsets of the states.
  // Returns the moves that are still needed.
  std::vector<Move> RemainingMoves(const std::vector<Move>& moves, int64_t first) {
    if (!options_.move_elimination) return moves;
    std::vector<Move> kept;
    // Moves are visited in reverse order. The counter, usually the first state, is then updated next to the
    // loop test.
    for (auto move_at = moves.rbegin(); move_at != moves.rend(); ++move_at) {
      const Move& move = *move_at;
      const int64_t sources = std::count_if(moves.begin(), moves.end(), [&](const Move& other) {
        return other.from == move.from || other.from == move.to;
      });
      const bool alone = sources == 1 && stable_.IsLastUse(move) && stable_.Contains(move.to) &&
                         stable_.Contains(move.from) && stable_.IsWrittenOnce(move.from) &&
                         !result_.code.UsesArgument(first, move.from) &&
                         !result_.code.UsesArgument(first, move.to);
      if (!alone || changes_.IsAtLimit() ||
          !result_.code.Retarget(first, access_.OffsetOf(move.from), access_.OffsetOf(move.to),
                                 access_.Bytes(move.to),
                                 [&](int32_t slot) { return access_.ExtentOf(slot); }))
        kept.push_back(move);
      else
        changes_.Allow("move_elimination");
    }
    std::reverse(kept.begin(), kept.end());
    return kept;
  }

  void Branch(const BranchStep& branch) {
    std::vector<cpu::Bytecode::Label> labels(branch.branches.size());
    for (cpu::Bytecode::Label& label : labels) label = result_.code.NewLabel();
    const cpu::Bytecode::Label end = result_.code.NewLabel();
    if (branch.choice_type == ElementType::kPred)
      result_.code.JumpUnless(access_.Read(branch.choice, 0, 1), labels.back());
    else
      result_.code.JumpTo(access_.Read(branch.choice, 0, 4), labels);
    for (size_t b = 0; b < labels.size(); ++b) {
      Bind(labels[b]);
      Steps(branch.branches[b].steps);
      Moves(branch.branches[b].results);
      if (b + 1 < labels.size()) result_.code.Jump(end);
    }
    Bind(end);
  }

  // True if code can copy the bytes of the move. It cannot access literals.
  bool IsCopy(const Move& move) const {
    const auto is_array = [&](Slot slot) { return plan_.buffers[slot].kind != Buffer::Kind::kLiteral; };
    return !move.swaps && is_array(move.to) && is_array(move.from) && access_.Bytes(move.to) > 0 &&
           access_.Bytes(move.to) <= kMaxCopiedBytes;
  }
  // Emits the copies in an order in which each source is read before it is overwritten.
  void Moves(const std::vector<Move>& moves) {
    std::vector<Move> copies, others;
    for (const Move& move : moves) (IsCopy(move) ? copies : others).push_back(move);
    // The sources of the other moves may be among the copied values.
    const bool apart = std::none_of(others.begin(), others.end(), [&](const Move& move) {
      return access_.Bytes(move.to) <= kMaxCopiedBytes;
    });
    if (!apart) return Escape(moves);
    if (!others.empty()) Escape(std::move(others));
    std::vector<FrameOffset> sources;
    for (const Move& move : copies) sources.push_back(access_.Read(move.from, 0, access_.Bytes(move.to)));
    // Values outside the frame, such as results, have been read. They are stored before sources in the frame
    // are overwritten.
    std::vector<std::pair<FrameOffset, FrameOffset>> left;  // Pairs of destination and source.
    std::vector<int64_t> bytes;
    for (size_t k = 0; k < copies.size(); ++k) {
      const Slot to = copies[k].to;
      if (!stable_.Contains(to)) {
        access_.CopyTo(to, sources[k]);
        continue;
      }
      left.push_back({access_.OffsetOf(to), sources[k]});
      bytes.push_back(access_.Bytes(to));
    }
    while (!left.empty()) {
      size_t next = 0;
      const auto is_source = [&](FrameOffset offset) {
        return std::any_of(left.begin(), left.end(), [&](const auto& move) { return move.second == offset; });
      };
      while (next < left.size() && is_source(left[next].first)) ++next;
      if (next == left.size()) {
        // All remaining copies form cycles, so one source is saved to a temporary.
        const FrameOffset saved = frame_.AllocateTemporary(kMaxCopiedBytes);
        const FrameOffset overwritten = left[0].first;
        for (size_t k = 0; k < left.size(); ++k) {
          if (left[k].second != overwritten) continue;
          result_.code.Copy(saved, overwritten, bytes[k]);
          left[k].second = saved;
        }
        next = 0;
      }
      result_.code.Copy(left[next].first, left[next].second, bytes[next]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }

  // Returns false if a program of the step is not small.
  bool Tiles(const Step& step) {
    const auto found = small_.find(&step);
    if (found == small_.end()) return false;
    for (const std::optional<SmallProgram>& program : found->second) {
      if (!program.has_value()) return false;
    }
    for (const std::optional<SmallProgram>& program : found->second) {
      if (IsInFrame(*program))
        Program(*program);
      else
        Row(*program);
    }
    return true;
  }

  // A run-time address: a constant offset plus, unless it is kNoAddress, the integer at `base` in the frame.
  struct Address {
    int64_t offset = 0;
    FrameOffset base = cpu::Bytecode::kNoAddress;
  };

  // Returns the addresses, indexed by the number of the start.
  std::vector<Address> Addresses(const SmallProgram& program) {
    std::vector<LoadCse::Indices> keys(SmallProgram::kMaxStarts + 1);
    std::vector<Address> addresses(keys.size());
    absl::flat_hash_map<Slot, ElementType> types;
    for (const SmallProgram::Start& start : program.starts) {
      if (const Literal* constant = plan_.buffers[start.argument].constant) {
        const auto* positions = static_cast<const std::byte*>(constant->data());
        const int64_t index = loops::ReadInteger(start.type, positions + start.byte_offset);
        addresses[start.number].offset += std::clamp<int64_t>(index, 0, start.max) * start.byte_stride;
      } else {
        keys[start.number].emplace_back(start.argument, start.byte_offset, start.max, start.byte_stride);
        types[start.argument] = start.type;
      }
    }
    for (size_t number = 0; number < keys.size(); ++number) {
      if (keys[number].empty()) continue;
      const auto [base, is_new] = cse_.Address(keys[number]);
      bool adds = false;
      for (const auto& [slot, offset, max, stride] : keys[number]) {
        const ElementType type = types[slot];
        if (!is_new) break;
        result_.code.Address(base, adds, access_.Read(slot, offset, ByteCount(type)), type, max, stride);
        adds = true;
      }
      addresses[number].base = base;
    }
    return addresses;
  }

  // Compiles one call from memory to memory.
  void Row(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto in_memory = [&](const SmallProgram::Operand& operand) -> cpu::Bytecode::MemoryOperand {
      if (operand.argument < 0) return {};
      const Address& address = addresses[operand.start];
      return {operand.argument, operand.offset + address.offset, address.base, operand.width};
    };
    const SmallProgram::Call& call = program.calls[0];
    result_.code.CallOnMemory({call.call,
                               call.count,
                               in_memory(call.out),
                               {in_memory(call.in[0]), in_memory(call.in[1]), in_memory(call.in[2])}});
    cse_.InvalidateLoads(call.out.argument);
  }

  void Program(const SmallProgram& program) {
    const std::vector<Address> addresses = Addresses(program);
    const auto is_outside_frame = [&](const SmallProgram::Operand& operand) {
      return operand.argument >= 0 && (operand.start != 0 || !access_.IsInFrame(operand.argument));
    };
    const auto range_of = [&](const SmallProgram::Operand& operand, int64_t count) {
      const Address& address = addresses[operand.start];
      return LoadCse::MemoryRange{operand.argument, address.base, operand.offset + address.offset,
                                  count * operand.width};
    };
    const auto load = [&](FrameOffset to, const LoadCse::MemoryRange& from) {
      result_.code.Load(to, from.slot, from.offset, from.address, from.byte_count);
    };
    const auto read = [&](const SmallProgram::Operand& operand, int64_t count) -> FrameOffset {
      if (operand.argument < 0) return scratch_ + static_cast<FrameOffset>(operand.offset);
      if (!is_outside_frame(operand))
        return access_.Read(operand.argument, operand.offset, count * operand.width);
      const LoadCse::MemoryRange from = range_of(operand, count);
      const auto [to, is_new] = cse_.Load(from);
      if (is_new) load(to, from);
      return to;
    };
    for (const SmallProgram::Call& call : program.calls) {
      const SmallProgram::Operand& out = call.out;
      const bool stores_outside_frame =
          out.argument >= 0 && (out.start != 0 || !stable_.Contains(out.argument));
      FrameOffset to = scratch_ + static_cast<FrameOffset>(out.offset);
      if (stores_outside_frame)
        to = frame_.AllocateTemporary(call.count * out.width);
      else if (out.argument >= 0)
        to = static_cast<FrameOffset>(plan_.buffers[out.argument].offset + out.offset);
      // A splat reads a single element; other operands have as many elements as the result.
      const bool spreads = call.call.function == cpu::SplatTile(loops::ComputeType::kF32).function;
      const bool copies = call.call.function == cpu::CopyTile(loops::ComputeType::kF32).function;
      if (copies && !stores_outside_frame && is_outside_frame(call.in[0])) {
        load(to, range_of(call.in[0], call.count));
        continue;
      }
      const auto in_frame = [&](size_t k) { return read(call.in[k], spreads ? 1 : call.ElementsOf(k)); };
      const FrameOffset in[3] = {in_frame(0), in_frame(1), in_frame(2)};
      result_.code.Call(call.call, call.count,
                        {out.width, {call.in[0].width, call.in[1].width, call.in[2].width}, call.reads}, to,
                        in);
      if (stores_outside_frame) {
        const Address& address = addresses[out.start];
        result_.code.Store(to, out.argument, out.offset + address.offset, address.base,
                           call.count * out.width);
        cse_.InvalidateLoads(out.argument);
      }
    }
  }

  const Plan& plan_;
  const StableSlots& stable_;
  const BytecodeOptions& options_;
  ChangeCounter& changes_;
  PlanBytecode result_;
  FrameAccess access_{plan_, stable_, result_};
  FrameAllocator& frame_ = access_.allocator();
  LoadCse cse_{frame_, options_.load_cse, changes_};
  KernelCompiler kernels_{plan_, stable_, access_, cse_, result_.code};
  bool in_loop_ = false;  // Loads are reused only in loops: other code runs once.
  FrameOffset scratch_ = -1;
  // The programs of each loop; nullopt: it is not small.
  absl::flat_hash_map<const Step*, std::vector<std::optional<SmallProgram>>> small_;
};

}  // namespace

void CompileToBytecode(Plan& plan, const BytecodeOptions& options, ChangeCounter& changes) {
  const StableSlots stable(plan);
  if (plan.arena_bytes > std::numeric_limits<FrameOffset>::max() / 2) return;
  Compiler compiler(plan, stable, options, changes);
  PlanBytecode code = compiler.Compile();
  if (code.code.op_count() == static_cast<int64_t>(code.escapes.size()) + 1) return;
  plan.arena_bytes = compiler.end();
  plan.bytecode = std::make_shared<PlanBytecode>(std::move(code));
}

}  // namespace hlo::plan
